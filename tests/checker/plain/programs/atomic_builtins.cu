// SPDX-License-Identifier: Apache-2.0
// nvcc's built-in atomic functions, and headers after macros of one letter. Broken: a relaxed store signals.
#define A 1
#define B 2
#define N 32
#define T 64
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_fp8.h>
#include <helper_cuda.h>
#include <mma.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda/semaphore>
#include <cuda/std/mdspan>

__device__ int flag, data;
__global__ void pass(int* to, unsigned* bits) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data = N + T;
#ifdef BROKEN
    __nv_atomic_store_n(&flag, A, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
#else
    __nv_atomic_store_n(&flag, A, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
#endif
    return;
  }
  while (__nv_atomic_load_n(&flag, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE) == 0) {
  }
  const int got = data;  // FOUND: race
  __nv_atomic_fetch_add(to, got, __NV_ATOMIC_RELAXED);
  int wanted = N + T, next = B, was = 0;
  const bool done = __nv_atomic_compare_exchange(to, &wanted, &next, false, __NV_ATOMIC_ACQ_REL,
                                                 __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  const bool again = __nv_atomic_compare_exchange_n(to, &wanted, 5, true, __NV_ATOMIC_SEQ_CST,
                                                    __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_CLUSTER);
  __nv_atomic_exchange(to + 1, &wanted, &was, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_THREAD);
  __nv_atomic_add(to + 2, done && !again && was == 0, __NV_ATOMIC_RELAXED);
  __nv_atomic_max(to + 3, 7, __NV_ATOMIC_RELAXED), __nv_atomic_min(to + 3, 6, __NV_ATOMIC_RELAXED);
  __nv_atomic_sub(to + 3, __nv_atomic_exchange_n(to + 4, 9, __NV_ATOMIC_RELAXED) + 1, __NV_ATOMIC_RELAXED);
  __nv_atomic_or(bits, 12u, __NV_ATOMIC_RELAXED), __nv_atomic_and(bits, 6u, __NV_ATOMIC_RELAXED);
  __nv_atomic_xor(bits, 1u, __NV_ATOMIC_RELAXED);
  __nv_atomic_load(to + 4, &was, __NV_ATOMIC_SEQ_CST), __nv_atomic_store(to + 5, &was, __NV_ATOMIC_SEQ_CST);
  __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_SYSTEM);
}

int main() {
  int h[7], *to;
  cudaMalloc(&to, sizeof h), cudaMemset(to, 0, sizeof h);
  pass<<<2, N>>>(to, reinterpret_cast<unsigned*>(to + 6));
  cudaMemcpy(h, to, sizeof h, cudaMemcpyDeviceToHost), cudaFree(to);
  const int right[7] = {B, B, A, 5, 9, 9, 5};
  for (int i = 0; i < 7; ++i)
    if (h[i] != right[i]) return 1;
}
