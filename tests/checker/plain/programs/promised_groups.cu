// SPDX-License-Identifier: Apache-2.0
// Cooperative groups of every kind, and the copies that groups and pipelines start.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

__device__ int wrong;
#define HOLDS(what) \
  if (!(what)) wrong = __LINE__

__global__ void groups() {
  const auto block = cg::this_thread_block();
  const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  const int t = block.thread_rank(), lane = t % 32;
  HOLDS(block.size() == 64 && tile.size() == 8 && tile.thread_rank() == t % 8 && tile.meta_group_size() == 8);
  HOLDS(cg::reduce(tile, t % 8, cg::plus<int>()) == 28 && cg::inclusive_scan(tile, 1) == t % 8 + 1 &&
        cg::exclusive_scan(tile, 2) == t % 8 * 2);
  HOLDS(tile.shfl(t, 3) == t / 8 * 8 + 3 && tile.ballot(t % 8 < 2) == 3 && tile.any(t % 8 == 1) &&
        !tile.all(t % 8 == 1));
  const auto warp = cg::tiled_partition<32>(block);
  const auto by_rest = cg::labeled_partition(warp, lane % 3);
  HOLDS(by_rest.size() == (lane % 3 < 2 ? 11 : 10) && by_rest.thread_rank() == lane / 3);
  const auto half = cg::binary_partition(warp, lane < 12);
  HOLDS(half.size() == (lane < 12 ? 12 : 20) && cg::reduce(half, 1, cg::plus<int>()) == half.size());
  if (lane % 2 == 0) {
    const auto here = cg::coalesced_threads();
    HOLDS(here.size() >= 1 && here.thread_rank() < here.size());
  }
}

__global__ void together(int* x) {
  const auto grid = cg::this_grid();
  x[grid.thread_rank()] = 1;
#ifndef BROKEN
  grid.sync();
#endif
  HOLDS(x[grid.size() - 1 - grid.thread_rank()] == 1);  // FOUND: race or uninitialised memory read
}

__global__ void copies(const int* from) {
  const auto block = cg::this_thread_block();
  __shared__ int one[64], two[64], three[64];
  cg::memcpy_async(block, one, from, sizeof one);
  cg::wait(block);
  HOLDS(one[63 - threadIdx.x] == 63 - threadIdx.x);

  cuda::pipeline<cuda::thread_scope_thread> mine = cuda::make_pipeline();
  mine.producer_acquire();
  cuda::memcpy_async(&two[threadIdx.x], &from[threadIdx.x], sizeof(int), mine);
  mine.producer_commit();
  mine.consumer_wait();
  HOLDS(two[threadIdx.x] == threadIdx.x);
  mine.consumer_release();

  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  if (threadIdx.x < 32) {
    pipe.producer_acquire();
    cuda::memcpy_async(&three[threadIdx.x], &from[threadIdx.x], sizeof(int), pipe);
    pipe.producer_commit();
  } else {
    pipe.consumer_wait();
    HOLDS(three[threadIdx.x - 32] == threadIdx.x - 32);
    pipe.consumer_release();
  }

  __shared__ cuda::barrier<cuda::thread_scope_block> done;
  if (threadIdx.x == 0) init(&done, 64);
  block.sync();
  cuda::memcpy_async(block, one, from + 1, 63 * sizeof(int), done);
  done.arrive_and_wait();
  HOLDS(one[threadIdx.x % 63] == threadIdx.x % 63 + 1);
}

int main() {
  int h[64], *x, failed;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h);
  void* arguments[] = {&x};
  cudaLaunchCooperativeKernel((void*)together, dim3(2), dim3(32), arguments, 0, nullptr);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  groups<<<1, 64>>>();
  copies<<<1, 64>>>(x);
  cudaMemcpyFromSymbol(&failed, wrong, sizeof failed);
  cudaFree(x);
  if (failed != 0) std::printf("line %d does not hold\n", failed);
  return failed;
}
