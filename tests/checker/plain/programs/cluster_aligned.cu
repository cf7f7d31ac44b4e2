// SPDX-License-Identifier: Apache-2.0
// The cluster's barrier at two places of one warp: by cooperative groups, whose instruction any lane may
// execute. Broken: by the aligned form, which all lanes of a warp execute together.
#include <cooperative_groups.h>

#include <cstdio>

namespace cg = cooperative_groups;

__device__ void meet() {
#ifdef BROKEN
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#else
  cg::this_cluster().sync();
#endif
}

__global__ void __cluster_dims__(2) swapped(const int* from, int* to) {
  __shared__ int got[32];
  const int t = threadIdx.x;
  const auto cluster = cg::this_cluster();
  int* const there = cluster.map_shared_rank(got, cluster.block_rank() ^ 1);
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  there[t] = from[blockIdx.x * 32 + t];
  if (t % 2 == 0) {
#ifdef BROKEN
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#else
    cg::this_cluster().sync();
#endif
  } else {
    meet();  // FOUND SOMEWHERE: divergent barrier
  }
  to[blockIdx.x * 32 + t] = got[t];
  cluster.sync();
}

int main() {
  int host[64], *from, *to;
  for (int i = 0; i < 64; ++i) host[i] = i;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof host);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  swapped<<<2, 32>>>(from, to);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < 64; ++i)
    if (host[i] != (i + 32) % 64) return std::printf("%d is %d\n", i, host[i]), 1;
}
