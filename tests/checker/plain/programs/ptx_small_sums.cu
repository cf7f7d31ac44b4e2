// SPDX-License-Identifier: Apache-2.0
// Atomic sums of f16 and bf16 and a transposed matrix by inline PTX; broken: one sum is an ordinary one.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void sums(half2* halves, __nv_bfloat162* bfloats, half* one, float4* four) {
  const half2 h = __floats2half2_rn(1.0f, float(threadIdx.x % 4));
  const __nv_bfloat162 b = __floats2bfloat162_rn(2.0f, 0.5f);
  asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(halves),
               "r"(reinterpret_cast<const unsigned&>(h))
               : "memory");
  unsigned before;
  asm volatile("atom.global.add.noftz.bf16x2 %0, [%1], %2;"
               : "=r"(before)
               : "l"(bfloats), "r"(reinterpret_cast<const unsigned&>(b))
               : "memory");
#ifdef BROKEN
  *one = __hadd(*one, h.x);  // FOUND: race
#else
  asm volatile("red.global.add.noftz.f16 [%0], %1;" ::"l"(one),
               "h"(reinterpret_cast<const unsigned short&>(h.x))
               : "memory");
#endif
  asm volatile("red.global.v2.add.noftz.f16x2 [%0], {%1, %1};" ::"l"(halves + 2),
               "r"(reinterpret_cast<const unsigned&>(h))
               : "memory");
  float x, y, z, w;
  asm volatile("atom.global.v4.f32.add {%0, %1, %2, %3}, [%4], {%5, %5, %5, %5};"
               : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
               : "l"(four), "f"(1.0f)
               : "memory");
}
__global__ void transpose(const half* from, half* to) {  // 8 x 8
  unsigned mine = reinterpret_cast<const unsigned*>(from)[threadIdx.x], moved;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(mine));
  reinterpret_cast<unsigned*>(to)[threadIdx.x] = moved;
}

int main() {
  unsigned char* all;
  cudaMalloc(&all, 512), cudaMemset(all, 0, 512);
  half h[64], t[64], *from, *to;
  for (int i = 0; i < 64; ++i) h[i] = __float2half(float(i));
  cudaMalloc(&from, sizeof h), cudaMalloc(&to, sizeof h);
  cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice);
  sums<<<2, 32>>>((half2*)all, (__nv_bfloat162*)(all + 64), (half*)(all + 128), (float4*)(all + 256));
  transpose<<<1, 32>>>(from, to);
  unsigned char s[512];
  cudaMemcpy(s, all, sizeof s, cudaMemcpyDeviceToHost);
  cudaMemcpy(t, to, sizeof t, cudaMemcpyDeviceToHost);
  cudaFree(all), cudaFree(from), cudaFree(to);
  for (int i = 0; i < 64; ++i)
    if (__half2float(t[i]) != i % 8 * 8 + i / 8) return 1;
  const float2 halves = __half22float2(*(half2*)s), bfloats = __bfloat1622float2(*(__nv_bfloat162*)(s + 64)),
               vector = __half22float2(((half2*)s)[3]);
  if (halves.x != 64 || halves.y != 96 || bfloats.x != 128 || bfloats.y != 32) return 2;
  if (vector.x != 64 || vector.y != 96 || ((float4*)(s + 256))->w != 64) return 3;
  return __half2float(*(half*)(s + 128)) == 64 ? 0 : 4;
}
