// SPDX-License-Identifier: Apache-2.0
// Sums of a warpgroup's products that begin at one are set before wgmma.fence; sums that begin at zero, whose
// variables begin after it, are not set at all. Broken: the first are set between the fence and the product.
#include <cuda_fp16.h>

#include <cstdint>

constexpr int of_a = 64 * 16, of_b = 8 * 16;

__device__ uint64_t describe(const half* p) {
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  return (at & 0x3FFFF) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}
template <int More> __device__ void multiply(float (&d)[4], const half* a, const half* b) {
  asm volatile(  // FOUND: barrier misuse
      "{.reg .pred p; setp.ne.b32 p, %6, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(describe(a)), "l"(describe(b)), "n"(More)
      : "memory");
}
__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void finish() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
__global__ void product(float* c) {
  __shared__ alignas(128) half a[of_a], b[of_b];
  const int t = threadIdx.x;
  for (int i = t; i < of_a; i += 128) a[i] = __float2half(2);
  if (t < of_b) b[t] = __float2half(3);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    float d[4];
#ifndef BROKEN
    for (float& x : d) x = 1;
#endif
    fence();
#ifdef BROKEN  // by asm statements, which nvcc leaves where they are
    for (float& x : d) asm volatile("mov.f32 %0, 1.0;" : "=f"(x));
#endif
    multiply<1>(d, a, b);
    float e[4];
    multiply<0>(e, a, b);
    finish();
    c[2 * t + i] = d[i] + e[i];
  }
}

int main() {
  static float result[256];
  float* c;
  cudaMalloc(&c, sizeof result);
  product<<<1, 128>>>(c);
  cudaMemcpy(result, c, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(c);
#ifndef BROKEN
  for (const float x : result)
    if (x != 1 + 2 * 16 * 6) return 1;
#endif
}
