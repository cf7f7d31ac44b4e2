// SPDX-License-Identifier: Apache-2.0
// A grid that arrives and waits apart, and groups that bring their sums to an atomic variable. Broken:
// written between the two, and a sum that is added without an atomic operation.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;
constexpr int blocks = 3, threads = 64, n = blocks * threads;

__global__ void turn(int* x, int* y) {
  const cg::grid_group grid = cg::this_grid();
  const int i = grid.thread_rank();
  assert(i < n && FLT_MAX > 1);  // which the header brings
#ifndef BROKEN
  x[i] = i;
#endif
  auto token = grid.barrier_arrive();
#ifdef BROKEN
  x[i] = i;
#endif
  y[i] = 1;
  grid.barrier_wait(std::move(token));
  y[i] += x[(i + threads) % n];  // FOUND: race or uninitialised memory read
}
__global__ void add_up(const int* y, int* sums, int* places) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const int v = y[blockIdx.x * threads + threadIdx.x];
  cuda::atomic_ref<int, cuda::thread_scope_device> all(sums[0]), largest(sums[1]), any(sums[2]);
#ifdef BROKEN
  const int sum = cg::reduce(tile, v, cg::plus<int>());
  if (tile.thread_rank() == 0) sums[0] += sum;  // FOUND: race or overwritten in use
#else
  cg::reduce_update_async(tile, all, v, cg::plus<int>());
#endif
  cg::reduce_update_async(tile, largest, v, cg::greater<int>());
  cg::reduce_store_async(tile, any, 1, cg::bit_or<int>());
  cuda::atomic_ref<int, cuda::thread_scope_device> taken(sums[3]);
  atomicAdd(&places[cg::exclusive_scan_update(tile, taken, 1, cg::plus<int>())], 1);
  atomicAdd(&places[cg::inclusive_scan_update(tile, taken, 1, cg::plus<int>()) - 1], 1);
}

int main() {
  int *x, *y, *sums, *places, got[4], of_places[2 * n];
  cudaMalloc(&x, n * sizeof(int));
  cudaMalloc(&y, n * sizeof(int));
  cudaMalloc(&sums, sizeof got);
  cudaMalloc(&places, sizeof of_places);
  cudaMemset(sums, 0, sizeof got);
  cudaMemset(places, 0, sizeof of_places);
  void* arguments[] = {&x, &y};
  cudaLaunchCooperativeKernel((void*)turn, dim3(blocks), dim3(threads), arguments, 0, 0);
  add_up<<<blocks, threads>>>(y, sums, places);
  cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpy(of_places, places, sizeof of_places, cudaMemcpyDeviceToHost);
  for (int* p : {x, y, sums, places}) cudaFree(p);
  int bad = got[0] != n * (n - 1) / 2 + n || got[1] != n || got[2] != 1 || got[3] != 2 * n;
  for (const int p : of_places) bad += p != 1;
  return bad;
}
