// SPDX-License-Identifier: Apache-2.0
// Vector types, half precision, loads and stores with hints, arithmetic intrinsics: each with its expected
// result.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>
#include <cmath>
#include <cstdio>

__device__ int wrong;
#define HOLDS(what) \
  if (!(what)) wrong = __LINE__

struct vectors {
  float2 f2;
  float4 f4;
  int2 i2;
  int4 i4;
  uchar4 c4;
  double2 d2;
};

__global__ void numbers(vectors* v, float* f, int* to) {
  __shared__ int part[32];
  const int t = threadIdx.x;
  part[t] = t;
#ifndef BROKEN
  __syncthreads();
#endif
  to[t] = part[31 - t];  // FOUND: race or uninitialised memory read
  if (t != 0) return;
  HOLDS(__popc(0xF0F0) == 8 && __clz(1) == 31 && __clz(0) == 32 && __ffs(8) == 4 && __ffs(0) == 0 &&
        __brev(1u) == 1u << 31);
  HOLDS(__popcll(~0ull) == 64 && __clzll(1) == 63 && __ffsll(1ll << 40) == 41 &&
        __brevll(1ull) == 1ull << 63);
  HOLDS(__mul64hi(-1, 5) == -1 && __umul64hi(1ull << 63, 6) == 3 && __mulhi(1 << 30, 8) == 2 &&
        __sad(-3, 4, 1) == 8 && __usad(9, 2, 1) == 8);
  HOLDS(__funnelshift_l(1u << 31, 1, 4) == 24 && __funnelshift_lc(5, 1, 40) == 5 &&
        __funnelshift_rc(5, 7, 32) == 7);
  HOLDS(__dp4a(0x01FF0203, 0x02030405, 10) == 10 + 2 - 3 + 8 + 15 && __dp4a(0xFFu, 0x2u, 1u) == 511 &&
        __rhadd(-3, 6) == 2);
  HOLDS(__dp2a_lo(0x0003FFFE, 0x0504FE02, 1) == 1 - 4 - 6 &&
        __dp2a_hi(0x0003FFFE, 0x0504FE02, 1) == 1 - 8 + 15 &&
        __dp2a_lo(0x00030002u, 0xFE02u, 1u) == 1 + 4 + 762);
  HOLDS(__vadd4(0x01FF0280, 0x01010180) == 0x02000300 && __vsub2(0x00010005, 0x00020001) == 0xFFFF0004 &&
        __vaddss2(0x7FFF8000, 0x0001FFFF) == 0x7FFF8000 && __vaddus4(0xFF01, 0x0101) == 0xFF02 &&
        __vsubus4(0x0105, 0x0201) == 0x0004);
  HOLDS(__vabsdiffu4(0x01FF0A00, 0x03010B00) == 0x02FE0100 && __vmaxs2(0xFFFF0001, 0x00008000) == 1 &&
        __vmaxu2(0xFFFF0001, 0x00008000) == 0xFFFF8000 && __vmins4(0xFF01, 0x0102) == 0xFF01 &&
        __vminu4(0xFF01, 0x0102) == 0x0101);
  HOLDS(__vcmpgtu4(0x02FF0100, 0x01FF0200) == 0xFF000000 && __vsetgts4(0x01FF, 0xFF00) == 0x0100 &&
        __vcmpeq2(0x00010002, 0x00010003) == 0xFFFF0000 && __vsadu4(0x01FF0A00, 0x03010B00) == 2 + 254 + 1 &&
        __vsads2(0xFFFF0002, 0x00010000) == 4);
  HOLDS(__vabs4(0xFF7F8001) == 0x017F8001 && __vneg2(0x0001FFFF) == 0xFFFF0001 &&
        __vavgu4(0xFF01, 0xFE02) == 0xFF02 && __vhaddu4(0xFF01, 0xFE02) == 0xFE01);
  HOLDS(__uhadd(~0u, ~0u) == ~0u && __urhadd(~0u, 0) == 1u << 31 &&
        __byte_perm(0x03020100, 0x07060504, 0x7410) == 0x07040100);
  HOLDS(CUDART_PI_F == 4 * CUDART_PIO4_F && CUDART_L2E * CUDART_LN2 == 1 && CUDART_INF > CUDART_TWO_TO_52 &&
        CUDART_NAN_F != CUDART_NAN_F && CUDART_SQRT_TWO_F * CUDART_SQRT_HALF_F > 0.9999999f &&
        CUDART_PI_LO == 2 * CUDART_PIO2_LO && CUDART_MIN_DENORM_F > CUDART_NEG_ZERO_F);
  HOLDS(__float_as_int(1.0f) == 0x3F800000 && __int_as_float(0x40000000) == 2 &&
        __float_as_uint(-0.0f) == 1u << 31);
  HOLDS(fabsf(__fdividef(3, 4) - 0.75f) < 1e-6f && fabsf(__expf(1) - 2.7182818f) < 1e-5f &&
        fabsf(rsqrtf(4) - 0.5f) < 1e-6f);
  HOLDS(__ldg(f) == 1 && __ldcg(f + 1) == 2 && __ldcs(f + 2) == 3);
  __stcg(f + 3, 8.0f), __stcs(f + 4, 9.0f);
  const float4 four = __ldg(&v->f4);
  v->f2 = make_float2(four.x + four.y, four.z + four.w);
  v->i2 = make_int2(3, -3), v->i4 = make_int4(1, 2, 3, 4), v->c4 = make_uchar4(1, 2, 3, 255),
  v->d2 = make_double2(0.5, -0.5);
  const __half h = __float2half(1.5f);
  const __half2 pair = __hadd2(__half2half2(h), __floats2half2_rn(1, 2));
  HOLDS(__half2float(h * h) == 2.25f && __low2float(pair) == 2.5f && __high2float(pair) == 3.5f);
  HOLDS(__half2float(__float2half(2049.0f)) == 2048 && __half2float(__hfma(h, h, h)) == 3.75f);
  const __half2 doubled = h2exp2(__h2div(__hneg2(__hmin2(pair, pair)), pair));
  HOLDS(__low2float(doubled) == 0.5f && __half2float(hexp2(hrcp(__float2half(0.5f)))) == 4 &&
        __high2float(h2rcp(h2exp(__floats2half2_rn(1, 0)))) == 1);
  const __nv_bfloat16 b = __float2bfloat16(1.00390625f);  // halfway: to the even one
  const __nv_bfloat162 both = __floats2bfloat162_rn(2, 3);
  HOLDS(__bfloat162float(b) == 1 && __low2float(both) * __high2float(both) == 6);
}

int main() {
  vectors *v, got{};
  got.f4 = make_float4(1, 2, 3, 4);
  float *f, h[5] = {1, 2, 3, 0, 0};
  int *to, failed;
  cudaMalloc(&v, sizeof got), cudaMalloc(&f, sizeof h), cudaMalloc(&to, 128);
  cudaMemcpy(v, &got, sizeof got, cudaMemcpyHostToDevice), cudaMemcpy(f, h, sizeof h, cudaMemcpyHostToDevice);
  numbers<<<1, 32>>>(v, f, to);
  cudaMemcpy(&got, v, sizeof got, cudaMemcpyDeviceToHost), cudaMemcpy(h, f, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&failed, wrong, sizeof failed);
  cudaFree(v), cudaFree(f), cudaFree(to);
  if (failed != 0) return std::printf("line %d does not hold\n", failed), 1;
  static_assert(sizeof(uchar4) == 4 && sizeof(float4) == 16 && alignof(float4) == 16 && alignof(int2) == 8 &&
                alignof(double2) == 16);
  return h[3] != 8 || h[4] != 9 || got.f2.x != 3 || got.f2.y != 7 || got.i2.y != -3 || got.i4.w != 4 ||
         got.c4.w != 255 || got.d2.y != -0.5;
}
