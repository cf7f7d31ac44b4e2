// SPDX-License-Identifier: Apache-2.0
// A block of two dimensions adds up along y, then along x, by the same shared memory. The second step stores
// while others still read in the first.
#include "buffer.h"

constexpr int nx = 64, ny = 4;

__global__ void sum(const int* from, int* to) {
  __shared__ int shared[nx * ny];
  const int x = threadIdx.x, y = threadIdx.y, at = y * nx + x;
  int v = from[at];
  shared[at] = v;
  for (int by = ny / 2; by > 0; by /= 2) {
    __syncthreads();
    if (y < by) shared[at] = v += shared[at + by * nx];
  }
#ifndef BROKEN
  __syncthreads();
#endif
  shared[at] = v;  // FOUND: overwritten in use
  for (int by = nx / 2; by >= 32; by /= 2) {
    __syncthreads();
    if (x < by) shared[at] = v += shared[at + by];
  }
  __syncthreads();
  for (int by = 16; by > 0; by /= 2) v += __shfl_down_sync(~0u, v, by);
  if (x == 0 && y == 0) *to = v;
}

int main() {
  const buffer<int> from(nx * ny, [](int i) { return i; }), to(1);
  sum<<<1, dim3(nx, ny)>>>(from, to);
  return to.differs([](int) { return nx * ny * (nx * ny - 1) / 2; });
}
