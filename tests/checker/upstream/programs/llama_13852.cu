// SPDX-License-Identifier: Apache-2.0
// The parts of a result and their scales are combined. Each thread loads one scale, but there are more parts
// than threads.
#include "buffer.h"

constexpr int width = 32, parts = 48;

__global__ void combine(const int* from, const int* scales, int* to) {
  __shared__ int scale[parts];
  const int t = threadIdx.x;
#ifdef BROKEN
  if (t < parts) scale[t] = scales[t];
#else
  for (int i = t; i < parts; i += width) scale[i] = scales[i];
#endif
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < parts; ++i) sum += scale[i] * from[i * width + t];  // FOUND: uninitialised memory read
  to[t] = sum;
}

int main() {
  const buffer<int> from(parts * width, [](int i) { return i / width; }),
      scales(parts, [](int) { return 2; });
  const buffer<int> to(width);
  combine<<<1, width>>>(from, scales, to);
  return to.differs([](int) { return parts * (parts - 1); });
}
