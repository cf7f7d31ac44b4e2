// SPDX-License-Identifier: Apache-2.0
// A ring of three stages, and one mbarrier that says after each step that it is done. It is waited for by the
// parity of the ring's rounds: an earlier phase passes the wait, and a stage is loaded while it is read.
#include <cstdint>

#include "buffer.h"

constexpr int stages = 3, steps = 9;

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(
          address(barrier)),
      "r"(parity)
      : "memory");
}
__device__ void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
}

__global__ void sums(const int* from, int* to) {
  __shared__ int stage[stages][32];
  __shared__ uint64_t full[stages], done;
  const int t = threadIdx.x, lane = t % 32;
  if (t < stages) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(address(&full[t])));
  if (t == stages) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(address(&done)));
  __syncthreads();
  for (int k = 0; k < steps; ++k) {
    if (t >= 32) {
      stage[k % stages][lane] = from[k * 32 + lane];  // FOUND: overwritten in use
      arrive(&full[k % stages]);
#ifdef BROKEN
      wait(&done, k / stages % 2);
#else
      wait(&done, k % 2);
#endif
    } else {
      wait(&full[k % stages], k / stages % 2);
      to[k * 32 + lane] = stage[k % stages][31 - lane];
      arrive(&done);
    }
  }
}

int main() {
  const buffer<int> from(steps * 32, [](int i) { return i; }), to(steps * 32);
  sums<<<1, 64>>>(from, to);
  return to.differs([](int i) { return i / 32 * 32 + 31 - i % 32; });
}
