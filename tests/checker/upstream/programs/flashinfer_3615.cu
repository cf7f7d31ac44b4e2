// SPDX-License-Identifier: Apache-2.0
// Blocks count together, then their state is reset for the next launch. The first block resets it, while
// others may still read it or wait for the counter, which then never comes.
#include "buffer.h"

constexpr int bins = 64, blocks = 3;

struct group {
  int arrived, histogram[bins];
};

__global__ void count(const int* x, group* g, int* to) {
  __shared__ int last;
  const int t = threadIdx.x, b = blockIdx.x;
  atomicAdd(&g->histogram[x[b * bins + t]], 1);
  __syncthreads();
  if (t == 0) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(&g->arrived), "r"(1) : "memory");
    int seen = 0;
    while (seen < blocks)
      asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(seen) : "l"(&g->arrived) : "memory");
  }
  __syncthreads();
  to[b * bins + t] = g->histogram[t];
#ifdef BROKEN
  if (t == 0) last = b == 0;
#else
  __syncthreads();
  if (t == 0) {
    int old;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(&g->arrived), "r"(1)
                 : "memory");
#ifndef AS_MERGED
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
    last = old == 2 * blocks - 1;
  }
#endif
  __syncthreads();
  if (!last) return;
  g->histogram[t] = 0;  // FOUND: overwritten in use
  __syncthreads();
  if (t == 0) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(&g->arrived), "r"(0) : "memory");
  }
}

int main() {
  const buffer<int> x(blocks * bins, [](int i) { return i * 5 % bins; }), to(blocks * bins);
  const buffer<int> g(sizeof(group) / sizeof(int));
  const void* given[] = {&x.at, &g.at, &to.at};
  for (int run = 0; run < 2; ++run)
    cudaLaunchCooperativeKernel(count, blocks, bins, const_cast<void**>(given), 0, nullptr);
  return to.differs([](int) { return blocks; });
}
