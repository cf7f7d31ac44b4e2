// SPDX-License-Identifier: Apache-2.0
// A sum within the lanes that take a branch. The mask is computed before they part. Broken: it is that of
// __activemask() within the branch, which names the lanes that happen to be there.
#include <cstdio>

__device__ int sum(unsigned mask, int v) {
  for (int by = 4; by > 0; by /= 2) v += __shfl_xor_sync(mask, v, by);  // FOUND: barrier misuse
  return v;
}
__global__ void eighths(int* to) {
  const int lane = threadIdx.x;
  const unsigned eight = __ballot_sync(~0u, lane < 8);
  if (lane >= 8) return;
#ifdef BROKEN
  const unsigned mask = eight & __activemask();
  to[lane] = sum(__activemask(), lane) + (mask == 0);
#else
  to[lane] = sum(eight, lane);
#endif
}

int main() {
  int sums[8], *to;
  cudaMalloc(&to, sizeof sums);
  eighths<<<1, 32>>>(to);
  cudaMemcpy(sums, to, sizeof sums, cudaMemcpyDeviceToHost);
  cudaFree(to);
#ifndef BROKEN
  for (int i = 0; i < 8; ++i)
    if (sums[i] != 28) return std::printf("%d is %d\n", i, sums[i]), 1;
#endif
}
