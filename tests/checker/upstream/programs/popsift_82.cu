// SPDX-License-Identifier: Apache-2.0
// A histogram of 36 bins by one warp, whose lanes read their neighbours' bins: no barrier between its
// clearing and the additions, nor between the smoothed bins and their comparison.
#include <algorithm>

#include "buffer.h"

constexpr int bins = 36, samples = 200;

__global__ void largest(const int* angles, int* to) {
  __shared__ int histogram[bins], smooth[64];
  const int t = threadIdx.x;
  for (int i = t; i < bins; i += 32) histogram[i] = 0;  // FOUND: race
#ifndef BROKEN
  __syncthreads();
#endif
  for (int i = t; i < samples; i += 32) atomicAdd(&histogram[angles[i] / 10], 1);
  __syncthreads();
  for (int i = t; i < 64; i += 32) smooth[i] = i < bins ? histogram[i] + histogram[(i + 1) % bins] : -1;
#ifndef BROKEN
  __syncthreads();
#endif
  int best = max(smooth[t], smooth[63 - t]);
  for (int by = 16; by > 0; by /= 2) best = max(best, __shfl_xor_sync(~0u, best, by));
  if (t == 0) *to = best;
}

int main() {
  const buffer<int> angles(samples, [](int i) { return i < 60 ? 125 : i * 7 % 360; }), to(1);
  largest<<<1, 32>>>(angles, to);
  int count[bins] = {}, best = 0;
  for (int i = 0; i < samples; ++i) ++count[(i < 60 ? 125 : i * 7 % 360) / 10];
  for (int i = 0; i < bins; ++i) best = std::max(best, count[i] + count[(i + 1) % bins]);
  return to.differs([=](int) { return best; });
}
