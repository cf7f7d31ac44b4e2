// SPDX-License-Identifier: Apache-2.0
// Kernels with known counts. After each line: the access, requests, active lanes in all, and wavefronts or
// sectors of how many at least. evaluation/count_on_gpu.py compares them with what a GPU counts.
#include <cuda_runtime.h>

__global__ void stride_1(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = x[t];  // shared write 1 x 32: 1 of 1; global read 1 x 32: 4 of 4
  __syncthreads();
  y[t] = s[31 - t];  // shared read 1 x 32: 1 of 1; global write 1 x 32: 4 of 4
}

__global__ void stride_2(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[2 * t] = x[2 * t];  // shared write 1 x 32: 2 of 1; global read 1 x 32: 8 of 4
  __syncthreads();
  y[2 * t] = s[62 - 2 * t];  // shared read 1 x 32: 2 of 1; global write 1 x 32: 8 of 4
}

__global__ void stride_32(const float* x, float* y) {
  __shared__ float s[1024];
  const int t = threadIdx.x;
  s[32 * t] = x[32 * t];  // shared write 1 x 32: 32 of 1; global read 1 x 32: 32 of 4
  __syncthreads();
  y[32 * t] = s[992 - 32 * t];  // shared read 1 x 32: 32 of 1; global write 1 x 32: 32 of 4
}

__global__ void transpose(const float* x, float* y) {
  __shared__ float tile[32][32];
  const int c = threadIdx.x, r = threadIdx.y;
  tile[r][c] = x[32 * r + c];  // shared write 32 x 1024: 32 of 32; global read 32 x 1024: 128 of 128
  __syncthreads();
  y[32 * r + c] = tile[c][r];  // shared read 32 x 1024: 1024 of 32; global write 32 x 1024: 128 of 128
}

__global__ void transpose_padded(const float* x, float* y) {
  __shared__ float tile[32][33];
  const int c = threadIdx.x, r = threadIdx.y;
  tile[r][c] = x[32 * r + c];  // shared write 32 x 1024: 32 of 32; global read 32 x 1024: 128 of 128
  __syncthreads();
  y[32 * r + c] = tile[c][r];  // shared read 32 x 1024: 32 of 32; global write 32 x 1024: 128 of 128
}

__global__ void vectors(const float4* x, float4* y) {
  __shared__ float4 s[64];
  const int t = threadIdx.x;
  float4 v = x[t];  // global read 1 x 32: 16 of 16
  v.x += v.w;
  s[t] = v;  // shared write 1 x 32: 4 of 4
  __syncthreads();
  v = s[31 - t];  // shared read 1 x 32: 4 of 4
  y[t] = v;       // global write 1 x 32: 16 of 16
  __syncthreads();
  s[2 * t] = v;  // shared write 1 x 32: 8 of 4
  __syncthreads();
  y[t + 32] = s[t / 2 * 2];  // shared read 1 x 32: 4 of 2; global write 1 x 32: 16 of 16
}

__global__ void doubles(const double* x, double* y) {
  __shared__ double s[64];
  const int t = threadIdx.x;
  s[t] = x[t];  // shared write 1 x 32: 2 of 2; global read 1 x 32: 8 of 8
  __syncthreads();
  y[t] = s[31 - t];  // shared read 1 x 32: 2 of 2; global write 1 x 32: 8 of 8
  __syncthreads();
  s[2 * t] = x[t + 32];  // shared write 1 x 32: 4 of 2; global read 1 x 32: 8 of 8
  __syncthreads();
  y[t + 32] = s[62 - 2 * t];  // shared read 1 x 32: 4 of 2; global write 1 x 32: 8 of 8
}

__global__ void broadcast(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = x[7];  // shared write 1 x 32: 1 of 1; global read 1 x 32: 1 of 1
  __syncthreads();
  const float all = s[3];        // shared read 1 x 32: 1 of 1
  const float some = s[t / 16];  // shared read 1 x 32: 1 of 1
  y[t] = all + some;             // global write 1 x 32: 4 of 4
}

__global__ void misaligned(const float* x, float* y) {
  const int t = threadIdx.x;
  y[t + 3] = x[t + 1];  // global read 1 x 32: 5 of 4; global write 1 x 32: 5 of 4
}

__global__ void narrow(const unsigned char* x, unsigned char* y) {
  __shared__ unsigned char s[32];
  const int t = threadIdx.x;
  s[t] = x[t];  // shared write 1 x 32: 1 of 1; global read 1 x 32: 1 of 1
  __syncthreads();
  y[4 * t] = s[31 - t];  // shared read 1 x 32: 1 of 1; global write 1 x 32: 4 of 1
}

// Lanes that leave a loop early wait after it; then all go on together.
__global__ void divergent(const float* x, float* y) {
  const int t = threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int row = 0; row < 2; ++row) {
#pragma unroll 1
    for (int i = 0; i <= t % 4; ++i) sum += x[128 * row + 32 * i + t];  // global read 8 x 160: 32 of 20
    y[32 * row + t] = sum;                                              // global write 2 x 64: 8 of 8
  }
  if (t % 2 == 1) y[64 + t] = sum;  // global write 1 x 16: 4 of 2
}

int main() {
  float *x, *y;
  cudaMalloc(&x, 4096 * sizeof(float));
  cudaMalloc(&y, 4096 * sizeof(float));
  cudaMemset(x, 0, 4096 * sizeof(float));
  const dim3 square(32, 32);
  stride_1<<<1, 32>>>(x, y);
  stride_2<<<1, 32>>>(x, y);
  stride_32<<<1, 32>>>(x, y);
  transpose<<<1, square>>>(x, y);
  transpose_padded<<<1, square>>>(x, y);
  vectors<<<1, 32>>>(reinterpret_cast<float4*>(x), reinterpret_cast<float4*>(y));
  doubles<<<1, 32>>>(reinterpret_cast<double*>(x), reinterpret_cast<double*>(y));
  broadcast<<<1, 32>>>(x, y);
  misaligned<<<1, 32>>>(x, y);
  narrow<<<1, 32>>>(reinterpret_cast<unsigned char*>(x), reinterpret_cast<unsigned char*>(y));
  divergent<<<1, 32>>>(x, y);
  const bool failed = cudaDeviceSynchronize() != cudaSuccess;
  cudaFree(x);
  cudaFree(y);
  return failed ? 1 : 0;
}
