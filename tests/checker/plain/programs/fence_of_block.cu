// SPDX-License-Identifier: Apache-2.0
// Two warps each announce that they want to go first, then read the other's announcement. One of two
// sequentially consistent fences comes first, in any scope that includes both. Broken: fences only acquire
// and release, and both may go.
#include <cuda/atomic>

#include <cstdio>

#ifdef BROKEN
constexpr auto order = cuda::memory_order_acq_rel;
#else
constexpr auto order = cuda::memory_order_seq_cst;
#endif

__device__ void go(int* both, int* counter, int me) {
  atomicExch_block(&both[me], 1);
  if (me == 0)
    cuda::atomic_thread_fence(order, cuda::thread_scope_block);
  else if (order == cuda::memory_order_seq_cst)
    asm volatile("fence.sc.cluster;" ::: "memory");
  else
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  if (*reinterpret_cast<volatile int*>(&both[1 - me]) == 0) *counter += 1;  // FOUND: race
}

__global__ void first(int* to) {
  __shared__ int wants[2], taken;
  const int t = threadIdx.x;
  if (t < 2) wants[t] = 0;
  if (t == 0) taken = 0;
  __syncthreads();
  if (t % 32 == 0) go(wants, &taken, t / 32);
  __syncthreads();
  if (t == 0) *to = taken;
}

int main() {
  int result = 0, *to;
  cudaMalloc(&to, sizeof result);
  for (int i = 0; i < 4; ++i) first<<<1, 64>>>(to);
  cudaMemcpy(&result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(to);
  return result > 1;
}
