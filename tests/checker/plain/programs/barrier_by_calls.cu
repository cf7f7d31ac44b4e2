// SPDX-License-Identifier: Apache-2.0
// A helper with a barrier, called at two places: by one warp each. Broken: by lanes of one warp, for which it
// is two barriers.
#include <cstdio>

constexpr int threads = 64;

__device__ int sum_of_block(int* part, int v) {
  part[threadIdx.x] = v;
  __syncthreads();  // FOUND: divergent barrier
  int sum = 0;
  for (int i = 0; i < threads; ++i) sum += part[i];
  __syncthreads();
  return sum;
}

__global__ void signs(const int* from, int* to) {
  __shared__ int part[threads];
  const int t = threadIdx.x;
#ifdef BROKEN
  if (t % 2 == 0)
#else
  if (t < 32)
#endif
    to[t] = sum_of_block(part, from[t]);
  else
    to[t] = -sum_of_block(part, from[t]);
}

int main() {
  int host[threads], *from, *to;
  for (int i = 0; i < threads; ++i) host[i] = i;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof host);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  signs<<<1, threads>>>(from, to);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < threads; ++i)
    if (host[i] != (i < 32 ? 2016 : -2016)) return std::printf("%d is %d\n", i, host[i]), 1;
}
