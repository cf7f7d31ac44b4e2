// SPDX-License-Identifier: Apache-2.0
// A block takes several tiles of rows, and writes each row to a place of its own. The places of the next tile
// are stored while others still write by those of this one.
#include "buffer.h"

constexpr int tile = 32, width = 2, tiles = 5;

__global__ void scatter(const int* places, const int* from, int* to) {
  __shared__ int place[tile];
  const int t = threadIdx.x, row = t % tile, column = t / tile;
  for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
#ifndef BROKEN
    __syncthreads();
#endif
    if (t < tile) place[t] = places[i * tile + t];
    __syncthreads();
    to[place[row] * width + column] = from[(i * tile + row) * width + column];  // FOUND: race
  }
}

int main() {
  const auto place = [](int i) { return i * 7 % (tile * tiles); };
  const buffer<int> places(tile * tiles, place), to(tile * tiles * width);
  const buffer<int> from(tile * tiles * width, [&](int i) { return place(i / width) * width + i % width; });
  scatter<<<2, tile * width>>>(places, from, to);
  return to.differs([](int i) { return i; });
}
