// SPDX-License-Identifier: Apache-2.0
// A tile is stored four numbers at a time; broken: its rows are padded by one number against bank conflicts,
// as in a textbook, and are not aligned.
#ifdef BROKEN
constexpr int pad = 1;
#else
constexpr int pad = 4;
#endif
constexpr int T = 16, N = 32;

__global__ void transpose(const float* from, float* to) {
  __shared__ float tile[T][T + pad];
  const int x = threadIdx.x % 4 * 4, y = threadIdx.x / 4;
  const int row = blockIdx.y * T + y, column = blockIdx.x * T + x;
  *reinterpret_cast<float4*>(&tile[y][x]) =  // FOUND: misaligned access
      *reinterpret_cast<const float4*>(&from[row * N + column]);
  __syncthreads();
  for (int i = 0; i < 4; ++i) to[(blockIdx.x * T + y) * N + blockIdx.y * T + x + i] = tile[x + i][y];
}

int main() {
  static float from[N * N], to[N * N];
  for (int i = 0; i < N * N; ++i) from[i] = i;
  float *a, *b;
  cudaMalloc(&a, sizeof from), cudaMalloc(&b, sizeof to);
  cudaMemcpy(a, from, sizeof from, cudaMemcpyHostToDevice);
  transpose<<<dim3(N / T, N / T), T * 4>>>(a, b);
  cudaMemcpy(to, b, sizeof to, cudaMemcpyDeviceToHost);
  cudaFree(a), cudaFree(b);
  for (int i = 0; i < N * N; ++i)
    if (to[i] != from[i % N * N + i / N]) return 1;
}
