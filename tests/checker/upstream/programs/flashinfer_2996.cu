// SPDX-License-Identifier: Apache-2.0
// Two warps load by one thread each, two compute and add up. Only the computing warps come to the block's
// barrier before the addition.
#include "buffer.h"

__global__ void product(const int* a, const int* b, int* to) {
  __shared__ int x[2][64], partial[64];
  __shared__ unsigned long long full;
  const int t = threadIdx.x, warp = t / 32;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&full));
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 2;" ::"r"(at));
  __syncthreads();
  if (warp >= 2) {
    if (t % 32 == 0) {
      for (int i = 0; i < 64; ++i) x[warp - 2][i] = (warp == 2 ? a : b)[i];
      asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");
    }
  } else {
    asm volatile(
        "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra again;\n}" ::"r"(
            at)
        : "memory");
    partial[t] = x[0][t] * x[1][t];
#ifdef BROKEN
    __syncthreads();  // FOUND: divergent barrier
#endif
  }
#ifndef BROKEN
  __syncthreads();
#endif
  if (warp == 0) {
    int sum = partial[t] + partial[t + 32];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(~0u, sum, by);
    if (t == 0) *to = sum;
  }
}

int main() {
  const buffer<int> a(64, [](int i) { return i; }), b(64, [](int) { return 2; }), to(1);
  product<<<1, 128>>>(a, b, to);
  return to.differs([](int) { return 64 * 63; });
}
