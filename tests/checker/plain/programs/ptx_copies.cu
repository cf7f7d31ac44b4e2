// SPDX-License-Identifier: Apache-2.0
// Tiles by cp.async into two slots, the last one partial: the source size zero-fills the rest. Broken: it
// waits for one group too few.
#include <cstdio>

constexpr int tile = 64, size = 3 * tile - 20;

__device__ __forceinline__ unsigned shared_address(const void* p) {
  unsigned address;
  asm("{\n\t.reg .u64 wide;\n\tcvta.to.shared.u64 wide, %1;\n\tcvt.u32.u64 %0, wide;\n\t}\n"
      : "=r"(address)
      : "l"(p));
  return address;
}
template <int Bytes> __device__ void copy(void* to, const void* from, int from_source) {
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2, %3;\n" ::"r"(shared_address(to)),
                 "l"(from), "n"(Bytes), "r"(from_source));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(shared_address(to)), "l"(from),
                 "n"(Bytes), "r"(from_source));
}
template <int Left> __device__ void wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(Left) : "memory");
}

__global__ void reversed(const int* from, int* to) {
  __shared__ __align__(16) int slot[2][tile];
  const int t = threadIdx.x;
  const auto load = [&](int i) {
    const int first = i * tile + t;
    if (i == 0 && t < tile / 4) copy<16>(&slot[0][4 * t], from + 4 * t, 16);
    if (i > 0 && i < 3) copy<4>(&slot[i % 2][t], first < size ? from + first : from, first < size ? 4 : 0);
    asm volatile("cp.async.commit_group;\n" ::);
  };
  load(0);
  for (int i = 0; i < 3; ++i) {
    load(i + 1);
#ifdef BROKEN
    wait<2>();
#else
    wait<1>();
#endif
    __syncthreads();
    to[i * tile + t] = slot[i % 2][tile - 1 - t];  // FOUND: read before landing
    __syncthreads();
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
}

int main() {
  int host[size], result[3 * tile], *from, *to;
  for (int i = 0; i < size; ++i) host[i] = i * i + 1;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof result);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  reversed<<<1, tile>>>(from, to);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < 3 * tile; ++i) {
    const int source = i / tile * tile + tile - 1 - i % tile;
    if (result[i] != (source < size ? host[source] : 0)) return std::printf("%d is %d\n", i, result[i]), 1;
  }
}
