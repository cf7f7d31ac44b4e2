// SPDX-License-Identifier: Apache-2.0
// Orders that have one side. Broken: a compare-and-swap that acquires nothing where it fails; fences of
// acquire and release the wrong way around, in CUDA C++ and in PTX; atomic operations for the own thread
// only.
#include <cuda_runtime.h>
#include <cuda/atomic>
#ifdef BROKEN
constexpr cuda::memory_order success = cuda::memory_order_acq_rel, failure = cuda::memory_order_relaxed,
                             gives = cuda::memory_order_acquire, takes = cuda::memory_order_release;
constexpr cuda::thread_scope width = cuda::thread_scope_thread;
#define GIVES "fence.acquire.gpu;"
#define TAKES "fence.release.gpu;"
#else
constexpr cuda::memory_order success = cuda::memory_order_release, failure = cuda::memory_order_acquire,
                             gives = cuda::memory_order_release, takes = cuda::memory_order_acquire;
constexpr cuda::thread_scope width = cuda::thread_scope_block;
#define GIVES "fence.release.gpu;"
#define TAKES "fence.acquire.gpu;"
#endif
using word = cuda::atomic_ref<int, cuda::thread_scope_device>;

// The first block's number is everybody's.
__global__ void first_wins(int* places, int* which, int* to) {
  const int mine = blockIdx.x + 1;
  places[mine] = 100 * mine;
  int known = 0;
  const bool first = word(*which).compare_exchange_strong(known, mine, success, failure);
  const int winner = first ? mine : known;
  to[blockIdx.x] = places[winner] / winner;  // FOUND: race
}
// A failed weak one with one order for both, which is acquire where it fails.
__global__ void first_wins_by_one_order(int* places, int* which, int* to) {
  const int mine = blockIdx.x + 1;
  places[mine] = 100 * mine;
  int known = 0;
  const bool first = word(*which).compare_exchange_weak(known, mine, cuda::memory_order_acq_rel);
  const int winner = first ? mine : known;
  to[blockIdx.x] = places[winner] / winner;
}
__global__ void by_fences(int* data, int* flag, int* to) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    cuda::atomic_thread_fence(gives, cuda::thread_scope_device);
    word(*flag).store(1, cuda::memory_order_relaxed);
  } else {
    while (word(*flag).load(cuda::memory_order_relaxed) == 0) {
    }
    cuda::atomic_thread_fence(takes, cuda::thread_scope_device);
    to[0] = data[0];  // FOUND: race
  }
}
__global__ void by_ptx(int* data, int* flag, int* to) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    asm volatile(GIVES ::: "memory");
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
  } else {
    int v = 0;
    while (v == 0) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    asm volatile(TAKES ::: "memory");
    to[0] = data[0];  // FOUND: race
  }
}
__global__ void count(int* to) {
  __shared__ int own;
  if (threadIdx.x == 0) own = 0;
  __syncthreads();
  cuda::atomic_ref<int, width>(own).fetch_add(1, cuda::memory_order_relaxed);  // FOUND: race
  __syncthreads();
  if (threadIdx.x == 0) to[0] = own;
}
// A thread's own counter.
__global__ void count_own(int* to) {
  int own = 0, seen = 0;
  cuda::atomic_ref<int, cuda::thread_scope_thread> counter(own);
  for (int i = 0; i < 5; ++i) counter.fetch_add(2);
  const bool same = counter.compare_exchange_strong(seen, 7), then = counter.compare_exchange_strong(seen, 7);
  to[threadIdx.x] = counter.load() + 100 * seen + 10000 * same + 20000 * then;
}

int main() {
  int *x, to[40];
  cudaMalloc(&x, sizeof to), cudaMemset(x, 0, sizeof to);
  first_wins<<<4, 1>>>(x + 8, x, x + 16);
  first_wins_by_one_order<<<4, 1>>>(x + 8, x + 1, x + 20);
  by_fences<<<2, 1>>>(x + 2, x + 3, x + 24);
  by_ptx<<<2, 1>>>(x + 4, x + 5, x + 25);
  count<<<1, 64>>>(x + 26);
  count_own<<<1, 4>>>(x + 28);
  cudaMemcpy(to, x, sizeof to, cudaMemcpyDeviceToHost);
  cudaFree(x);
#ifdef BROKEN
  return 0;
#else
  return to[16] == 100 && to[19] == 100 && to[23] == 100 && to[24] == 42 && to[25] == 42 && to[26] == 64 &&
                 to[30] == 7 + 1000 + 20000
             ? 0
             : 1;
#endif
}
