// SPDX-License-Identifier: Apache-2.0
// Numbers of 8 bits, and functions of half and bfloat16. Broken: four numbers at a time from an odd element;
// no barrier after the scale that one thread sets.
#include <cuda_fp8.h>
#include <cuda_bf16.hpp>
#include <cuda_fp16.hpp>
#include <cuda_fp8.hpp>

#include <cstdio>

constexpr int count = 64;

__global__ void quantise(const float* x, __nv_fp8_e4m3* y, float* scale) {
  __shared__ float largest;
  if (threadIdx.x == 0) {
    float all = 0;
    for (int i = 0; i < count; ++i) all = fmaxf(all, fabsf(x[i]));
    largest = all;
  }
#ifndef BROKEN
  __syncthreads();
#endif
  y[threadIdx.x] = __nv_fp8_e4m3(x[threadIdx.x] * 448 / largest);  // FOUND: race or uninitialised memory read
  if (threadIdx.x == 0) *scale = largest / 448;
}
__global__ void dequantise(const __nv_fp8_e4m3* y, const float* scale, __nv_bfloat16* x) {
#ifdef BROKEN
  const int first = 2;
#else
  const int first = 0;
#endif
  const auto four =
      *reinterpret_cast<const __nv_fp8x4_e4m3*>(y + first + 4 * threadIdx.x);  // FOUND: misaligned access
  const float4 v = static_cast<float4>(four);
  const __nv_bfloat162 low = __floats2bfloat162_rn(v.x, v.y), high = __floats2bfloat162_rn(v.z, v.w),
                       by = __bfloat162bfloat162(__float2bfloat16(*scale));
  const __nv_bfloat162 a = __hmul2(low, by), b = __hfma2_relu(high, by, __float2bfloat162_rn(0.0f));
  x[4 * threadIdx.x] = a.x, x[4 * threadIdx.x + 1] = a.y;
  x[4 * threadIdx.x + 2] = b.x, x[4 * threadIdx.x + 3] = __hmax_nan(b.y, __float2bfloat16(0.0f));
}
__global__ void functions(unsigned* wrong) {
  const __half two = __float2half(2.0f), four = __float2half(4.0f);
  const __half2 pair = __halves2half2(two, four);
  const auto is = [&](int bit, bool right) {
    if (!right) atomicOr(wrong, 1u << bit);
  };
  is(0, __half2float(h2sqrt(__low2half2(pair)).y) > 1.41f && __half2float(hexp10(two)) == 100);
  is(1, __hbgt2(__highs2half2(pair, pair), __lows2half2(pair, pair)) && __hne(two, four));
  is(2, __half2float(__hadd_sat(two, four)) == 1 && __half2short_rz(__hdiv(__float2half(5.0f), two)) == 2);
  is(3, __half2float(__low2half(__lowhigh2highlow(pair))) == 4 && __half_as_ushort(two) == 0x4000);
  is(4, __nv_cvt_float_to_fp8(1000.0f, __NV_SATFINITE, __NV_E4M3) == 0x7E &&
            __nv_cvt_float_to_fp8(1000.0f, __NV_NOSAT, __NV_E4M3) == 0x7F);
  unsigned short pair8;
  unsigned pair16, tf32;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair8) : "f"(2.0f), "f"(1.0f));
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair16) : "h"(pair8));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(tf32) : "f"(__uint_as_float(0x3F801000)));
  unsigned short fp8;
  unsigned cut;
  asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(fp8) : "r"(0xC0003C00));
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(cut) : "f"(-3.0f), "f"(2.0f));
  is(7, fp8 == 0xC038 && cut == 0x00004000);
  is(6, pair8 == 0x4038 && pair16 == 0x40003C00 && tf32 == 0x3F802000);
  is(5, __half2float(__half(__nv_cvt_fp8_to_halfraw(0x3D, __NV_E5M2))) == 1.25f &&
            static_cast<float>(__nv_fp8_e5m2(1.125f)) == 1.0f &&
            static_cast<float>(__nv_fp8_e4m3(-0.001f)) != 0);
}

int main() {
  float h[count], *x, *scale;
  __nv_bfloat16 back[count], *to;
  __nv_fp8_e4m3* y;
  unsigned bad = 0, *wrong;
  for (int i = 0; i < count; ++i) h[i] = (i - 8) / 4.0f;
  cudaMalloc(&x, sizeof h), cudaMalloc(&to, sizeof back), cudaMalloc(&y, count + 4), cudaMalloc(&scale, 4);
  cudaMalloc(&wrong, sizeof bad);
  cudaMemset(wrong, 0, sizeof bad);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  functions<<<1, 1>>>(wrong);
  quantise<<<1, count>>>(x, y, scale);
  cudaMemset(y + count, 0, 4);
  dequantise<<<1, count / 4>>>(y, scale, to);
  cudaMemcpy(back, to, sizeof back, cudaMemcpyDeviceToHost);
  cudaMemcpy(&bad, wrong, sizeof bad, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(to), cudaFree(y), cudaFree(scale), cudaFree(wrong);
  if (bad != 0) return std::printf("wrong: %#x\n", bad), 1;
  for (int i = 0; i < count; ++i) {
    const float expected = i % 4 >= 2 && h[i] < 0 ? 0 : h[i];
    if (fabsf(__bfloat162float(back[i]) - expected) > 0.08f * fabsf(expected))
      return std::printf("%d: %g, expected %g\n", i, __bfloat162float(back[i]), expected), 1;
  }
}
