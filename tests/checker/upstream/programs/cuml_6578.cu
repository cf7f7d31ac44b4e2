// SPDX-License-Identifier: Apache-2.0
// A block computes a product row by row: all store their part, thread 0 adds up. The next row's parts are
// stored while it still reads.
#include "buffer.h"

constexpr int rows = 4, columns = 64;

__global__ void matrix_times_vector(const int* a, const int* x, int* y) {
  __shared__ int part[columns];
  const int t = threadIdx.x;
  for (int row = 0; row < rows; ++row) {
    part[t] = a[row * columns + t] * x[t];  // FOUND: overwritten in use
    __syncthreads();
    if (t == 0) {
      int sum = 0;
      for (int i = 0; i < columns; ++i) sum += part[i];
      y[row] = sum;
    }
#ifndef BROKEN
    __syncthreads();
#endif
  }
}

int main() {
  const buffer<int> a(rows * columns, [](int i) { return i / columns; }), x(columns, [](int i) { return i; });
  const buffer<int> y(rows);
  matrix_times_vector<<<1, columns>>>(a, x, y);
  return y.differs([](int i) { return i * columns * (columns - 1) / 2; });
}
