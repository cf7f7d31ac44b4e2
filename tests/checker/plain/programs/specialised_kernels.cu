// SPDX-License-Identifier: Apache-2.0
// Specialisations: one of a kernel that alone has clusters, and one that nothing calls and that may hold what
// is not supported here. Broken: blocks of the cluster do not wait for each other.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;
constexpr int threads = 32, blocks = 4;

template <class T, class F> __device__ T converted(F v) { return T(v); }
template <> __device__ double converted(float v) {
  double to;
  asm("a.misprint.f64.f32 %0, %1;" : "=d"(to) : "f"(v));
  return to;
}
template <> __device__ float converted(double v) { return float(v) + 1; }

template <int kind> __global__ void number(int* to) {
  to[blockIdx.x * threads + threadIdx.x] = cg::this_cluster().num_blocks() + kind;
}
template <> __global__ void __cluster_dims__(2, 1, 1) number<2>(int* to) {
  __shared__ int mine[threads];
  auto cluster = cg::this_cluster();
  mine[threadIdx.x] = cluster.num_blocks();
#ifndef BROKEN
  cluster.sync();
#endif
  const int* const there = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
  to[blockIdx.x * threads + threadIdx.x] =
      there[threadIdx.x];  // FOUND: race or uninitialised memory read or access outside memory
  cluster.sync();
}
__global__ void convert(float* to) { to[0] = converted<float>(1.0); }

int main() {
  int *to, got[blocks * threads];
  cudaMalloc(&to, sizeof got);
  number<7><<<blocks, threads>>>(to);
  cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
  for (const int g : got)
    if (g != 8) return 1;
  number<2><<<blocks, threads>>>(to);
  cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
  for (const int g : got)
    if (g != 2) return 2;
  float sum;
  convert<<<1, 1>>>(reinterpret_cast<float*>(to));
  cudaMemcpy(&sum, to, sizeof sum, cudaMemcpyDeviceToHost);
  cudaFree(to);
  return sum != 2;
}
