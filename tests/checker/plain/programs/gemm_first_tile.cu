// SPDX-License-Identifier: Apache-2.0
// A product with two buffers of a matrix that is no multiple of the tile; broken: the first tile is loaded
// without bounds checks, as in a textbook.
constexpr int T = 8, N = 21;

__global__ void product(const float* a, const float* b, float* c) {
  __shared__ float as[2][T][T], bs[2][T][T];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
  auto load = [&](int tile) {
    const int k = tile * T;
    as[tile % 2][y][x] = row < N && k + x < N ? a[row * N + k + x] : 0;
    bs[tile % 2][y][x] = k + y < N && column < N ? b[(k + y) * N + column] : 0;
  };
  float sum = 0;
#ifdef BROKEN
  as[0][y][x] = a[row * N + x];  // FOUND: access outside memory
  bs[0][y][x] = b[y * N + column];
#else
  load(0);
#endif
  __syncthreads();
  for (int tile = 0; tile * T < N; ++tile) {
    if ((tile + 1) * T < N) load(tile + 1);
    for (int k = 0; k < T; ++k) sum += as[tile % 2][y][k] * bs[tile % 2][k][x];
    __syncthreads();
  }
  if (row < N && column < N) c[row * N + column] = sum;
}

int main() {
  static float a[N * N], b[N * N], c[N * N];
  for (int i = 0; i < N * N; ++i) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
  float *da, *db, *dc;
  cudaMalloc(&da, sizeof a), cudaMalloc(&db, sizeof b), cudaMalloc(&dc, sizeof c);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice), cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  product<<<dim3((N + T - 1) / T, (N + T - 1) / T), dim3(T, T)>>>(da, db, dc);
  cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
  cudaFree(da), cudaFree(db), cudaFree(dc);
  for (int i = 0; i < N * N; ++i) {
    float sum = 0;
    for (int k = 0; k < N; ++k) sum += a[i / N * N + k] * b[k * N + i % N];
    if (sum != c[i]) return 1;
  }
}
