// SPDX-License-Identifier: Apache-2.0
// Sums of the columns of a matrix. Every thread loads and computes: cp.async over a ring of slots (sm_80).
#pragma once
#include <antiphase/ring.cuh>

using namespace antiphase::ring;

constexpr int stages = 3;        // slots of the ring: loads run stages - 1 tiles ahead
constexpr int columns = 128;     // of a block, and of a tile
constexpr int rows = 16;         // of a tile
constexpr int block_size = 128;  // threads

// Rows follow each other; width is a multiple of 4.
__global__ void __launch_bounds__(block_size)
    my_kernel(const float* matrix, float* sums, int height, int width) {
  __shared__ alignas(16) float tile[stages][rows][columns];
  const int t = threadIdx.x, first = blockIdx.x * columns;
  float sum = 0;

  const auto load = [&](int i, int slot) {  // starts the copies of tile i: 16 bytes a thread, zeros outside
    const int x = t % 32 * 4;
    for (int y = t / 32; y < rows; y += block_size / 32) {
      const int row = i * rows + y;
      const bool inside = row < height && first + x < width;
      const float* const from = inside ? &matrix[size_t(row) * width + first + x] : matrix;
      copy_async<16>(&tile[slot][y][x], from, inside ? 16 : 0);
    }
  };
  const auto compute = [&](int, int slot) {
    for (int y = 0; y < rows; ++y) sum += tile[slot][y][t];
  };
  async_copies<stages> slots;
  pipeline{slots}.run((height + rows - 1) / rows, load, compute);
  if (first + t < width) sums[first + t] = sum;
}
