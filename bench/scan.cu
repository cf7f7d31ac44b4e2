// SPDX-License-Identifier: Apache-2.0
// Sums before each of 2^18 numbers, in blocks of 256 (Kogge and Stone, two buffers).
__global__ void scan(const float* from, float* to) {
  __shared__ float sums[2][256];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  int now = 0;
  sums[0][t] = from[i];
  for (int by = 1; by < 256; by *= 2) {
    __syncthreads();
    sums[1 - now][t] = sums[now][t] + (t >= by ? sums[now][t - by] : 0);
    now = 1 - now;
  }
  to[i] = sums[now][t];
}

int main() {
  const int n = 1 << 18;
  float *from, *to;
  cudaMalloc(&from, n * 4), cudaMalloc(&to, n * 4);
  cudaMemset(from, 0, n * 4);
  for (int i = 0; i < 4; ++i) scan<<<n / 256, 256>>>(from, to);
  cudaFree(from), cudaFree(to);
}
