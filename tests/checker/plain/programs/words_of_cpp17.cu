// SPDX-License-Identifier: Apache-2.0
// Valid in C++17, which is what nvcc takes, and not in C++20. Broken: a barrier less.
#include <cstdio>
#define ok(call) expect((call), __LINE__)  // C++20's <chrono> has a function of this name
inline void expect(cudaError_t error, int line) {
  if (error != cudaSuccess) std::printf("line %d\n", line);
}
#include <chrono>

constexpr int threads = 64;
struct concept {
  int requires = 3;
};
const char* const text = u8"letters";

__global__ void turn(int* x) {
  __shared__ int s[threads];
  concept c;
  s[threadIdx.x] = c.requires + threadIdx.x;
#ifndef BROKEN
  __syncthreads();
#endif
  x[threadIdx.x] = s[threads - 1 - threadIdx.x];  // FOUND: race or uninitialised memory read
}

int main() {
  int *x, got[threads], co_await = 0;
  const auto begin = std::chrono::steady_clock::now();
  ok(cudaMalloc(&x, sizeof got));
  turn<<<1, threads>>>(x);
  ok(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
  ok(cudaFree(x));
  for (int i = 0; i < threads; ++i) co_await += got[i] != 3 + threads - 1 - i;
  return co_await + (text[0] != 'l') + (std::chrono::steady_clock::now() < begin) + (__cplusplus != 201703L);
}
