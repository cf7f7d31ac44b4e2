// SPDX-License-Identifier: Apache-2.0
// Lab 7: one warp loads, two compute, and mbarriers say which slot is full and which is empty.
#include <cuda_pipeline.h>

#include <cstdio>
#include <vector>

struct mbarrier {
  unsigned long long word;
  __device__ unsigned address() { return static_cast<unsigned>(__cvta_generic_to_shared(&word)); }
  // A phase ends when so many have arrived, and the bytes that were announced have landed.
  __device__ void init(int parties) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(parties) : "memory");
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  // Arrives once the thread's copies so far have landed; does not wait for that.
  __device__ void arrive_with_copies() {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address()) : "memory");
  }
  // Until the phase of that parity has ended: 0 is the first, 1 the second, 0 the third. A new barrier counts
  // as one whose phase of parity 1 has ended.
  __device__ void wait(int parity) {
    unsigned ended = 0;
    while (ended == 0)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(ended)
                   : "r"(address()), "r"(parity)
                   : "memory");
  }
};

constexpr int stages = 3, tile = 64;   // slots; numbers in each
constexpr int block_size = 32 + tile;  // the first warp loads

// to[t] = from[t] + from[tile + t] + from[2 * tile + t] + ... of n numbers. One block.
__global__ void sums(const int* from, int* to, int n) {
  __shared__ int slot[stages][tile];
  __shared__ mbarrier full[stages], empty[stages];
  if (threadIdx.x == 0)
    for (int s = 0; s < stages; ++s) full[s].init(32), empty[s].init(tile);
  __syncthreads();
  const int tiles = (n + tile - 1) / tile;
  if (threadIdx.x < 32) {  // loads
    for (int i = 0; i < tiles; ++i) {
      const int s = i % stages;
      empty[s].wait(i / stages % 2 ^ 1);
      for (int x = threadIdx.x; x < tile; x += 32) {
        const bool in = i * tile + x < n;
        __pipeline_memcpy_async(&slot[s][x], in ? &from[i * tile + x] : from, 4, in ? 0 : 4);
      }
      full[s].arrive_with_copies();
    }
  } else {  // compute
    const int t = threadIdx.x - 32;
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
      const int s = i % stages;
      full[s].wait(i / stages % 2);
      sum += slot[s][t];
      empty[s].arrive();
    }
    to[t] = sum;
  }
}

int main() {
  const int n = 1000;
  std::vector<int> host(n, 1);
  int result[tile], *from, *to;
  cudaMalloc(&from, n * sizeof(int)), cudaMalloc(&to, sizeof result);
  cudaMemcpy(from, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  sums<<<1, block_size>>>(from, to, n);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  int all = 0;
  for (const int r : result) all += r;
  std::printf("%d numbers were added up, of %d\n", all, n);
  return all != n;
}
