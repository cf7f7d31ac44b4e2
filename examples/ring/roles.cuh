// SPDX-License-Identifier: Apache-2.0
// Sums of the columns of a matrix. One thread loads by bulk copies, four warps compute, over a ring of slots
// with mbarriers (sm_90).
#pragma once
#include <antiphase/ring.cuh>

using namespace antiphase::ring;

constexpr int stages = 4;                         // slots of the ring: so many tiles are loaded at once
constexpr int columns = 128;                      // of a block, and of a tile
constexpr int rows = 16;                          // of a tile
constexpr int computing = columns / 32;           // warps
constexpr int block_size = 32 * (computing + 1);  // threads

// Rows follow each other; width is a multiple of 4.
__global__ void __launch_bounds__(block_size)
    my_kernel(const float* matrix, float* sums, int height, int width) {
  __shared__ alignas(128) float tile[stages][rows][columns];
  __shared__ channel<mbarrier, stages, threads(1), warps(computing)>
      slots;  // who fills a slot, who releases it
  if (threadIdx.x == 0) slots.init(), fence_mbarrier_init();
  block_barrier();

  const int first = blockIdx.x * columns, across = min(columns, width - first);
  cursor<stages> at;
  if (warp_index() == computing) {  // load
    if (lane_index() != 0) return;
    for (int row = 0; row < height; row += rows, ++at) {
      const int down = min(rows, height - row), size = across * int(sizeof(float));
      slots.acquire(at);
      slots.commit(at, 0, bytes{down * size});  // full when so many bytes have landed
      for (int y = 0; y < down; ++y)
        bulk_load(tile[at.index][y], &matrix[size_t(row + y) * width + first], size,
                  slots.barrier[0][at.index]);
    }
    slots.finish(at);
  } else {  // compute
    const int t = threadIdx.x;
    float sum = 0;
    for (int row = 0; row < height; row += rows, ++at) {
      slots.wait(at);
      if (t < across)
        for (int y = 0; y < min(rows, height - row); ++y) sum += tile[at.index][y][t];
      slots.release(at, by_warp{});
    }
    if (t < across) sums[first + t] = sum;
  }
}
