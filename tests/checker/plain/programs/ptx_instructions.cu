// SPDX-License-Identifier: Apache-2.0
// Instructions with results that the host can verify. Broken: lanes get their neighbour's number by a shuffle
// with groups of half a warp.
#include <cstdio>

struct results {
  unsigned lane, up, down, xored, idx, votes, sum, largest, order, wide_low, wide_high, logic, popc, shifted,
      less, half, rounded, elected;
  unsigned old, exchanged, bytes[4];
  float fused, vector[4];
  bool inside;
};

__global__ void run(results* all, unsigned* words, const float4* four) {
  const unsigned t = threadIdx.x;
  results r;
  asm("mov.u32 %0, %%laneid;" : "=r"(r.lane));
  asm volatile("shfl.sync.up.b32 %0, %1, 3, 0, 0xffffffff;" : "=r"(r.up) : "r"(t * t));
  asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 5, %3, 0xffffffff; selp.b32 %1, 1, 0, p; }"
               : "=r"(r.down), "=r"(r.less)
               : "r"(t * t),
#ifdef BROKEN
                 "n"(0x100F));
#else
                 "n"(0x1F));
#endif
  asm volatile("shfl.sync.bfly.b32 %0, %1, 9, 31, -1;" : "=r"(r.xored) : "r"(t * t));
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, %3, %4;"
               : "=r"(r.idx)
               : "r"(t * t), "r"(t + 2), "r"(0x181F), "r"(~0u));
  asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 7; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(r.votes)
               : "r"(t));
  asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(r.sum) : "r"(t));
  asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(r.largest) : "r"(static_cast<int>(t) - 40));
  asm volatile("{ .reg .pred p; .reg .b32 leader; elect.sync leader|p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
               : "=r"(r.elected));
  asm("{ .reg .b64 w; mul.wide.u32 w, %2, 0x10001; mov.b64 {%0, %1}, w; }"
      : "=r"(r.wide_low), "=r"(r.wide_high)
      : "r"(t + 0xFFFF0000u));
  asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(r.logic) : "r"(t), "r"(5u), "r"(12u));  // the majority
  asm("popc.b32 %0, %1;" : "=r"(r.popc) : "r"(t));
  asm("{ .reg .b32 x; shl.b32 x, %1, 28; shr.s32 %0, x, 28; }" : "=r"(r.shifted) : "r"(t));
  asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.u32.u16 %0, h; }"
      : "=r"(r.half)
      : "f"(static_cast<float>(t) + 0.5f));
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(r.rounded) : "f"(static_cast<float>(t) + 0.5f));
  asm("fma.rn.f32 %0, %1, 0f40000000, %2;" : "=f"(r.fused) : "f"(static_cast<float>(t)), "f"(1.0f));
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(r.vector[0]), "=f"(r.vector[1]), "=f"(r.vector[2]), "=f"(r.vector[3])
               : "l"(four + t));
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(r.old) : "l"(words), "r"(1));
  asm volatile("atom.cas.b32 %0, [%1], %2, %3;" : "=r"(r.exchanged) : "l"(words + 1 + t), "r"(t), "r"(77));
  asm("{ .reg .pred p, q; setp.ge.u32 p, %1, 4; setp.lt.and.u32 q, %1, 9, p; selp.u32 %0, 1, 0, q; }"
      : "=r"(r.order)
      : "r"(t));
  asm volatile("membar.gl; fence.acq_rel.gpu; prefetch.global.L2 [%0];" ::"l"(words) : "memory");
  r.inside = r.order != 0;
  all[t] = r;
}

#define EXPECT(what, value) \
  if (!((what) == (value))) return std::printf("lane %u: %s\n", t, #what), 1

int main() {
  results host[32], *all;
  unsigned words[33], *counters;
  float4 numbers[32], *four;
  for (unsigned i = 0; i < 33; ++i) words[i] = i == 0 ? 100 : i % 2 == 1 ? i - 1 : 0xABCD;
  for (int i = 0; i < 32; ++i) numbers[i] = make_float4(i, 2 * i, 3 * i, 4 * i);
  cudaMalloc(&all, sizeof host), cudaMalloc(&counters, sizeof words), cudaMalloc(&four, sizeof numbers);
  cudaMemcpy(counters, words, sizeof words, cudaMemcpyHostToDevice),
      cudaMemcpy(four, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  run<<<1, 32>>>(all, counters, four);
  cudaMemcpy(host, all, sizeof host, cudaMemcpyDeviceToHost),
      cudaMemcpy(words, counters, sizeof words, cudaMemcpyDeviceToHost);
  cudaFree(all), cudaFree(counters), cudaFree(four);
  unsigned olds = 0;  // FOUND SOMEWHERE: wrong result
  for (unsigned t = 0; t < 32; ++t) {
    const results& r = host[t];
    EXPECT(r.lane, t);
    EXPECT(r.up, (t < 3 ? t * t : (t - 3) * (t - 3)));
    EXPECT(r.down, (t + 5 < 32 ? (t + 5) * (t + 5) : t * t));
    EXPECT(r.less, (t + 5 < 32));
    EXPECT(r.xored, (t ^ 9) * (t ^ 9));
    EXPECT(r.idx, (t / 8 * 8 + (t + 2) % 8) * (t / 8 * 8 + (t + 2) % 8));
    EXPECT(r.votes, 0xFFFFFF00u);
    EXPECT(r.sum, 496u);
    EXPECT(r.largest, static_cast<unsigned>(31 - 40));
    EXPECT(r.elected, (t == 0));
    EXPECT((r.wide_low | static_cast<unsigned long>(r.wide_high) << 32), (t + 0xFFFF0000ul) * 0x10001);
    EXPECT(r.logic, ((t & 5) | (t & 12) | 4));
    EXPECT(r.popc, static_cast<unsigned>(__builtin_popcount(t)));
    EXPECT(r.shifted, static_cast<unsigned>(static_cast<int>(t << 28) >> 28));
    EXPECT(r.half, (t == 0 ? 0x3800u : r.half));
    EXPECT((t == 3 ? r.half : 0x4300u), 0x4300u);
    EXPECT(r.rounded, (t % 2 == 0 ? t : t + 1));
    EXPECT(r.fused, 2.0f * t + 1);
    for (int i = 0; i < 4; ++i) EXPECT(r.vector[i], static_cast<float>(t * (i + 1)));
    olds += r.old;
    EXPECT(r.exchanged, (t % 2 == 0 ? t : 0xABCDu));
    EXPECT(words[1 + t], (t % 2 == 0 ? 77u : 0xABCDu));
    EXPECT(r.order, (t >= 4 && t < 9));
  }
  return olds == 32 * 100 + 496 && words[0] == 132 ? 0 : 1;
}
