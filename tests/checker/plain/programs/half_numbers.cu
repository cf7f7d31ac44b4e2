// SPDX-License-Identifier: Apache-2.0
// Half-precision numbers; broken: two at a time from an odd element.
#include <cuda_fp16.h>

__global__ void axpy(__half a, const __half* x, __half* y, int n) {
#ifdef BROKEN
  const int first = 1;
#else
  const int first = 0;
#endif
  const int i = threadIdx.x;
  if (2 * i + 2 > n) return;
  const __half2 v = *reinterpret_cast<const __half2*>(x + first + 2 * i);  // FOUND: misaligned access
  const __half2 w = *reinterpret_cast<const __half2*>(y + 2 * i);
  *reinterpret_cast<__half2*>(y + 2 * i) = __hfma2(__half2half2(a), v, w);
}

int main() {
  __half h[66], *x, *y;
  for (int i = 0; i < 66; ++i) h[i] = __float2half(i);
  cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(y, h, sizeof h, cudaMemcpyHostToDevice);
  axpy<<<1, 32>>>(__float2half(2.0f), x, y, 64);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
  return __half2float(h[63]) == 189 ? 0 : 1;
}
