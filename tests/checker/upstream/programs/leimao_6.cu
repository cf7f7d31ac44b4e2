// SPDX-License-Identifier: Apache-2.0
// A product by tiles in shared memory. At the end of a step a warp waits for its own lanes only, and stores
// the next tile, which other warps still read.
#include "buffer.h"

constexpr int side = 8, steps = 4, k = side * steps;

__global__ void product(const int* a, const int* b, int* c) {
  __shared__ int ta[side][side], tb[side][side];
  const int row = threadIdx.x / side, column = threadIdx.x % side;
  int sum = 0;
  for (int step = 0; step < steps; ++step) {
    ta[row][column] = a[row * k + step * side + column];
    tb[row][column] = b[(step * side + row) * side + column];  // FOUND: overwritten in use
    __syncthreads();
    for (int i = 0; i < side; ++i) sum += ta[row][i] * tb[i][column];
#ifdef BROKEN
    __syncwarp();
#else
    __syncthreads();
#endif
  }
  c[row * side + column] = sum;
}

int main() {
  const buffer<int> a(side * k, [](int i) { return i / k; }), b(k * side, [](int i) { return i % side; });
  const buffer<int> c(side * side);
  product<<<1, side * side>>>(a, b, c);
  return c.differs([](int i) { return k * (i / side) * (i % side); });
}
