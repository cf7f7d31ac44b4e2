// SPDX-License-Identifier: Apache-2.0
// Blocks add their histograms to a common one, and the first block clears the next one. Thread 0 alone
// releases at the barrier of the blocks, without a __syncthreads() after what the others did.
#include "buffer.h"

constexpr int bins = 128, blocks = 2, rounds = 3;

struct group {
  int arrived, histogram[3][bins];
};

__device__ void meet(group* g, int phase) {
  if (threadIdx.x == 0) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(&g->arrived), "r"(1) : "memory");
    int seen = 0;
    while (seen < (phase + 1) * blocks)
      asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(seen) : "l"(&g->arrived) : "memory");
  }
  __syncthreads();
}

__global__ void count(const int* x, group* g, int* to) {
  __shared__ int own[bins];
  const int t = threadIdx.x, b = blockIdx.x;
  for (int r = 0; r < rounds; ++r) {
    own[t] = 0;
    __syncthreads();
    atomicAdd(&own[x[(r * blocks + b) * bins + t]], 1);
    __syncthreads();
    int* const all = g->histogram[r % 3];
    if (own[t] > 0) atomicAdd(&all[t], own[t]);
    if (b == 0) g->histogram[(r + 1) % 3][t] = 0;
#ifndef BROKEN
    __syncthreads();
#endif
    meet(g, r);
    to[(r * blocks + b) * bins + t] = all[t];  // FOUND: race
    __syncthreads();
  }
}

int main() {
  const auto value = [](int i) { return i * 5 % bins; };
  const buffer<int> x(rounds * blocks * bins, value), to(rounds * blocks * bins);
  const buffer<int> g(sizeof(group) / sizeof(int));
  const void* given[] = {&x.at, &g.at, &to.at};
  cudaLaunchCooperativeKernel(count, blocks, bins, const_cast<void**>(given), 0, nullptr);
  return to.differs([](int) { return blocks; });
}
