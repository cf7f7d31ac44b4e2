// SPDX-License-Identifier: Apache-2.0
// Two blocks of a cluster load a half each for both; slots are released by arrivals at both mbarriers,
// as in CUTLASS. Broken: the mbarriers' initialisation is not made visible to the cluster.
#include <cstdint>

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void arrive_at(uint64_t* b, uint32_t cta, uint32_t pred) {
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      ".reg .b32 remAddr32;\n\t"
      "setp.eq.u32 p, %2, 1;\n\t"
      "@p mapa.shared::cluster.u32  remAddr32, %0, %1;\n\t"
      "@p mbarrier.arrive.shared::cluster.b64  _, [remAddr32];\n\t"
      "}"
      :
      : "r"(address(b)), "r"(cta), "r"(pred));
}
__global__ void __cluster_dims__(2, 1, 1) halves(const int* from, int* to) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) uint64_t full, empty;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank) :);
  float f = 1;
  asm volatile("" : "+f"(f)::"memory");
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&full)), "r"(1));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&empty)), "r"(2));
#ifndef BROKEN
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\n" ::);
  asm volatile("barrier.cluster.wait.aligned;\n" ::);
  for (int i = 0; i < 3; ++i) {
    if (threadIdx.x == 0) {
      asm volatile(
          "{\n.reg .pred P;\nL:\nmbarrier.try_wait.parity.shared::cta.b64 P, [%0], %1, %2;\n@P bra D;\nbra "
          "L;\nD:\n}" ::"r"(address(&empty)),
          "r"(i % 2 ^ 1), "r"(0x989680));
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full)), "r"(256)
                   : "memory");
      // FOUND SOMEWHERE: race
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_"
          "hint [%0], [%1], %2, [%3], %4, "
          "%5;" ::"r"(address(tile + 32 * rank)),
          "l"(from + 64 * i + 32 * rank), "r"(128), "r"(address(&full)), "h"((uint16_t)3), "l"(0ull)
          : "memory");
    }
    asm volatile(
        "{\n.reg .pred P;\nL:\nmbarrier.try_wait.parity.shared::cta.b64 P, [%0], %1;\n@P bra D;\nbra "
        "L;\nD:\n}" ::"r"(address(&full)),
        "r"(i % 2));
    to[rank * 192 + i * 64 + threadIdx.x] = tile[threadIdx.x] * (int)f;
    __syncthreads();
    arrive_at(&empty, threadIdx.x, threadIdx.x < 2);
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::
                   : "memory");
}
int main() {
  int h[384], *a, *b;
  for (int i = 0; i < 384; ++i) h[i] = i;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  halves<<<2, 64>>>(a, b);
  cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  for (int i = 0; i < 384; ++i)
    if (h[i] != i % 192) return 1;
}
