// SPDX-License-Identifier: Apache-2.0
// Conversions of floating numbers of 4 and 6 bits and of powers of two, as quantized layers on Blackwell have them.
// Broken: no barrier after the factor that one thread sets.
#include <cstdio>

__global__ void functions(unsigned* wrong) {
  __shared__ float factor;
  if (threadIdx.x == 0) factor = 5.0f;
#ifndef BROKEN
  __syncthreads();
#endif
  const float largest = factor;  // FOUND: race or uninitialised memory read
  unsigned short e2m1, e3m2, e2m3, up, down;
  unsigned words[4];
  asm("{ .reg .b8 low, high;\n"
      "cvt.rn.satfinite.e2m1x2.f32 low, %1, %2;\n"
      "cvt.rn.satfinite.relu.e2m1x2.f32 high, %3, %4;\n"
      "mov.b16 %0, {low, high}; }"
      : "=h"(e2m1)
      : "f"(-1.25f), "f"(2.6f), "f"(-1.0f), "f"(1000.0f));
  asm("cvt.rn.satfinite.e3m2x2.f32 %0, %1, %2;" : "=h"(e3m2) : "f"(-27.0f), "f"(0.0625f));
  asm("cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;" : "=h"(e2m3) : "f"(7.3f), "f"(-0.13f));
  asm("cvt.rp.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(up) : "f"(largest), "f"(0.25f));
  asm("{ .reg .b8 low, high;\n mov.b16 {low, high}, %1;\n cvt.rn.f16x2.e2m1x2 %0, low; }"
      : "=r"(words[0])
      : "h"(e2m1));
  asm("cvt.rn.f16x2.e3m2x2 %0, %1;" : "=r"(words[1]) : "h"(e3m2));
  asm("cvt.rn.f16x2.e2m3x2 %0, %1;" : "=r"(words[2]) : "h"(e2m3));
  asm("cvt.rn.bf16x2.ue8m0x2 %0, %1;" : "=r"(words[3]) : "h"(up));
  asm("cvt.rz.ue8m0x2.bf16x2 %0, %1;" : "=h"(down) : "r"(0x40E03E80));
  const bool right = e2m1 == 0x07A5 && e3m2 == 0x3F01 && e2m3 == 0x1F21 && up == 0x827D && down == 0x817D &&
                     words[0] == 0xBC004200 && words[1] == 0xCF002C00 && words[2] == 0x4780B000 &&
                     words[3] == 0x41003E80;
  if (!right) atomicOr(wrong, 1u);
}

int main() {
  unsigned bad = 0, *wrong;
  cudaMalloc(&wrong, sizeof bad);
  cudaMemset(wrong, 0, sizeof bad);
  functions<<<1, 64>>>(wrong);
  cudaMemcpy(&bad, wrong, sizeof bad, cudaMemcpyDeviceToHost);
  cudaFree(wrong);
#ifndef BROKEN
  return bad == 0 ? 0 : 1;
#endif
}
