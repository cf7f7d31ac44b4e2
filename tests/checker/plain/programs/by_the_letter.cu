// SPDX-License-Identifier: Apache-2.0
// What PTX calls a race and GPUs do as code expects: stores of one value by many threads, a compare-and-swap
// loop that begins with a plain load, and stores without a fence after the atomic operation that tells of
// others. Broken: the stores differ in one block; a plain load after the loop, or after that operation.
#include <cuda_runtime.h>

__global__ void any_negative(const float* from, int n, int* found) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BROKEN
  if (i < n && from[i] < 0) *found = 1 + blockIdx.x;  // FOUND: race
#else
  if (i < n && from[i] < 0) *found = 1;  // LETTER: race
#endif
}

__device__ float max_of(float* at, float value) {
  int* const word = reinterpret_cast<int*>(at);
  int old = *word, expected;  // LETTER: race
  do {
    expected = old;
    const float larger = fmaxf(value, __int_as_float(expected));
    old = atomicCAS(word, expected, __float_as_int(larger));  // LETTER: overwritten in use
  } while (old != expected);
#ifdef BROKEN
  return *at;  // FOUND: race
#else
  return __int_as_float(old);
#endif
}
__global__ void largest(const float* from, int n, float* to, float* seen) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) seen[i] = max_of(to, from[i]);
}

// The last block clears what others have read, and what one has written.
__global__ void last_clears(int* limit, int* to, int* finished) {
  __shared__ bool last;
  const int t = threadIdx.x, other = (blockIdx.x + 1) % gridDim.x * 32 + t;
  to[blockIdx.x * 32 + t] = limit[t] + 1;
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicAdd(finished, 1) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  if (!last) return;
#ifdef BROKEN
  limit[32 + t] = to[other];  // FOUND: race
#endif
  limit[t] = 0;   // LETTER: overwritten in use
  to[other] = 0;  // LETTER: race
}

int main() {
  const int n = 100;
  float *from, *to, *seen, h[n], result = 0;
  int *found, any = 0;
  for (int i = 0; i < n; ++i) h[i] = i % 7 - 3;
  cudaMalloc(&from, sizeof h), cudaMalloc(&to, 4), cudaMalloc(&seen, sizeof h), cudaMalloc(&found, 4);
  cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice), cudaMemset(to, 0, 4), cudaMemset(found, 0, 4);
  any_negative<<<4, 32>>>(from, n, found);
  largest<<<4, 32>>>(from, n, to, seen);
  int* sums;
  cudaMalloc(&sums, 1024), cudaMemset(sums, 0, 1024);
  last_clears<<<4, 32>>>(sums, sums + 64, sums + 255);
  cudaMemcpy(&result, to, 4, cudaMemcpyDeviceToHost), cudaMemcpy(&any, found, 4, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to), cudaFree(seen), cudaFree(found), cudaFree(sums);
  return any != 0 && result == 3 ? 0 : 1;
}
