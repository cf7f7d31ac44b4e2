// SPDX-License-Identifier: Apache-2.0
// A ring of two slots in CUTLASS's style: bulk copies that complete at mbarriers, waits as loops of PTX, a
// bulk store. Broken: the slot is loaded again before all have read it.
#include <cstdint>
#include <cstdio>

constexpr int tile = 64, tiles = 5, slots = 2;

struct barrier {
  uint64_t word;
  __device__ unsigned address() const { return static_cast<unsigned>(__cvta_generic_to_shared(&word)); }
  __device__ void init(int parties) {
    asm volatile("mbarrier.init.shared::cta.b64 [%1], %0; \n" : : "r"(parties), "r"(address()));
  }
  __device__ void wait(unsigned parity) const {
    asm volatile(
        "{                                                  \n"
        ".reg .pred       P1;                               \n"
        "LAB_WAIT:                                          \n"
        "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1; \n"
        "@P1 bra DONE;                                      \n"
        "bra     LAB_WAIT;                                  \n"
        "DONE:                                              \n"
        "}"
        :
        : "r"(address()), "r"(parity));
  }
  __device__ bool ended(unsigned parity) const {
    unsigned yes;
    asm volatile(
        "{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}"
        : "=r"(yes)
        : "r"(address()), "r"(parity));
    return yes != 0;
  }
  __device__ void arrive() {
    asm volatile("{.reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0];}" ::"r"(address())
                 : "memory");
  }
  __device__ void expect(unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%1], %0; \n" : : "r"(bytes), "r"(address()));
  }
};

__device__ void load(void* to, const void* from, unsigned bytes, barrier& at) {
  asm volatile(  // FOUND: overwritten in use
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n"
      :
      : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes), "r"(at.address())
      : "memory");
}

__global__ void doubled(const int* from, int* to) {
  __shared__ alignas(128) int slot[slots][tile];
  __shared__ alignas(128) int out[tile];
  __shared__ barrier full[slots], empty[slots];
  const int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < slots; ++i) full[i].init(1), empty[i].init(tile);
    asm volatile("fence.mbarrier_init.release.cluster; \n" ::);
  }
  __syncthreads();
  if (t >= tile) {
    for (int i = 0; t == tile && i < tiles; ++i) {
#ifndef BROKEN
      while (!empty[i % slots].ended(i / slots % 2 ^ 1)) {
      }
#endif
      full[i % slots].expect(sizeof slot[0]);
      load(slot[i % slots], from + i * tile, sizeof slot[0], full[i % slots]);
    }
    return;
  }
  for (int i = 0; i < tiles; ++i) {
    full[i % slots].wait(i / slots % 2);
    out[t] = slot[i % slots][t] * 2;
    empty[i % slots].arrive();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync 1, %0;" ::"n"(tile) : "memory");
    if (t == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + i * tile),
                   "r"(static_cast<unsigned>(__cvta_generic_to_shared(out))),
                   "r"(static_cast<unsigned>(sizeof out))
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;");
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(0) : "memory");
    }
    asm volatile("bar.sync 1, %0;" ::"n"(tile) : "memory");
  }
  if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Warp 2 writes a word that warp 1 has read: between the two are an arrival, a copy that waits for it, and a
// wait for the copy.
__global__ void handed_on(const int* from, int* to) {
  __shared__ alignas(128) int slot[tile];
  __shared__ int word;
  __shared__ barrier read, full;
  const int t = threadIdx.x;
  if (t == 0) {
    read.init(32), full.init(1), word = 5;
    asm volatile("fence.mbarrier_init.release.cluster; \n" ::);
    full.expect(sizeof slot);
  }
  __syncthreads();
  if (t == 0) {
    read.wait(0);
    load(slot, from, sizeof slot, full);
  } else if (t / 32 == 1) {
    to[t - 32] = word;
    read.arrive();
  } else if (t / 32 == 2) {
    full.wait(0);
    if (t == 64) word = slot[0];
  }
}

int main() {
  int host[tile * tiles], result[tile * tiles], *from, *to;
  for (int i = 0; i < tile * tiles; ++i) host[i] = 7 * i + 3;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof host);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  doubled<<<1, tile + 32>>>(from, to);
  cudaMemcpy(result, to, sizeof host, cudaMemcpyDeviceToHost);
  handed_on<<<1, 96>>>(from, to);
  cudaDeviceSynchronize();
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < tile * tiles; ++i)
    if (result[i] != 2 * host[i]) return std::printf("%d is %d\n", i, result[i]), 1;
}
