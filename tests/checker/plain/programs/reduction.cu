// SPDX-License-Identifier: Apache-2.0
// A tree reduction in dynamic shared memory; broken: no barrier between the steps.
#include <vector>

__global__ void sum(const int* from, int* to, int n) {
  extern __shared__ int part[];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? from[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];  // FOUND: race
#ifndef BROKEN
    __syncthreads();
#endif
  }
  if (t == 0) to[blockIdx.x] = part[0];
}

int main() {
  const int n = 500, threads = 128, blocks = (n + threads - 1) / threads;
  std::vector<int> h(n), parts(blocks);
  for (int i = 0; i < n; ++i) h[i] = i;
  int *from, *to;
  cudaMalloc(&from, n * sizeof(int));
  cudaMalloc(&to, blocks * sizeof(int));
  cudaMemcpy(from, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sum<<<blocks, threads, threads * sizeof(int)>>>(from, to, n);
  cudaMemcpy(parts.data(), to, blocks * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(from);
  cudaFree(to);
#ifndef BROKEN
  int all = 0;
  for (int p : parts) all += p;
  if (all != n * (n - 1) / 2) return 1;
#endif
}
