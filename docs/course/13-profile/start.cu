// SPDX-License-Identifier: Apache-2.0
// Lab 13: a transposition whose profile shows that it reads shared memory 32 times as often as it must.
#include <cstdio>
#include <vector>

constexpr int tile = 32, lines = 8;  // a block has tile x lines threads; each moves tile / lines numbers

// to (columns x rows) = from (rows x columns), transposed; both row-major. gridDim covers `from`.
__global__ void transpose(const float* from, float* to, int rows, int columns) {
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * tile, column = blockIdx.x * tile;
  // YOUR PART: a warp's request to read shared memory takes 32 wavefronts, one after the other.
  __shared__ float part[tile][tile];
  for (int i = y; i < tile; i += lines)
    if (row + i < rows && column + x < columns) part[i][x] = from[(row + i) * columns + column + x];
  __syncthreads();
  for (int i = y; i < tile; i += lines)
    if (column + i < columns && row + x < rows) to[(column + i) * rows + row + x] = part[x][i];
}

int main() {
  const int rows = 50, columns = 70;
  std::vector<float> host(rows * columns), back(rows * columns);
  for (int i = 0; i < rows * columns; ++i) host[i] = i;
  float *from, *to;
  cudaMalloc(&from, host.size() * 4), cudaMalloc(&to, host.size() * 4);
  cudaMemcpy(from, host.data(), host.size() * 4, cudaMemcpyHostToDevice);
  transpose<<<dim3((columns + tile - 1) / tile, (rows + tile - 1) / tile), dim3(tile, lines)>>>(
      from, to, rows, columns);
  cudaMemcpy(back.data(), to, host.size() * 4, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  int wrong = 0;
  for (int i = 0; i < rows * columns; ++i) wrong += back[i % columns * rows + i / columns] != host[i];
  std::printf("%d of %d numbers are wrong\n", wrong, rows * columns);
  return wrong != 0;
}
