// SPDX-License-Identifier: Apache-2.0
// Atomic and volatile accesses to the same bytes have one size, or a barrier between them. Two sizes at once
// are a pedantic race. Broken: the scope does not reach, or one side is neither atomic nor volatile.
#include <cstdio>

__global__ void counters(unsigned long long* x) {
  unsigned* const low = reinterpret_cast<unsigned*>(x);
  if (blockIdx.x == 0)
    atomicAdd(x, 1ull);  // LETTER: race
  else
#ifdef BROKEN
    atomicAdd_block(low, 1u);  // FOUND: race
#else
    atomicAdd(low, 1u);                                   // LETTER: race
#endif
}
__global__ void packed(unsigned long long* x, unsigned* to) {
  __shared__ unsigned long long word;
  if (threadIdx.x == 0) word = 0;
  __syncthreads();
  volatile unsigned* const half = reinterpret_cast<volatile unsigned*>(&word);
  if (threadIdx.x == 0) {
#ifdef BROKEN
    reinterpret_cast<unsigned*>(&word)[0] = 5;
#else
    half[0] = 5;                                          // LETTER: race
#endif
    half[1] = 1;  // LETTER: race
  }
  if (threadIdx.x == 32) {
    unsigned long long seen;
#ifdef BROKEN
    while ((seen = atomicAdd(&word, 0ull)) >> 32 == 0) {  // FOUND: race
    }
#else
    while ((seen = atomicAdd(&word, 0ull)) >> 32 == 0) {  // LETTER: race
    }
#endif
    to[0] = static_cast<unsigned>(seen);
  }
  __syncthreads();
  if (threadIdx.x == 1) to[1] = half[0];  // after a barrier, any size will do
}

int main() {
  unsigned long long* x;
  unsigned *to, result[2];
  cudaMalloc(&x, 16), cudaMalloc(&to, sizeof result);
  cudaMemset(x, 0, 16);
  counters<<<2, 32>>>(x);
  packed<<<1, 64>>>(x, to);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(to);
  return result[0] == 5 && result[1] == 5 ? 0 : 1;
}
