// SPDX-License-Identifier: Apache-2.0
// Atomic operations of the host: on its own memory before any launch, and on a flag that a kernel sets too
// and that hands over the data next to it. Broken: the host reads the flag without acquiring.
#include <cuda/atomic>

#include <cstdio>

cuda::atomic<unsigned short> small{7};

__global__ void give(int* x) {
  x[0] = 42;
  cuda::atomic_ref<int, cuda::thread_scope_system>(x[1]).store(1, cuda::memory_order_release);
}

int main() {
  long y = 1;
  cuda::atomic_ref<long> ref(y);
  ref.fetch_add(4);
  long expected = 5;
  if (!ref.compare_exchange_strong(expected, 9) || ref.compare_exchange_strong(expected, 1) || expected != 9)
    return 1;
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst);
  cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
  if (++small != 8 || small.exchange(3) != 8 || small.load(cuda::memory_order_relaxed) != 3) return 2;
  int* x;
  cudaMallocManaged(&x, 8);
  cuda::atomic_ref<int, cuda::thread_scope_system> flag(x[1]);
  flag.store(0);
  give<<<1, 1>>>(x);
#ifdef BROKEN
  constexpr auto order = cuda::memory_order_relaxed;
#else
  constexpr auto order = cuda::memory_order_acquire;
#endif
  while (flag.load(order) == 0) {
  }
  const int got = x[0];  // FOUND: race
  cudaDeviceSynchronize();
  cudaFree(x);
  return got != 42 || y != 9;
}
