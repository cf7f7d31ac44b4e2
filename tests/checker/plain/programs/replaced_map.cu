// SPDX-License-Identifier: Apache-2.0
// A kernel replaces the address, the extents and a stride of a tensor map, or makes one of zeros, and copies
// by the new one. Broken: the new stride is no multiple of 16 bytes.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

template <bool Made> __global__ void load(const __grid_constant__ CUtensorMap map, CUtensorMap* changed,
                                          const int* from, int* to) {
  __shared__ alignas(128) CUtensorMap own;
  __shared__ alignas(128) int box[8 * 8];
  __shared__ alignas(8) uint64_t landed;
  const int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&landed)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    own = CUtensorMap{};
    const uint32_t at = address(&own);
    if (Made) {
      asm volatile("tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], 0x1;" ::"r"(at));
      asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0x0, %1;" ::"r"(at), "r"(8));
      asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0x1, %1;" ::"r"(at), "r"(8));
      asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0x0, %1;" ::"r"(at),
                   "r"(32));
      asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(at),
                   "r"(1));
      asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at),
                   "r"(1));
      asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 0x3;" ::"r"(at));
      asm volatile("tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%0], 0x0;" ::"r"(at));
      asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 0x0;" ::"r"(at));
      asm volatile("tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%0], 0x0;" ::"r"(at));
    } else {
      memcpy(&own, &map, sizeof map / 2);  // which is all that GPUs read, as CuTe DSL copies it
    }
#ifdef BROKEN
    const uint64_t stride = 24 * 4 + 8;
#else
    const uint64_t stride = 24 * 4;
#endif
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at),
                 "l"(from));
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at), "r"(6));
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 4, %1;" ::"r"(at), "r"(1));
    asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(at),
                 "l"(stride));
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "0x80;" ::"l"(changed),
      "r"(address(&own))
      : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(changed) : "memory");
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(address(&landed))
                 : "memory");
    asm volatile(  // FOUND: bad copy
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(address(box)),
        "l"(changed), "r"(8), "r"(0), "r"(address(&landed))
        : "memory");
  }
  uint32_t done = 0;
  while (done == 0)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(address(&landed))
        : "memory");
  for (int i = t; i < 64; i += 32) to[i] = box[i];
}

int main() {
  int host[24 * 8], got[64], *first, *second, *to;
  CUtensorMap map, *changed;
  for (int i = 0; i < 24 * 8; ++i) host[i] = i;
  cudaMalloc(&first, 32 * 8 * 4), cudaMalloc(&second, sizeof host);
  cudaMalloc(&to, sizeof got), cudaMalloc(&changed, sizeof map);
  cudaMemcpy(second, host, sizeof host, cudaMemcpyHostToDevice);
  const cuuint64_t extents[] = {32, 8}, strides[] = {32 * 4};
  const cuuint32_t boxes[] = {8, 8}, steps[] = {1, 1};
  cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, first, extents, strides, boxes, steps,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  for (const auto kernel : {load<false>, load<true>}) {
    kernel<<<1, 32>>>(map, changed, second, to);
    cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 64; ++i)  // rows 6 and 7 are outside
      if (got[i] != (i < 48 ? i / 8 * 24 + 8 + i % 8 : 0)) return std::printf("%d is %d\n", i, got[i]), 1;
  }
  cudaFree(first), cudaFree(second), cudaFree(to), cudaFree(changed);
}
