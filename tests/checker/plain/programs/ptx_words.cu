// SPDX-License-Identifier: Apache-2.0
// Parts of words, vectors of strong accesses, and barriers that vote. Broken: the vote is taken before the
// flags are there.
#include <cstdio>

struct results {
  unsigned bits, signs, merged, bytes, funnel, count, all, any, first, second, of_warp;
};

__global__ void words(results* to, unsigned* pairs, float* sums) {
  __shared__ unsigned flags[64];
  const unsigned t = threadIdx.x;
  results r;
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(r.bits) : "r"(0xABCDu));
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r.signs) : "r"(0xABCDu), "r"(8), "r"(8));
  asm("bfi.b32 %0, %1, %2, 8, 4;" : "=r"(r.merged) : "r"(0xFFu), "r"(0x11111111u));
  asm("prmt.b32 %0, %1, %2, 0x740B;" : "=r"(r.bytes) : "r"(0x83020100u), "r"(0x07060504u));
  asm("{ .reg .b32 x; shf.l.wrap.b32 x, %1, %2, 4; shf.r.clamp.b32 %0, x, x, 0; }"
      : "=r"(r.funnel)
      : "r"(1u << 31), "r"(1u));
  flags[t] = t < 10;
#ifndef BROKEN
  asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; bar.red.popc.u32 %0, 0, q; }"
               : "=r"(r.count)
               : "r"(flags[t])
               : "memory");
#else
  r.count = 10;
#endif
  const unsigned other = flags[63 - t];  // FOUND: race or uninitialised memory read
  asm volatile(
      "{ .reg .pred p, q; setp.ne.u32 q, %1, 0; barrier.red.and.pred p, 0, q; selp.u32 %0, 1, 0, p; }"
      : "=r"(r.all)
      : "r"(other)
      : "memory");
  asm volatile(
      "{ .reg .pred p, q; setp.ne.u32 q, %1, 0; barrier.cta.red.or.pred p, 0, !q; selp.u32 %0, 1, 0, p; }"
      : "=r"(r.any)
      : "r"(other)
      : "memory");
  r.of_warp = 0;
  for (unsigned round = 0; round < 2 && t >= 32; ++round) {  // one warp at a barrier of its own
    unsigned lanes;
    asm volatile("{ .reg .pred q; setp.gt.u32 q, %1, %2; bar.cta.red.popc.u32 %0, 3, 32, q; }"
                 : "=r"(lanes)
                 : "r"(t), "r"(39 + 8 * round)
                 : "memory");
    r.of_warp = 100 * r.of_warp + lanes;
  }
  asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(pairs + 2 * t), "r"(t), "r"(t + 1)
               : "memory");
  asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];"
               : "=r"(r.first), "=r"(r.second)
               : "l"(pairs + 2 * t)
               : "memory");
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %1, %2, %2};" ::"l"(sums), "f"(1.0f), "f"(2.0f)
               : "memory");
  to[t] = r;
}

#define EXPECT(what, value) \
  if ((what) != (value)) return std::printf("thread %u: %s is %x\n", t, #what, what), 1

int main() {
  results host[64], *all;
  unsigned* pairs;
  float sums[4] = {}, *to;
  cudaMalloc(&all, sizeof host), cudaMalloc(&pairs, 64 * sizeof(uint2)), cudaMalloc(&to, sizeof sums);
  cudaMemcpy(to, sums, sizeof sums, cudaMemcpyHostToDevice);
  words<<<1, 64>>>(all, pairs, to);
  cudaMemcpy(host, all, sizeof host, cudaMemcpyDeviceToHost);
  cudaMemcpy(sums, to, sizeof sums, cudaMemcpyDeviceToHost);
  cudaFree(all), cudaFree(pairs), cudaFree(to);
  for (unsigned t = 0; t < 64; ++t) {
    const results& r = host[t];
    EXPECT(r.bits, 0xBCu);
    EXPECT(r.signs, 0xFFFFFFABu);
    EXPECT(r.merged, 0x11111F11u);
    EXPECT(r.bytes, 0x070400FFu);
    EXPECT(r.funnel, 0x18u);
    EXPECT(r.count, 10u);
    EXPECT(r.all, 0u);
    EXPECT(r.any, 1u);
    EXPECT(r.first, t);
    EXPECT(r.second, t + 1);
    EXPECT(r.of_warp, t < 32 ? 0u : 2416u);
  }
  return sums[0] == 64 && sums[1] == 64 && sums[2] == 128 && sums[3] == 128 ? 0 : 1;
}
