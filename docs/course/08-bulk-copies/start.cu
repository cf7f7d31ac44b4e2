// SPDX-License-Identifier: Apache-2.0
// Lab 8: tiles come and go by bulk copies of the copy engine (TMA, sm_90).
#include <cstdio>
#include <vector>

struct mbarrier {
  unsigned long long word;
  __device__ unsigned address() { return static_cast<unsigned>(__cvta_generic_to_shared(&word)); }
  // A phase ends when so many have arrived, and the bytes that were announced have landed.
  __device__ void init(int parties) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(parties) : "memory");
  }
  // Arrives, and announces bytes of bulk copies.
  __device__ void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
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
// The initialisation of mbarriers becomes known to the copy engine.
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Copies of 16 bytes or a multiple, aligned to 16, by the copy engine. One thread starts them.
__device__ void bulk_load(void* to, const void* from, int bytes, mbarrier& full) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(bytes), "r"(full.address())
      : "memory");
}
__device__ void bulk_store(void* to, const void* from, int bytes) {  // and ends a group of stores
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until the slots of all of the thread's stores except the last `groups` have been read.
template <int groups> __device__ void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
}
__device__ void wait_until_stored() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// The copy engine reads after it what threads wrote to shared memory before it.
__device__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

constexpr int stages = 4, tile = 64;  // slots; numbers in each, and threads

// to[i] = 2 * from[i] + 1 for n numbers, n a multiple of 4. One block.
__global__ void twice(const int* from, int* to, int n) {
  __shared__ alignas(128) int slot[stages][tile];
  __shared__ mbarrier full[stages];
  const int t = threadIdx.x, tiles = (n + tile - 1) / tile;
  if (t == 0) {
    for (int s = 0; s < stages; ++s) full[s].init(1);
    fence_init();
  }
  __syncthreads();
  // YOUR PART: here threads load and store each number themselves. Let thread 0 move whole tiles: it
  // announces the bytes at full[s] and starts a bulk_load, stages - 1 tiles ahead. All wait for full[s],
  // double the numbers where they lie, and fence. Thread 0 starts the bulk_store, and loads into a slot
  // again only when the store from it has been read.
  for (int i = 0; i < tiles; ++i) {
    const int s = i % stages;
    const bool in = i * tile + t < n;
    if (in) slot[s][t] = from[i * tile + t];
    if (in) slot[s][t] = 2 * slot[s][t] + 1;
    if (in) to[i * tile + t] = slot[s][t];
  }
}

int main() {
  const int n = 1000;
  std::vector<int> host(n, 1);
  int *from, *to;
  cudaMalloc(&from, n * sizeof(int)), cudaMalloc(&to, n * sizeof(int));
  cudaMemcpy(from, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  twice<<<1, tile>>>(from, to, n);
  cudaMemcpy(host.data(), to, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  int wrong = 0;
  for (const int h : host) wrong += h != 3;
  std::printf("%d of %d numbers are wrong\n", wrong, n);
  return wrong != 0;
}
