// SPDX-License-Identifier: Apache-2.0
// cuda::barrier of the device and with a completion function, threads that leave a barrier, cuda::latch and
// cuda::counting_semaphore. Broken: no semaphore around a sum; threads do not wait for
// the latch.
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>

#include <cstdio>
#include <utility>

constexpr int threads = 32, blocks = 2;

__device__ cuda::barrier<cuda::thread_scope_device> all_blocks{blocks * threads};
__device__ cuda::binary_semaphore<cuda::thread_scope_device> one_at_a_time(1);
__device__ int sum, number;

__global__ void meet(int* x) {
  const int t = blockIdx.x * threads + threadIdx.x;
  x[t] = t;
  all_blocks.arrive_and_wait();
  const int other = x[blocks * threads - 1 - t];
  all_blocks.arrive_and_wait();
  x[t] = other;
  if (threadIdx.x == 0) {
#ifndef BROKEN
    one_at_a_time.acquire();
#endif
    sum = sum + 1;  // FOUND: race or overwritten in use
#ifndef BROKEN
    one_at_a_time.release();
#endif
  }
  all_blocks.arrive_and_wait();
  if (t == 0) number = sum;
}

struct counts_phases {
  int* count;
  __device__ void operator()() const { ++*count; }
};
using completing = cuda::barrier<cuda::thread_scope_block, counts_phases>;

__global__ void leave(int* x, int* phases) {
  __shared__ int tile[threads];
  __shared__ alignas(16) unsigned char room[2][sizeof(completing)];
  __shared__ alignas(16) unsigned char room_of_latch[sizeof(cuda::latch<cuda::thread_scope_block>)];
  __shared__ cuda::barrier<cuda::thread_scope_block> here;
  auto* const filled = reinterpret_cast<cuda::latch<cuda::thread_scope_block>*>(room_of_latch);
  completing* const phase = reinterpret_cast<completing*>(room[0]);
  if (threadIdx.x == 0) {
    init(&here, threads);
    new (filled) cuda::latch<cuda::thread_scope_block>(threads);
    init(phase, threads, counts_phases{phases});
  }
  __syncthreads();
  phase->arrive_and_wait();
  phase->arrive_and_wait();
  tile[threadIdx.x] = threadIdx.x;
  filled->count_down();
#ifndef BROKEN
  filled->wait();
#endif
  if (threadIdx.x >= threads / 2) {
    here.arrive_and_drop();
    return;
  }
  const int other = tile[threads - 1 - threadIdx.x];  // FOUND: race or uninitialised memory read
  auto token = here.arrive();
  here.wait(std::move(token));
  tile[threadIdx.x + threads / 2] = other;
  here.arrive_and_wait();
  x[threadIdx.x] = tile[threads - 1 - threadIdx.x];
}

int main() {
  int h[blocks * threads], n = 0, *x;
  cudaMalloc(&x, sizeof h);
  void* arguments[] = {&x};
  cudaLaunchCooperativeKernel(meet, blocks, threads, arguments);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  bool good = true;
  for (int i = 0; i < blocks * threads; ++i) good &= h[i] == blocks * threads - 1 - i;
  cudaMemcpyFromSymbol(&n, number, sizeof n);
  good &= n == blocks;
  cudaMemset(x, 0, sizeof h);
  leave<<<1, threads>>>(x, x + threads);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  for (int t = 0; t < threads / 2; ++t) good &= h[t] == threads - 1 - (threads / 2 - 1 - t);
  good &= h[threads] == 2;
  return good ? 0 : 1;
}
