// SPDX-License-Identifier: Apache-2.0
// A row is summed up tile by tile. Thread 0 adds the tile to the carry while others still read it.
#include "buffer.h"

constexpr int tile = 64, columns = 300;

__global__ void running_sums(const int* from, int* to) {
  __shared__ int carry, of_warp[2];
  const int t = threadIdx.x, lane = t % 32, row = blockIdx.x * columns;
  if (t == 0) carry = 0;
  __syncthreads();
  for (int start = 0; start < columns; start += tile) {
    int sum = start + t < columns ? from[row + start + t] : 0;
    for (int by = 1; by < 32; by *= 2) {
      const int other = __shfl_up_sync(~0u, sum, by);
      if (lane >= by) sum += other;
    }
    if (lane == 31) of_warp[t / 32] = sum;
    __syncthreads();
    if (t >= 32) sum += of_warp[0];
    const int total = of_warp[0] + of_warp[1];
    __syncthreads();
    if (start + t < columns) to[row + start + t] = carry + sum;
#ifndef BROKEN
    __syncthreads();
#endif
    if (t == 0) carry += total;  // FOUND: overwritten in use
  }
}

int main() {
  const buffer<int> from(2 * columns, [](int) { return 1; }), to(2 * columns);
  running_sums<<<2, tile>>>(from, to);
  return to.differs([](int i) { return i % columns + 1; });
}
