// SPDX-License-Identifier: Apache-2.0
// Needs its definitions, its include directory, its other source and its argument.
#include <fill.hpp>
#include <string>

__global__ void reversed(const int* from, int* to) { to[threadIdx.x] = from[THREADS - 1 - threadIdx.x]; }

int main(int count, char** words) {
  if (count != 2 || words[1] != std::string("an_argument") || GREETING != std::string("two words")) return 1;
  int numbers[THREADS], *from, *to;
  fill(numbers, THREADS);
  cudaMalloc(&from, sizeof numbers), cudaMalloc(&to, sizeof numbers);
  cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  reversed<<<1, THREADS>>>(from, to);
  cudaMemcpy(numbers, to, sizeof numbers, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  return numbers[0] == THREADS - 1 ? 0 : 1;
}
