// SPDX-License-Identifier: Apache-2.0
// Sums by shuffles, then by the first warp; broken: no wait for the other warps' sums.
#include <vector>

__device__ __forceinline__ int warp_sum(int v) {
  for (int by = warpSize / 2; by > 0; by /= 2) v += __shfl_down_sync(0xFFFFFFFF, v, by);
  return v;
}

__global__ void sum(const int* from, int* to, int n) {
  __shared__ int of_warp[32];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  int v = t < n ? from[t] : 0;
  v = warp_sum(v);
  if (lane == 0) of_warp[warp] = v;
#ifndef BROKEN
  __syncthreads();
#endif
  if (warp == 0) {
    v = lane < blockDim.x / 32 ? of_warp[lane] : 0;  // FOUND: uninitialised memory read or race
    v = warp_sum(v);
    if (lane == 0) *to = v;
  }
}

int main() {
  const int n = 150;
  std::vector<int> h(n);
  for (int i = 0; i < n; ++i) h[i] = 3 * i;
  int *from, *to, got = 0;
  cudaMalloc(&from, n * 4);
  cudaMalloc(&to, 4);
  cudaMemcpy(from, h.data(), n * 4, cudaMemcpyHostToDevice);
  sum<<<1, 160>>>(from, to, n);
  cudaMemcpy(&got, to, 4, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
#ifndef BROKEN
  return got == 3 * n * (n - 1) / 2 ? 0 : 1;
#endif
}
