// SPDX-License-Identifier: Apache-2.0
// Lanes that exchange a number by volatile memory, once. Broken: only lockstep would make the number
// visible.
#include <cstdio>

__global__ void swapped(const int* from, int* to) {
  volatile __shared__ int s[32];
  const int lane = threadIdx.x;
  s[lane] = 0;
  __syncwarp();
  s[lane] = from[lane];  // FOUND: race
#ifndef BROKEN
  __syncwarp();
#endif
  to[lane] = s[lane ^ 1];
}

int main() {
  int host[32], *from, *to;
  for (int i = 0; i < 32; ++i) host[i] = i + 1;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof host);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  swapped<<<1, 32>>>(from, to);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
#ifndef BROKEN
  for (int i = 0; i < 32; ++i)
    if (host[i] != (i ^ 1) + 1) return std::printf("%d is %d\n", i, host[i]), 1;
#endif
}
