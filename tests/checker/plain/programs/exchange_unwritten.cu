// SPDX-License-Identifier: Apache-2.0
// Flags and slots that an exchange fills first: what it finds there is thrown away. Broken: it is used.
#include <cstdio>
#include <cuda/atomic>

__global__ void mark(int* slots, unsigned* mask, int* firsts) {
  __shared__ float last[4];
  const int t = threadIdx.x;
  cuda::atomic_ref<int> slot(slots[t + 32]);
#ifdef BROKEN
  firsts[t] = atomicExch(&slots[t], t);    // FOUND: uninitialised memory read
  if (slot.exchange(t) == t) firsts[t]++;  // FOUND: uninitialised memory read
#else
  atomicExch(&slots[t], t);
  slot.exchange(t);
#endif
  atomicExch(&last[t % 4], 1.0f);
  atomicAnd_block(mask, 0);  // leaves 0 whatever was there
#ifdef BROKEN
  atomicAnd(mask + 1, ~1u);  // FOUND: uninitialised memory read
#endif
  __syncthreads();
  const int was = atomicExch(&slots[t], 7);  // a value that has been written
  if (was == t && last[t % 4] == 1.0f && *mask == 0) firsts[t]++;
}

int main() {
  int *slots, *firsts, found[32];
  unsigned* mask;
  cudaMalloc(&slots, 64 * sizeof(int)), cudaMalloc(&mask, 8), cudaMalloc(&firsts, sizeof found);
  cudaMemset(firsts, 0, sizeof found);
  mark<<<1, 32>>>(slots, mask, firsts);
  cudaMemcpy(found, firsts, sizeof found, cudaMemcpyDeviceToHost);
  cudaFree(slots), cudaFree(mask), cudaFree(firsts);
  for (int first : found)
    if (first != 1) return std::printf("wrong\n");
}
