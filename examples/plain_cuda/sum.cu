// SPDX-License-Identifier: Apache-2.0
// Sums of 64 numbers per block. One line is missing; the program prints the right sum on most GPUs.
#include <cstdio>

__global__ void sum(const int* from, int* to) {
  __shared__ int part[64];
  const int t = threadIdx.x;
  part[t] = from[blockIdx.x * 64 + t];
  for (int half = 32; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) part[t] += part[t + half];
  }
  if (t == 63) to[blockIdx.x] = part[0];
}

int main() {
  int numbers[128], sums[2], *from, *to;
  for (int i = 0; i < 128; ++i) numbers[i] = i;
  cudaMalloc(&from, sizeof numbers), cudaMalloc(&to, sizeof sums);
  cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  sum<<<2, 64>>>(from, to);
  cudaMemcpy(sums, to, sizeof sums, cudaMemcpyDeviceToHost);
  std::printf("%d\n", sums[0] + sums[1]);
  cudaFree(from), cudaFree(to);
}
