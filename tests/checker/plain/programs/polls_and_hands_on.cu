// SPDX-License-Identifier: Apache-2.0
// One thread of each block polls a flag and hands on what it sees, between a barrier of the block and a named
// one. Broken: the flag is never set.
#include <cstdio>

__global__ void in_turn(int* flag, int* to) {
  __shared__ int seen;
  const int t = threadIdx.x, block = blockIdx.x;
  do {
    __syncthreads();
    if (t == 0) seen = atomicAdd(flag, 0);
    asm volatile("bar.sync 1, 64;" ::: "memory");  // FOUND: deadlock
  } while (seen < block);
  __threadfence();
  to[block * 64 + t] = block == 0 ? t : to[(block - 1) * 64 + t] + 1;
  __threadfence();
  __syncthreads();
#ifndef BROKEN
  if (t == 0) atomicExch(flag, block + 1);
#endif
}

int main() {
  int host[192], *flag, *to;
  cudaMalloc(&flag, sizeof *flag), cudaMalloc(&to, sizeof host);
  cudaMemset(flag, 0, sizeof *flag);
  in_turn<<<3, 64>>>(flag, to);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(flag), cudaFree(to);
  for (int i = 0; i < 192; ++i)
    if (host[i] != i % 64 + i / 64) return std::printf("%d is %d\n", i, host[i]), 1;
}
