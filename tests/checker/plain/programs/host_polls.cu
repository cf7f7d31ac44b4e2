// SPDX-License-Identifier: Apache-2.0
// The host waits for flags in pinned memory that a running kernel sets after its results: one it reads as
// volatile, one by std::atomic, one that a thread sets for its block. Broken: the kernel does not fence, or
// for the device only.
#include <atomic>

__global__ void make(int* x, volatile int* flags) {
  if (threadIdx.x != 0) return;
  x[0] = 42;
#ifndef BROKEN
  __threadfence_system();
#endif
  flags[0] = 1;
  x[1] = 43;
#ifdef BROKEN
  __threadfence();
#else
  __threadfence_system();
#endif
  flags[1] = 1;
}
__global__ void together(int* x, volatile int* flag) {
  x[threadIdx.x] = 44;
#ifdef BROKEN
  __threadfence();
#else
  __threadfence_system();
#endif
  __syncthreads();
  if (threadIdx.x == 0) *flag = 1;
}
__global__ void other() {}

int main() {
  int* x;
  cudaStream_t s, t;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
  cudaHostAlloc(&x, 16, cudaHostAllocMapped);
  x[2] = x[3] = 0;
  make<<<1, 32, 0, s>>>(x, x + 2);
  other<<<1, 32, 0, t>>>();
  while (*static_cast<volatile int*>(x + 2) == 0) {
  }
  const int first = x[0];  // FOUND: race
  const auto& flag = *reinterpret_cast<std::atomic<int>*>(x + 3);
  while (flag.load(std::memory_order_relaxed) == 0) {
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  const int second = x[1];  // FOUND: race
  int* y;
  cudaHostAlloc(&y, 4 * 33, cudaHostAllocMapped);
  y[32] = 0;
  together<<<1, 32, 0, t>>>(y, y + 32);
  while (*static_cast<volatile int*>(y + 32) == 0) {
  }
  const int third = y[31];  // FOUND: race
  cudaDeviceSynchronize();
  cudaFreeHost(x), cudaFreeHost(y), cudaStreamDestroy(s), cudaStreamDestroy(t);
  return first != 42 || second != 43 || third != 44;
}
