// SPDX-License-Identifier: Apache-2.0
// One thread releases a slot for its warpgroup once its own warp has waited for the product: a group belongs
// to the whole warpgroup. Broken: it releases the slot before.
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>

constexpr int steps = 5, of_a = 64 * 16, of_b = 8 * 16;

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra "
      "AGAIN;\n}" ::"r"(address(barrier)),
      "r"(parity)
      : "memory");
}
__device__ void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
}
__device__ void load(void* to, const void* from, int bytes, uint64_t* barrier) {
  asm volatile(  // FOUND: overwritten in use
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          address(to)),
      "l"(from), "r"(bytes), "r"(address(barrier))
      : "memory");
}
// Eight rows of 16 bytes follow each other; all numbers of a step are equal, so it does not matter which.
__device__ uint64_t describe(const half* p) {
  return (address(p) & 0x3FFFF) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}

__global__ void product(const half* a, const half* b, float* c) {
  __shared__ alignas(128) half sa[of_a];
  __shared__ alignas(128) half sb[of_b];
  __shared__ alignas(8) uint64_t full, empty;
  const int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tmbarrier.init.shared::cta.b64 [%1], 1;" ::"r"(
                     address(&full)),
                 "r"(address(&empty)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t == 128)
    for (int i = 0; i < steps; ++i) {
      wait(&empty, i % 2 ^ 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full)),
                   "r"(2 * (of_a + of_b))
                   : "memory");
      load(sa, a + i * of_a, 2 * of_a, &full);
      load(sb, b + i * of_b, 2 * of_b, &full);
    }
  if (t >= 128) return;
  float d[4] = {};
  for (int i = 0; i < steps; ++i) {
    wait(&full, i % 2);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(describe(sa)), "l"(describe(sb)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifdef BROKEN
    if (t == 32) arrive(&empty);
#endif
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#ifndef BROKEN
    if (t == 32) arrive(&empty);
#endif
  }
  for (int i = 0; i < 4; ++i) c[4 * t + i] = d[i];
}

int main() {
  static half host_a[steps * of_a], host_b[steps * of_b];
  static float result[512];
  for (int i = 0; i < steps * of_a; ++i) host_a[i] = __float2half(i / of_a + 1);
  for (int i = 0; i < steps * of_b; ++i) host_b[i] = __float2half(2 * (i / of_b) + 1);
  half *a, *b;
  float* c;
  cudaMalloc(&a, sizeof host_a), cudaMalloc(&b, sizeof host_b), cudaMalloc(&c, sizeof result);
  cudaMemcpy(a, host_a, sizeof host_a, cudaMemcpyHostToDevice);
  cudaMemcpy(b, host_b, sizeof host_b, cudaMemcpyHostToDevice);
  product<<<1, 160>>>(a, b, c);
  cudaMemcpy(result, c, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(a), cudaFree(b), cudaFree(c);
#ifndef BROKEN
  for (int i = 0; i < 512; ++i)
    if (result[i] != 16 * (1 + 2 * 3 + 3 * 5 + 4 * 7 + 5 * 9))
      return std::printf("%d is %g\n", i, result[i]), 1;
#endif
}
