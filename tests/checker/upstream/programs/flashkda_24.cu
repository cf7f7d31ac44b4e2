// SPDX-License-Identifier: Apache-2.0
// All threads convert a state in shared memory, one stores it to global memory by a bulk copy. A block's
// barrier lies between, but no fence for the asynchronous proxy.
#include <cstdint>

#include "buffer.h"

__global__ void convert(const int* from, float* to) {
  __shared__ alignas(128) float state[128];
  const int t = threadIdx.x;
  state[t] = static_cast<float>(from[blockIdx.x * 128 + t]);
#ifndef BROKEN
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
  if (t != 0) return;
  asm volatile(  // FOUND: missing proxy fence
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + blockIdx.x * 128),
      "r"(static_cast<uint32_t>(__cvta_generic_to_shared(state))), "n"(sizeof state)
      : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

int main() {
  const buffer<int> from(256, [](int i) { return i; });
  const buffer<float> to(256);
  convert<<<2, 128>>>(from, to);
  return to.differs([](int i) { return i; });
}
