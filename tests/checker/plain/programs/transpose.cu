// SPDX-License-Identifier: Apache-2.0
// A transposition through shared memory with a padded column; broken: the output is bounded by the input's
// rows and columns, which are exchanged.
#include <vector>
constexpr int T = 16;

__global__ void transpose(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[T][T + 1];
  int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
  if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
  __syncthreads();
  x = blockIdx.y * T + threadIdx.x;
  y = blockIdx.x * T + threadIdx.y;
#ifdef BROKEN
  if (x < columns && y < rows)
    out[y * rows + x] = tile[threadIdx.x][threadIdx.y];  // FOUND: race or uninitialised memory read
#else
  if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
#endif
}

int main() {
  const int rows = 21, columns = 35;
  std::vector<float> h(rows * columns), g(rows * columns);
  for (int i = 0; i < rows * columns; ++i) h[i] = i;
  float *in, *out;
  cudaMalloc(&in, h.size() * 4);
  cudaMalloc(&out, h.size() * 4);
  cudaMemcpy(in, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, h.size() * 4);
  transpose<<<dim3((columns + T - 1) / T, (rows + T - 1) / T), dim3(T, T)>>>(in, out, rows, columns);
  cudaMemcpy(g.data(), out, h.size() * 4, cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
#ifndef BROKEN
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      if (g[x * rows + y] != h[y * columns + x]) return 1;
#endif
}
