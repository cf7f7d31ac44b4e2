// SPDX-License-Identifier: Apache-2.0
// A block polls a flag that another block sets, through votes of the block. Broken: the flag is set only when
// the poll has ended.
#include <cstdio>

__global__ void handed_on(volatile int* flag, const int* from, volatile int* between, int* to) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
#ifndef BROKEN
    between[t] = 2 * from[t];
    __threadfence();
    __syncthreads();
    if (t == 0) *flag = 1;
#endif
    return;
  }
  int seen = 0;
  while (__syncthreads_and(seen == 0)) {  // FOUND: deadlock
    if (t == 0) seen = *flag;
  }
  __threadfence();
  to[t] = between[63 - t];
#ifdef BROKEN
  if (t == 0) *flag = 1;
#endif
}

int main() {
  int host[64], *flag, *from, *between, *to;
  for (int i = 0; i < 64; ++i) host[i] = i;
  cudaMalloc(&flag, sizeof *flag), cudaMalloc(&from, sizeof host);
  cudaMalloc(&between, sizeof host), cudaMalloc(&to, sizeof host);
  cudaMemset(flag, 0, sizeof *flag), cudaMemset(between, 0, sizeof host);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  handed_on<<<2, 64>>>(flag, from, between, to);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(flag), cudaFree(from), cudaFree(between), cudaFree(to);
  for (int i = 0; i < 64; ++i)
    if (host[i] != 2 * (63 - i)) return std::printf("%d is %d\n", i, host[i]), 1;
}
