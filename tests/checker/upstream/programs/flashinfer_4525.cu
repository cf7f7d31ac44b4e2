// SPDX-License-Identifier: Apache-2.0
// Every lane loads two neighbours of a row of five numbers, padded to eight. The index of the pair is bounded
// instead of each element's.
#include "buffer.h"

constexpr int heads = 5, padded = 8;

__global__ void with_sinks(const float* x, const float* sinks, float* to) {
  const int pair = threadIdx.x % (padded / 2), row = threadIdx.x / (padded / 2), bound = heads - 1;
  float own[2];
  for (int j = 0; j < 2; ++j) {
#ifdef BROKEN
    own[j] = sinks[min(pair, bound) * 2 + j];  // FOUND: access outside memory
#else
    own[j] = sinks[min(pair * 2 + j, bound)];
#endif
  }
  for (int j = 0; j < 2; ++j)
    if (pair * 2 + j < heads) to[row * heads + pair * 2 + j] = x[row * heads + pair * 2 + j] + own[j];
}

int main() {
  const int rows = 8;
  const buffer<float> x(rows * heads, [](int i) { return i; }), to(rows * heads);
  const buffer<float> sinks(heads, [](int i) { return 100 * i; });
  with_sinks<<<1, rows * padded / 2>>>(x, sinks, to);
  return to.differs([](int i) { return i + 100 * (i % heads); });
}
