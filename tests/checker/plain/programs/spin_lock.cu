// SPDX-License-Identifier: Apache-2.0
// A lock in global memory; broken: no fence orders the data that it guards.
__device__ int lock;
__device__ int total;

__global__ void add(int n) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
#ifndef BROKEN
  __threadfence();
#endif
  total += n;  // FOUND: race
#ifndef BROKEN
  __threadfence();
#endif
  atomicExch(&lock, 0);
}

int main() {
  add<<<5, 32>>>(3);
  int got = 0;
  cudaMemcpyFromSymbol(&got, total, sizeof got);
  return got == 15 ? 0 : 1;
}
