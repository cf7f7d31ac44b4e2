// SPDX-License-Identifier: Apache-2.0
// A warp lists the tokens that use an expert. Lanes read what others have put into the list; only shuffles,
// which order no memory, lie between.
#include "buffer.h"

constexpr int tokens = 96, experts = 4;

__global__ void lists(const int* expert_of, int* to, int* counts) {
  __shared__ int list[tokens];
  const int lane = threadIdx.x, expert = blockIdx.x;
  int found = 0, before = 0;
  for (int start = 0; start < tokens; start += 32) {
    const int own = expert_of[start + lane] == expert;
    before += expert_of[start + lane] < expert;
    int upto = own;
    for (int by = 1; by < 32; by *= 2) {
      const int other = __shfl_up_sync(~0u, upto, by);
      if (lane >= by) upto += other;
    }
    if (own) list[found + upto - 1] = start + lane;
    found += __shfl_sync(~0u, upto, 31);
  }
  for (int by = 16; by > 0; by /= 2) before += __shfl_xor_sync(~0u, before, by);
#ifndef BROKEN
  __syncwarp();
#endif
  for (int i = lane; i < found; i += 32) to[before + i] = list[i];  // FOUND: race
  if (lane == 0) counts[expert] = found;
}

int main() {
  const buffer<int> expert_of(tokens, [](int i) { return i * 5 % experts; }), to(tokens), counts(experts);
  lists<<<experts, 32>>>(expert_of, to, counts);
  return to.differs([](int i) { return i % 24 * 4 + i / 24; }) + counts.differs([](int) { return 24; });
}
