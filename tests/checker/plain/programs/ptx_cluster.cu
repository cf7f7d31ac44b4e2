// SPDX-License-Identifier: Apache-2.0
// Two blocks of a cluster exchange their halves through distributed shared memory, then signal each other by
// an mbarrier. Broken: a block does not wait until the other has started.
#include <cstdint>
#include <cstdio>

constexpr int half = 64;

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ uint32_t rank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__global__ void __cluster_dims__(2, 1, 1) exchange(const int* from, int* to) {
  __shared__ int got[half];
  __shared__ int sum[half];
  __shared__ alignas(8) uint64_t told;
  const int t = threadIdx.x, mine = rank(), first = blockIdx.x * half;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&told)), "r"(half));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  sum[t] = from[first + t];
#ifdef BROKEN
  __syncthreads();
#else
  cluster_sync();
#endif
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address(&got[t])), "r"(mine ^ 1));
  asm volatile(  // FOUND: access outside memory
      "st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(from[first + t])
      : "memory");
  asm volatile(
      "{.reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; "
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];}" ::"r"(address(&told)),
      "r"(mine ^ 1)
      : "memory");
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], "
      "0;\n@!done bra WAIT;\n}" ::"r"(address(&told))
      : "memory");
  int other;
  asm volatile("{.reg .u64 a; mapa.u64 a, %1, %2; ld.u32 %0, [a];}"
               : "=r"(other)
               : "l"(&sum[half - 1 - t]), "r"(mine ^ 1)
               : "memory");
  to[first + t] = got[half - 1 - t] + other;
  cluster_sync();  // no thread ends while the other reads
}

int main() {
  int numbers[4 * half], *from, *to;
  for (int i = 0; i < 4 * half; ++i) numbers[i] = i;
  cudaMalloc(&from, sizeof numbers), cudaMalloc(&to, sizeof numbers);
  cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  exchange<<<4, half>>>(from, to);
  cudaMemcpy(numbers, to, sizeof numbers, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < 4 * half; ++i)
    if (numbers[i] != 2 * ((i / half ^ 1) * half + half - 1 - i % half)) {
      std::printf("%d is %d\n", i, numbers[i]);
      return 1;
    }
}
