// SPDX-License-Identifier: Apache-2.0
// Tiles by cp.async with a predicate to ignore sources past the matrix's end: zeros. Broken: the predicate is
// never set, and data past the end are read.
#include <cstdio>

constexpr int tile = 128, size = 2 * tile - 40;

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__global__ void reversed(const int* from, int* to) {
  __shared__ __align__(16) int slot[tile];
  __shared__ int single[tile / 4];
  const int t = threadIdx.x, first = blockIdx.x * tile + 4 * t;
#ifdef BROKEN
  const int ends = -1;
#else
  const int ends = size;
#endif
  asm volatile(
      "{\n\t.reg .pred after;\n\tsetp.ge.u32 after, %2, %3;\n\t"
      "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, after;\n\t}" ::"r"(
          shared_address(&slot[4 * t])),  // FOUND SOMEWHERE: access outside memory
      "l"(from + first), "r"(first), "r"(ends)
      : "memory");
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "{\n\t.reg .pred p, q;\n\tsetp.eq.s32 q, %2, 0;\n\tnot.pred p, q;\n\t"
      "cp.async.ca.shared::cta.global.L2::cache_hint [%0], [%1], 4, p, %3;\n\t}" ::"r"(
          shared_address(&single[t])),
      "l"(from + t), "r"(t % 2), "l"(policy)
      : "memory");
  asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int i = t; i < tile; i += tile / 4)
    to[blockIdx.x * tile + i] = slot[tile - 1 - i] + single[(t + 1) % 32];
}

int main() {
  int host[size], result[2 * tile], *from, *to;
  for (int i = 0; i < size; ++i) host[i] = i * i + 1;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof result);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  reversed<<<2, tile / 4>>>(from, to);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < 2 * tile; ++i) {
    const int source = i / tile * tile + tile - 1 - i % tile, single = (i + 1) % 32;
    if (result[i] != (source < size ? host[source] : 0) + (single % 2 == 0 ? host[single] : 0))
      return std::printf("%d is %d\n", i, result[i]), 1;
  }
}
