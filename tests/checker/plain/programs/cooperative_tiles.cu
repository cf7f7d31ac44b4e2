// SPDX-License-Identifier: Apache-2.0
// Sums of tiles of 16 threads, then of the block; broken: the block does not wait for its tiles.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void sum(const int* x, int* to) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  __shared__ int of_tile[4];
  const int v = cg::reduce(tile, x[block.thread_rank()], cg::plus<int>());
  if (tile.thread_rank() == 0) of_tile[tile.meta_group_rank()] = v;
#ifndef BROKEN
  block.sync();
#endif
  if (block.thread_rank() == 0)
    *to = of_tile[0] + of_tile[1] + of_tile[2] + of_tile[3];  // FOUND: uninitialised memory read or race
}

int main() {
  int h[64], *x, *to, got = 0;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&to, sizeof(int));
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<1, 64>>>(x, to);
  cudaMemcpy(&got, to, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(to);
#ifndef BROKEN
  return got == 64 * 63 / 2 ? 0 : 1;
#endif
}
