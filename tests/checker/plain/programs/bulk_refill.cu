// SPDX-License-Identifier: Apache-2.0
// A warp reads a buffer and has the copy engine fill it again: after a proxy fence, or, as pipelines do,
// after an arrival or a barrier. Broken: after __syncwarp() alone, while loads may be in progress.
#include <cuda_runtime.h>
#include <cstdint>

__device__ unsigned shared_of(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void load(int* to, const int* from, std::uint64_t* full) {
  asm volatile(  // FOUND: missing proxy fence
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(
          shared_of(to)),
      "l"(from), "r"(shared_of(full))
      : "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(shared_of(full)) : "memory");
}
__device__ void wait(std::uint64_t* bar, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra "
      "AGAIN;\n}" ::"r"(shared_of(bar)),
      "r"(parity)
      : "memory");
}
enum class behind { fence_of_readers, fence_of_issuer, arrivals, block_barrier };

template <behind How> __global__ void sum(const int* from, int rounds, int* to) {
  __shared__ alignas(128) int tile[32];
  __shared__ std::uint64_t full, empty;
  const int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_of(&full)) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(shared_of(&empty)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  int all = 0;
  if (t == 0) load(tile, from, &full);
  for (int i = 0; i < rounds; ++i) {
    wait(&full, i % 2);
    all += tile[t] + tile[31 - t];
#ifndef BROKEN
    if (How == behind::fence_of_readers) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    if (How == behind::arrivals) {
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_of(&empty)) : "memory");
      if (t == 0) wait(&empty, i % 2);
    } else if (How == behind::block_barrier) {
      __syncthreads();
    } else {
      __syncwarp();
    }
#ifndef BROKEN
    if (How == behind::fence_of_issuer && t == 0) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    if (t == 0 && i + 1 < rounds) load(tile, from + 32 * (i + 1), &full);
  }
  to[t] = all;
}

int main() {
  int h[128], *x, *to, result[128];
  for (int i = 0; i < 128; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h), cudaMalloc(&to, sizeof result);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  sum<behind::fence_of_readers><<<1, 32>>>(x, 4, to);
  sum<behind::fence_of_issuer><<<1, 32>>>(x, 4, to + 32);
  sum<behind::arrivals><<<1, 32>>>(x, 4, to + 64);
  sum<behind::block_barrier><<<1, 32>>>(x, 4, to + 96);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(to);
  for (int i = 0; i < 128; ++i)
    if (result[i] != 4 * 31 + 2 * 32 * 6) return 1;
  return 0;
}
