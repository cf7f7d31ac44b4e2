// SPDX-License-Identifier: Apache-2.0
// Barriers that the CUDA guide forbids and GPUs do as meant: in both arms of a branch that each warp takes as
// a whole, and in a branch with nothing after it. Broken: one arm has a barrier more.
#include <cstdio>

constexpr int threads = 64, steps = 4;

// Two warps take turns: one fills a buffer, the other reads the one filled before.
__global__ void turns(const int* from, int* to) {
  __shared__ int buffer[2][32];
  const int t = threadIdx.x;
  int sum = 0;
  for (int i = 0; i <= steps; ++i) {
    if (t < 32) {
      if (i < steps) buffer[i % 2][t] = from[i * 32 + t];
      __syncthreads();  // LETTER: divergent barrier
    } else {
      if (i > 0) sum += buffer[(i - 1) % 2][t - 32];
      __syncthreads();  // LETTER: divergent barrier
    }
  }
#ifdef BROKEN
  if (t < 32) {
    __syncthreads();
    to[t] = 0;
  }
  __syncthreads();  // FOUND: divergent barrier
#endif
  if (t >= 32) to[t] = sum;
}

__device__ int sum_of_block(int* part, int t, int v) {
  part[t] = v;
  __syncthreads();  // LETTER: divergent barrier
  int sum = 0;
  for (int i = 0; i < threads; ++i) sum += part[i];
  return sum;
}
__global__ void inside(const int* from, int* to, int n) {
  __shared__ int part[threads];
  const int t = threadIdx.x;
  part[t] = 0;
  __syncthreads();
  if (t < n) {
    to[t] = sum_of_block(part, t, from[t]);
  } else if (t % 2 == 0) {
    to[t] = 7;
  } else {
    to[t] = 8;
  }
}

int main() {
  int host[steps * 32], sums[threads], *from, *to;
  for (int i = 0; i < steps * 32; ++i) host[i] = i;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof sums);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(to, 0, sizeof sums);
  turns<<<1, threads>>>(from, to);
  cudaMemcpy(sums, to, sizeof sums, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; ++i)
    if (sums[32 + i] != 4 * i + 6 * 32) return std::printf("%d is %d\n", i, sums[32 + i]), 1;
  inside<<<1, threads>>>(from, to, 40);
  cudaMemcpy(sums, to, sizeof sums, cudaMemcpyDeviceToHost);
  for (int i = 0; i < threads; ++i)
    if (sums[i] != (i < 40 ? 780 : 7 + i % 2)) return std::printf("%d is %d\n", i, sums[i]), 1;
  cudaFree(from), cudaFree(to);
}
