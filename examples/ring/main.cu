// SPDX-License-Identifier: Apache-2.0
// Runs the kernel and compares. With a height and a width also its speed, on a GPU.
#include "pipeline.cuh"

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char** words) {
  const int height = count > 2 ? std::atoi(words[1]) : 100,
            width = count > 2 ? std::atoi(words[2]) / 4 * 4 : 260;
  std::vector<float> matrix(size_t(height) * width), sums(width), expected(width);
  for (size_t i = 0; i < matrix.size(); ++i) expected[i % width] += matrix[i] = i * i % 101 % 7;

  float *from, *to;
  cudaMalloc(&from, matrix.size() * sizeof(float)), cudaMalloc(&to, width * sizeof(float));
  cudaMemcpy(from, matrix.data(), matrix.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  for (int run = 0; run < (count > 2 ? 2 : 1); ++run) {  // the second is warm
    cudaEventRecord(begin);
    my_kernel<<<(width + columns - 1) / columns, block_size>>>(from, to, height, width);
    cudaEventRecord(end);
  }
  cudaMemcpy(sums.data(), to, width * sizeof(float), cudaMemcpyDeviceToHost);
  float ms = 0;
  cudaEventElapsedTime(&ms, begin, end);
  cudaEventDestroy(begin), cudaEventDestroy(end);
  cudaFree(from), cudaFree(to);

  for (int x = 0; x < width; ++x)
    if (sums[x] != expected[x]) {
      std::printf("column %d: %g, expected %g (%s)\n", x, sums[x], expected[x],
                  cudaGetErrorString(cudaGetLastError()));
      return 1;
    }
  std::printf("%d x %d: right\n", height, width);
  if (count > 2) std::printf("%.3f ms, %.0f GB/s\n", ms, matrix.size() * sizeof(float) / ms / 1e6);
}
