// SPDX-License-Identifier: Apache-2.0
// Votes, matches and reductions of warps, barriers that count, fences, and atomic operations, each with its
// expected number.
#include <cstdio>
#include <cuda/atomic>

__device__ int wrong;
#define HOLDS(what) \
  if (!(what)) wrong = __LINE__

__global__ void warps(int* x) {
  const unsigned all = ~0u, lane = threadIdx.x % warpSize;
  HOLDS(__reduce_add_sync(all, lane) == 496 && __reduce_min_sync(all, lane + 3) == 3 &&
        __reduce_max_sync(all, int(lane) - 40) == -9);
  HOLDS(__reduce_and_sync(all, lane | 64) == 64 && __reduce_or_sync(all, lane & 5) == 5 &&
        __reduce_xor_sync(all, 1u << lane) == all);
  HOLDS(__match_any_sync(all, lane % 4) == 0x11111111u << lane % 4);
  int same = 5;
  HOLDS(__match_all_sync(all, 7.5f, &same) == all && same != 0);
  HOLDS(__match_all_sync(all, lane / 31, &same) == 0 && same == 0);
  HOLDS((__activemask() >> lane & 1) == 1);
  HOLDS(__ballot_sync(all, lane > 29) == 3u << 30 && __any_sync(all, lane == 7) &&
        !__all_sync(all, lane == 7));
  HOLDS(__shfl_sync(all, lane, 9) == 9 && __shfl_up_sync(all, lane, 1) == (lane == 0 ? 0 : lane - 1));
  HOLDS(__shfl_down_sync(all, lane, 2, 8) == (lane % 8 < 6 ? lane + 2 : lane) &&
        __shfl_xor_sync(all, lane, 3) == (lane ^ 3));
  if (lane < 16) HOLDS(__reduce_add_sync(0xFFFF, 1) == 16);
  __syncwarp();

  HOLDS(__syncthreads_count(threadIdx.x < 40) == 40 && __syncthreads_and(threadIdx.x < 64) &&
        !__syncthreads_and(threadIdx.x < 63));
  HOLDS(__syncthreads_or(threadIdx.x == 63) && !__syncthreads_or(threadIdx.x == 64));
  // What is written before a fence has been written where what is written after it is seen.
  __shared__ volatile int flag;
  __shared__ int value;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    value = 4 + threadIdx.y;  // no constant, which nvcc would compare instead
#ifndef BROKEN
    __threadfence_block();
#endif
    flag = 1;
  } else if (threadIdx.x == 32) {
    while (flag == 0) __nanosleep(20);
    __threadfence_block();
    HOLDS(value == 4);  // FOUND: race
  }
  const long long before = clock64();
  const clock_t ticks = clock();
  __nanosleep(1);
  HOLDS(clock64() >= before && clock() - ticks >= 0);
  if (x == nullptr) __trap();
  x[threadIdx.x] = 1;
  __threadfence(), __threadfence_system();
}

__device__ float4 sums;

__global__ void atomics(int* n, unsigned* u, unsigned long long* far) {
  const int t = threadIdx.x;
  atomicAdd(&n[0], 2), atomicSub(&n[1], 3), atomicMin(&n[2], t - 5), atomicMax(&n[3], t);
  atomicAnd(&u[0], ~(1u << t % 32)), atomicOr(&u[1], 1u << t % 32), atomicXor(&u[2], 3u << t % 31);
  atomicInc(&u[3], 9), atomicDec(&u[4], 6);
  atomicCAS(&n[4], t == 9 ? 0 : -1, 77);
  atomicAdd_block(&n[5], 1), atomicAdd_system(far, 1ull << 33), atomicMax(far + 1, 5ull << t % 32);
  const int was = atomicExch(&n[6], t + 1);
  atomicAdd(&n[7], t + 1 - was);
  cuda::atomic_ref<int, cuda::thread_scope_device> counted(n[8]);
  counted.fetch_add(2, cuda::std::memory_order_relaxed);
  cuda::atomic_thread_fence(cuda::std::memory_order_seq_cst, cuda::thread_scope_device);
  counted.fetch_sub(1);
  atomicAdd(&sums, make_float4(1, 0, 2, 0)), atomicAdd(reinterpret_cast<float2*>(&sums), make_float2(1, 3));
}

int main() {
  int *x, n[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, *dn, failed;
  unsigned u[5] = {~0u, 0, 0, 0, 0}, *du;
  unsigned long long far[2] = {}, *dfar;
  cudaMalloc(&x, 64 * sizeof *x), cudaMalloc(&dn, sizeof n), cudaMalloc(&du, sizeof u),
      cudaMalloc(&dfar, sizeof far);
  cudaMemcpy(dn, n, sizeof n, cudaMemcpyHostToDevice), cudaMemcpy(du, u, sizeof u, cudaMemcpyHostToDevice);
  cudaMemcpy(dfar, far, sizeof far, cudaMemcpyHostToDevice);
  warps<<<1, 64>>>(x);
  atomics<<<1, 64>>>(dn, du, dfar);
  cudaMemcpy(n, dn, sizeof n, cudaMemcpyDeviceToHost), cudaMemcpy(u, du, sizeof u, cudaMemcpyDeviceToHost);
  float4 four;
  cudaMemcpyFromSymbol(&four, sums, sizeof four);
  cudaMemcpy(far, dfar, sizeof far, cudaMemcpyDeviceToHost),
      cudaMemcpyFromSymbol(&failed, wrong, sizeof wrong);
  cudaFree(x), cudaFree(dn), cudaFree(du), cudaFree(dfar);
  unsigned bits = 0;
  for (int t = 0; t < 64; ++t) bits ^= 3u << t % 31;
  const bool right = n[0] == 128 && n[1] == -192 && n[2] == -5 && n[3] == 63 && n[4] == 77 && n[5] == 64 &&
                     n[6] > 0 && n[7] == n[6] && n[8] == 64 && u[0] == 0 && u[1] == ~0u && u[2] == bits &&
                     u[3] == 4 && u[4] == 6 && far[0] == 64ull << 33 && far[1] == 5ull << 31 &&
                     four.x == 128 && four.y == 192 && four.z == 128 && four.w == 0;
  if (failed != 0) std::printf("line %d does not hold\n", failed);
  return right ? failed : 1;
}
