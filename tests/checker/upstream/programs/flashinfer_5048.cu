// SPDX-License-Identifier: Apache-2.0
// A ring of two slots between 32 threads that load and 32 that compute. Another warp has nothing to load,
// but waits along; no mbarrier counts it, so it may miss a phase and wait for ever.
#include <cstdint>

#include "buffer.h"

constexpr int tiles = 8;

__device__ void wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(
          static_cast<uint32_t>(__cvta_generic_to_shared(barrier))),
      "r"(parity)
      : "memory");
}
__device__ void arrive(uint64_t* barrier) {
  asm volatile(
      "mbarrier.arrive.shared.b64 _, [%0];" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(barrier)))
      : "memory");
}

__global__ void doubled(const int* from, int* to) {
  __shared__ int slot[2][32];
  __shared__ uint64_t full[2], empty[2];
  const int t = threadIdx.x, lane = t % 32;
  if (t < 2) {
    asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(
        static_cast<uint32_t>(__cvta_generic_to_shared(&full[t]))));
    asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(
        static_cast<uint32_t>(__cvta_generic_to_shared(&empty[t]))));
  }
  __syncthreads();
  if (t < 32) {
    for (int i = 0; i < tiles; ++i) {
      wait(&full[i % 2], i / 2 % 2);
      to[i * 32 + lane] = 2 * slot[i % 2][lane];
      arrive(&empty[i % 2]);
    }
    return;
  }
#ifndef BROKEN
  if (t >= 64) return;
#endif
  for (int i = 0; i < tiles; ++i) {
    wait(&empty[i % 2], i / 2 % 2 ^ 1);
    if (t >= 64) continue;
    slot[i % 2][lane] = from[i * 32 + lane];
    arrive(&full[i % 2]);
  }
}

int main() {
  const buffer<int> from(32 * tiles, [](int i) { return 3 * i; }), to(32 * tiles);
  doubled<<<1, 96>>>(from, to);
  return to.differs([](int i) { return 6 * i; });
}
// FOUND SOMEWHERE: deadlock
