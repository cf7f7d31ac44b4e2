// SPDX-License-Identifier: Apache-2.0
// A barrier in some rounds of a loop, which are the same for all. Broken: lanes of one warp come to it in
// different rounds, all of them as often.
#include <cstdio>

constexpr int threads = 64, steps = 4;

__global__ void rotate(int* x) {
  __shared__ int all[threads];
  const int t = threadIdx.x;
  int mine = x[t];
  for (int i = 0; i < 2 * steps; ++i)
#ifdef BROKEN
    if ((i + t) % 2 == 0) {
#else
    if (i % 2 == 0) {
#endif
      all[t] = mine;
      __syncthreads();  // FOUND: divergent barrier
      mine = all[(t + 1) % threads];
      __syncthreads();
    }
  x[t] = mine;
}

// Rounds without a barrier may differ, and so may what the loop counts.
__global__ void strided(int* x) {
  __shared__ int sum;
  const int t = threadIdx.x;
  if (t == 0) sum = 0;
  __syncthreads();
  for (int i = t; i < 100; i += threads) atomicAdd(&sum, 1);
  int tried = 0;
  do {
    if (tried < t % 3) continue;
    atomicAdd(&sum, 1);
  } while (tried++ < t % 3);
  for (int i = t % 2, rounds = 0; rounds < 3; i += 2, ++rounds) {
    atomicAdd(&sum, i / 2);
    __syncthreads();
  }
  x[t] += sum - 100 - threads - 3 * threads;
}

int main() {
  int host[threads], *x;
  for (int i = 0; i < threads; ++i) host[i] = i;
  cudaMalloc(&x, sizeof host);
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  rotate<<<1, threads>>>(x);
  strided<<<1, threads>>>(x);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(x);
  for (int i = 0; i < threads; ++i)
    if (host[i] != (i + steps) % threads) return std::printf("%d is %d\n", i, host[i]), 1;
}
