// SPDX-License-Identifier: Apache-2.0
// Registers move from a loading warpgroup to a computing one (setmaxnreg), and one elected thread loads.
// Broken: only the warp that loads releases its registers.
#include <cstdint>

constexpr int size = 128;

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ bool elected() {
  uint32_t yes;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xFFFFFFFF; selp.u32 %0, 1, 0, p;}" : "=r"(yes));
  return yes != 0;
}

__global__ void __launch_bounds__(256) doubled(const int* from, int* to) {
  __shared__ alignas(128) int tile[size];
  __shared__ alignas(8) uint64_t full;
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (warp < 4) {
#ifdef BROKEN
    if (warp == 0)
#endif
      asm volatile("setmaxnreg.dec.sync.aligned.u32 40;\n");  // FOUND: barrier misuse
    if (warp == 0 && elected()) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full)),
                   "r"(size * 4)
                   : "memory");
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
              address(tile)),
          "l"(from), "r"(size * 4), "r"(address(&full))
          : "memory");
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;\n");
    asm volatile(
        "{\n.reg .pred p;\nW:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra W;\n}" ::"r"(
            address(&full))
        : "memory");
    to[threadIdx.x - 128] = 2 * tile[threadIdx.x - 128];
  }
}

int main() {
  int numbers[size], *from, *to;
  for (int i = 0; i < size; ++i) numbers[i] = i;
  cudaMalloc(&from, sizeof numbers), cudaMalloc(&to, sizeof numbers);
  cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  doubled<<<1, 256>>>(from, to);
  cudaMemcpy(numbers, to, sizeof numbers, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < size; ++i)
    if (numbers[i] != 2 * i) return 1;
}
