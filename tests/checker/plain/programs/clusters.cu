// SPDX-License-Identifier: Apache-2.0
// A histogram in the shared memory of a cluster's blocks by cooperative groups, as the CUDA guide shows it,
// in clusters of 2 x 2 blocks. Broken: a block adds to bins of another that may not have begun; another reads
// what has ended; a split barrier of the block whose wait comes too late.
#include <cooperative_groups.h>

#include <cstdio>

namespace cg = cooperative_groups;

constexpr int bins_of_block = 16, blocks_of_cluster = 4, threads = 64, numbers = 8 * threads;

__global__ void __cluster_dims__(2, 2, 1) histogram(const int* from, int* bins) {
  __shared__ int mine[bins_of_block];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  for (int i = threadIdx.x; i < bins_of_block; i += blockDim.x) mine[i] = 0;
#ifdef BROKEN
  __syncthreads();
#else
  cluster.sync();
#endif
  const cg::grid_group grid = cg::this_grid();
  for (int i = grid.thread_rank(); i < numbers; i += grid.size()) {
    const int bin = from[i] % (bins_of_block * blocks_of_cluster);
    int* const there = cluster.map_shared_rank(mine, bin / bins_of_block);
    atomicAdd(there + bin % bins_of_block, 1);  // FOUND: access outside memory
  }
  cluster.sync();
  for (int i = threadIdx.x; i < bins_of_block; i += blockDim.x)
    atomicAdd(&bins[rank * bins_of_block + i], mine[i]);
}

// Each block takes the number of the next block.
template <int blocks> __global__ void __cluster_dims__(blocks) rotate(const int* from, int* to) {
  __shared__ int number;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) number = from[blockIdx.x];
  auto token = cluster.barrier_arrive();
  cluster.barrier_wait(std::move(token));
  const int* const next = cluster.map_shared_rank(&number, (cluster.block_rank() + 1) % cluster.num_blocks());
  if (cluster.query_shared_rank(next) != (cluster.block_rank() + 1) % 4) to[0] = -1;
  if (threadIdx.x == 0) to[blockIdx.x] = *next;  // FOUND: access outside memory
#ifndef BROKEN
  cluster.sync();  // no block ends while another reads
#endif
}

__global__ void reversed(int* x) {
  __shared__ int all[threads];
  const auto block = cg::this_thread_block();
  all[threadIdx.x] = x[threadIdx.x];
#ifdef BROKEN
  const int early = all[threads - 1 - threadIdx.x];  // FOUND: race or uninitialised memory read
#endif
  auto token = block.barrier_arrive();
  block.barrier_wait(std::move(token));
#ifdef BROKEN
  x[threadIdx.x] = early;
#else
  x[threadIdx.x] = all[threads - 1 - threadIdx.x];
#endif
}

__global__ void places(int* wrong) {
  const auto cluster = cg::this_cluster();
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  const cg::thread_block_tile<4> part = cg::tiled_partition<4>(tile);
  const dim3 in_grid = cg::this_grid().thread_index();
  bool good = cluster.num_blocks() == 1 && cluster.block_rank() == 0 && cluster.size() == block.size();
  good &= tile.meta_group_size() == 4 && tile.meta_group_rank() == threadIdx.x / 16;
  good &= part.meta_group_size() == 4 && part.meta_group_rank() == threadIdx.x / 4 % 4;
  good &= in_grid.x == blockIdx.x * blockDim.x + threadIdx.x && in_grid.y == 0;
  if (!good) *wrong = 1;
}

int main() {
  int h[numbers], bins[bins_of_block * blocks_of_cluster], *from, *to;
  for (int i = 0; i < numbers; ++i) h[i] = (i * i + i / 7) % (bins_of_block * blocks_of_cluster);
  cudaMalloc(&from, sizeof h), cudaMalloc(&to, sizeof bins);
  cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(to, 0, sizeof bins);
  reversed<<<1, threads>>>(to);
  histogram<<<dim3(2, 4), threads>>>(from, to);
  cudaMemcpy(bins, to, sizeof bins, cudaMemcpyDeviceToHost);
  bool good = true;
  for (int b = 0; b < bins_of_block * blocks_of_cluster; ++b) {
    int expected = 0;
    for (int i = 0; i < numbers; ++i) expected += h[i] == b;
    good &= bins[b] == expected;
  }
  cudaMemset(to, 0, sizeof bins);
  places<<<2, threads>>>(to + 8);
  rotate<4><<<8, 32>>>(from, to);
  cudaMemcpy(bins, to, sizeof bins, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int b = 0; b < 8; ++b) good &= bins[b] == h[b / 4 * 4 + (b + 1) % 4];
  good &= bins[8] == 0;
  return good ? 0 : 1;
}
