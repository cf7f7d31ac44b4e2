// SPDX-License-Identifier: Apache-2.0
// Blocks note the time of each spike, then the first thread sets the number of spikes back, which other
// blocks may not have read yet.
#include "buffer.h"

constexpr int neurons = 256;

__global__ void note(const int* spikes, int* count, int* times, int now) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < *count) times[spikes[i]] = now;
#ifdef BROKEN
  if (i == 0) *count = 0;  // FOUND: overwritten in use
#endif
}
__global__ void reset(int* count) { *count = 0; }

int main() {
  const buffer<int> spikes(neurons, [](int i) { return neurons - 1 - i; }), times(neurons);
  const buffer<int> count(1, [](int) { return neurons; });
  note<<<neurons / 64, 64>>>(spikes, count, times, 5);
#ifndef BROKEN
  reset<<<1, 1>>>(count);
#endif
  return times.differs([](int) { return 5; }) + count.differs([](int) { return 0; });
}
