// SPDX-License-Identifier: Apache-2.0
// Lab 2: the scan with two buffers, one barrier a step.
#include <cstdio>

constexpr int most = 256;  // threads

// to[i] = from[0] + ... + from[i], for n numbers. One block of n threads or more.
__global__ void scan(const int* from, int* to, int n) {
  __shared__ int x[2][most];
  const int t = threadIdx.x;
  x[0][t] = t < n ? from[t] : 0;
  __syncthreads();
  int in = 0;
  for (int stride = 1; stride < blockDim.x; stride *= 2) {
    x[1 - in][t] = t >= stride ? x[in][t] + x[in][t - stride] : x[in][t];
    in = 1 - in;
    __syncthreads();
  }
  if (t < n) to[t] = x[in][t];
}

int main() {
  constexpr int n = 100;
  int host[n], *from, *to;
  for (int i = 0; i < n; ++i) host[i] = i % 7;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof host);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  scan<<<1, 128>>>(from, to, n);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  int wrong = 0, sum = 0;
  for (int i = 0; i < n; ++i) wrong += host[i] != (sum += i % 7);
  std::printf("%d of %d sums are wrong\n", wrong, n);
  return wrong != 0;
}
