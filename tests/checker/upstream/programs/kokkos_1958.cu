// SPDX-License-Identifier: Apache-2.0
// Groups of eight lanes add up by shuffles, with a mask of their own lanes. It was computed from the lane's
// place in its group, not from the group.
#include "buffer.h"

constexpr int width = 8;

__global__ void sums(const int* from, int* to) {
  const int t = threadIdx.x;
#ifdef BROKEN
  const unsigned mask = ((1u << width) - 1) << t % (32 / width) * width;
#else
  const unsigned mask = ((1u << width) - 1) << t % 32 / width * width;
#endif
  int v = from[t];
  for (int by = width / 2; by > 0; by /= 2)
    v += __shfl_down_sync(mask, v, by, width);  // FOUND: barrier misuse
  if (t % width == 0) to[t / width] = v;
}

int main() {
  const buffer<int> from(64, [](int i) { return i / width; }), to(64 / width);
  sums<<<1, 64>>>(from, to);
  return to.differs([](int i) { return width * i; });
}
