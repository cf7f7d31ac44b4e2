// SPDX-License-Identifier: Apache-2.0
// One addition for all active lanes; broken: the others do not get the position from the lane that has
// added.
#include <cooperative_groups.h>

__device__ int places(int* next) {
  const auto here = cooperative_groups::coalesced_threads();
  int first = 0;
  if (here.thread_rank() == 0) first = atomicAdd(next, here.size());
#ifndef BROKEN
  first = here.shfl(first, 0);
#endif
  return first + here.thread_rank();
}
__global__ void odd(const int* from, int* to, int* next, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && from[i] % 2 != 0) to[places(next)] = from[i];  // FOUND: race
}

int main() {
  int h[50], *from, *to, *next, sum = 0;
  for (int i = 0; i < 50; ++i) h[i] = i;
  cudaMalloc(&from, sizeof h), cudaMalloc(&to, sizeof h / 2), cudaMalloc(&next, 4);
  cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice), cudaMemset(next, 0, 4);
  odd<<<2, 32>>>(from, to, next, 50);
  cudaMemcpy(h, to, sizeof h / 2, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to), cudaFree(next);
#ifndef BROKEN
  for (int i = 0; i < 25; ++i) sum += h[i];
  return sum == 25 * 25 ? 0 : 1;
#endif
}
