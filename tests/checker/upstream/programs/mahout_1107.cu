// SPDX-License-Identifier: Apache-2.0
// Norms of the rows of a matrix, by two numbers at a time. Rows of odd length begin at addresses that are no
// multiple of 16.
#include "buffer.h"

constexpr int columns = 33, rows = 4;

__global__ void norms(const double* x, double* to) {
  const double* const row = x + blockIdx.x * columns;
  const int lane = threadIdx.x;
  double sum = 0;
#ifdef BROKEN
  const bool pairs = true;
#else
  const bool pairs = blockIdx.x * columns % 2 == 0;
#endif
  if (pairs) {
    if (lane < columns / 2) {
      const double2 v = reinterpret_cast<const double2*>(row)[lane];  // FOUND: misaligned access
      sum = v.x * v.x + v.y * v.y;
    }
    if (lane == 0) sum += row[columns - 1] * row[columns - 1];
  } else {
    for (int i = lane; i < columns; i += 32) sum += row[i] * row[i];
  }
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  if (lane == 0) to[blockIdx.x] = sum;
}

int main() {
  const buffer<double> x(rows * columns, [](int i) { return i / columns; }), to(rows);
  norms<<<rows, 32>>>(x, to);
  return to.differs([](int i) { return columns * i * i; });
}
