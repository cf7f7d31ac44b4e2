// SPDX-License-Identifier: Apache-2.0
// Four numbers at a time; broken: from an address that is not a multiple of 16.
__global__ void scale(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i + 4 > n) return;
#ifdef BROKEN
  float4* p = reinterpret_cast<float4*>(x + 1) + i;
#else
  float4* p = reinterpret_cast<float4*>(x) + i;
#endif
  float4 v = *p;  // FOUND: misaligned access
  v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
  *p = v;
}

int main() {
  float h[260], *d;
  for (int i = 0; i < 260; ++i) h[i] = i;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  scale<<<2, 32>>>(d, 256);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
  return h[255] == 510 ? 0 : 1;
}
