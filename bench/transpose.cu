// SPDX-License-Identifier: Apache-2.0
// The transpose of a matrix of 512 x 512, by padded tiles of shared memory.
__global__ void transpose(const float* from, float* to, int n) {
  __shared__ float tile[32][33];
  const int x = threadIdx.x, y = threadIdx.y;
  for (int i = 0; i < 32; i += 8) tile[y + i][x] = from[(blockIdx.y * 32 + y + i) * n + blockIdx.x * 32 + x];
  __syncthreads();
  for (int i = 0; i < 32; i += 8) to[(blockIdx.x * 32 + y + i) * n + blockIdx.y * 32 + x] = tile[x][y + i];
}

int main() {
  const int n = 512;
  float *from, *to;
  cudaMalloc(&from, n * n * 4), cudaMalloc(&to, n * n * 4);
  cudaMemset(from, 0, n * n * 4);
  for (int i = 0; i < 4; ++i) transpose<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(from, to, n);
  cudaFree(from), cudaFree(to);
}
