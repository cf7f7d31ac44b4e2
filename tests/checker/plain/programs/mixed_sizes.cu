// SPDX-License-Identifier: Apache-2.0
// Atomic and volatile accesses to the same bytes have one size, or a barrier between them. Broken: two sizes
// at once.
#include <cstdio>

__global__ void counters(unsigned long long* x) {
  if (blockIdx.x == 0)
    atomicAdd(x, 1ull);
  else
#ifdef BROKEN
    atomicAdd(reinterpret_cast<unsigned*>(x), 1u);  // FOUND: race
#else
    atomicAdd(x + 1, 1ull);
#endif
}
__global__ void packed(unsigned long long* x, unsigned* to) {
  __shared__ unsigned long long word;
  if (threadIdx.x == 0) word = 0;
  __syncthreads();
  volatile unsigned* const half = reinterpret_cast<volatile unsigned*>(&word);
  if (threadIdx.x == 0) {
#ifdef BROKEN
    half[0] = 5, half[1] = 1;
#else
    *reinterpret_cast<volatile unsigned long long*>(&word) = 5ull | 1ull << 32;
#endif
  }
  if (threadIdx.x == 32) {
    unsigned long long seen;
    while ((seen = atomicAdd(&word, 0ull)) >> 32 == 0) {  // FOUND: race
    }
    to[0] = static_cast<unsigned>(seen);
  }
  __syncthreads();
  if (threadIdx.x == 1) to[1] = half[0];  // behind a barrier, any size will do
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
