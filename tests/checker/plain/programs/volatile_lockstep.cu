// SPDX-License-Identifier: Apache-2.0
// The last warp of a sum in shared memory, by volatile accesses. Broken: it relies on lockstep, without
// __syncwarp() between its steps. Also, lanes of a warp that wait for each other by volatile flags, which
// requires no lockstep.
#include <cstdio>

constexpr int threads = 64;

#ifdef BROKEN
__device__ void meet() {}
#else
__device__ void meet() { __syncwarp(); }
#endif

__device__ void sum_of_warp(volatile int* s, int t) {
  int v = s[t];
  v += s[t + 32], meet(), s[t] = v, meet();  // FOUND: race
  v += s[t + 16], meet(), s[t] = v, meet();
  v += s[t + 8], meet(), s[t] = v, meet();
  v += s[t + 4], meet(), s[t] = v, meet();
  v += s[t + 2], meet(), s[t] = v, meet();
  v += s[t + 1], meet(), s[t] = v;
}

// The same by __syncwarp() alone between the steps.
__device__ void sum_in_steps(volatile int* s, int t) {
  for (int half = 32; half > 0; half /= 2) {
#ifdef BROKEN
    s[t] += s[t + half];  // FOUND: race
#else
    if (t < half) s[t] += s[t + half];
#endif
    __syncwarp();
  }
}

__global__ void sum(const int* from, int* to) {
  __shared__ int s[threads];
  const int t = threadIdx.x;
  s[t] = from[blockIdx.x * threads + t];
  __syncthreads();
  if (t < 32) blockIdx.x == 0 ? sum_of_warp(s, t) : sum_in_steps(s, t);
  if (t == 0) to[blockIdx.x] = s[0];
}

__global__ void neighbours(int* to) {
  __shared__ volatile int has[33];
  __shared__ volatile bool stop;
  const int t = threadIdx.x;
  has[t + 1] = 0;
  if (t == 0) has[0] = 1, stop = false;
  __syncwarp();
  while (has[t] == 0) {
  }
  has[t + 1] = has[t] + 1;  // one after the other
  if (!stop && has[t + 1] > 20) stop = true;
  while (has[32] == 0) {
  }
  to[t] = has[t];
}

int main() {
  int host[2 * threads], result[32], *from, *to;
  for (int i = 0; i < 2 * threads; ++i) host[i] = i;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof result);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  neighbours<<<1, 32>>>(to);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; ++i)
    if (result[i] != i + 1) return std::printf("%d is %d\n", i, result[i]), 1;
  sum<<<2, threads>>>(from, to);
  cudaMemcpy(result, to, 2 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
#ifndef BROKEN
  return result[0] != 2016 || result[1] != 6112;
#endif
}
