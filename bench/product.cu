// SPDX-License-Identifier: Apache-2.0
// A product of 128 x 128 without shared memory, as textbooks begin.
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += a[row * n + i] * b[i * n + column];
  c[row * n + column] = sum;
}

int main() {
  const int n = 128;
  float *a, *b, *c;
  cudaMalloc(&a, n * n * 4), cudaMalloc(&b, n * n * 4), cudaMalloc(&c, n * n * 4);
  cudaMemset(a, 0, n * n * 4), cudaMemset(b, 0, n * n * 4);
  for (int i = 0; i < 4; ++i) multiply<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
  cudaFree(a), cudaFree(b), cudaFree(c);
}
