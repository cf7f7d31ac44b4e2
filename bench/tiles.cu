// SPDX-License-Identifier: Apache-2.0
// A product of 128 x 128 by tiles of shared memory, as textbooks write it.
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float of_a[16][16], of_b[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int t = 0; t < n; t += 16) {
    of_a[y][x] = a[row * n + t + x];
    of_b[y][x] = b[(t + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += of_a[y][i] * of_b[i][x];
    __syncthreads();
  }
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
