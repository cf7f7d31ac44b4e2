// SPDX-License-Identifier: Apache-2.0
// A filter with weights in constant memory; broken: the host writes them like its own variables.
__constant__ float weights[5];

__global__ void filter(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 5; ++k)
    if (i + k - 2 >= 0 && i + k - 2 < n) sum += weights[k] * x[i + k - 2];
  if (i < n) y[i] = sum;
}

int main() {
  const int n = 70;
  const float w[5] = {1, 2, 3, 2, 1};
  float h[n], *x, *y;
  for (int i = 0; i < n; ++i) h[i] = 1;
  cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h);
#ifdef BROKEN
  for (int k = 0; k < 5; ++k) weights[k] = w[k];  // FOUND: access outside memory
#else
  cudaMemcpyToSymbol(weights, w, sizeof w);
#endif
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  filter<<<(n + 31) / 32, 32>>>(x, y, n);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
  return h[10] == 9 && h[0] == 6 ? 0 : 1;
}
