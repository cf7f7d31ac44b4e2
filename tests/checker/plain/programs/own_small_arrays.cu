// SPDX-License-Identifier: Apache-2.0
// A thread's own small arrays, read and written by wider types, as code for halves does it; broken: the same
// in shared memory, where the address must fit.
#include <cuda_fp16.h>

__global__ void scale(const half* from, half* to, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  unsigned char mark = 1;
  half four[4], two[2], three[3];
  unsigned char bytes[4] = {1, 2, 3, 4};
  if (4 * i + 4 > n) return;
  *reinterpret_cast<float2*>(four) = reinterpret_cast<const float2*>(from)[i];
  *reinterpret_cast<unsigned*>(two) = *reinterpret_cast<const unsigned*>(four + 1);
  *reinterpret_cast<half2*>(three) = *reinterpret_cast<half2*>(two);
  const unsigned all = *reinterpret_cast<const unsigned*>(bytes);
  for (int k = 0; k < 4; ++k) four[k] = __hadd(four[k], k > 0 && k < 3 ? three[k - 1] : four[k]);
  if (all != 0x04030201 || mark != 1) return;
  reinterpret_cast<float2*>(to)[i] = *reinterpret_cast<float2*>(four);
#ifdef BROKEN
  __shared__ half both[2 * 64 + 1];
  half2* p = reinterpret_cast<half2*>(both + 1) + threadIdx.x;
  *p = half2{four[0], four[1]};  // FOUND: misaligned access
#endif
}

int main() {
  half h[256], *from, *to;
  for (int i = 0; i < 256; ++i) h[i] = __float2half(float(i % 64));
  cudaMalloc(&from, sizeof h), cudaMalloc(&to, sizeof h);
  cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice);
  scale<<<2, 32>>>(from, to, 256);
  cudaMemcpy(h, to, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < 256; ++i)
    if (__half2float(h[i]) != 2 * (i % 64)) return 1;
  return 0;
}
