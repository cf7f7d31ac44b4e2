// SPDX-License-Identifier: Apache-2.0
// Tensor maps in kernel parameters: alone, and in a struct next to other numbers. The broken kernels lack
// __grid_constant__, so that each thread has a copy in local memory, where the copy engine cannot read.
#include <cuda.h>

#include <cstdint>

#ifdef BROKEN
#define PARAMETER const
#else
#define PARAMETER const __grid_constant__
#endif
constexpr int width = 16, height = 8, tile = width * height;

struct request {
  int first;
  CUtensorMap map;
};

__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
template <int From> __device__ void fetch(float* to, const CUtensorMap* map, std::uint64_t* full) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(full)), "r"(tile * 4)
               : "memory");
  asm volatile(  // FOUND: bad copy
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(at(to)),
      "l"(map), "r"(0), "r"(From), "r"(at(full))
      : "memory");
}
__device__ void wait(std::uint64_t* full) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@!done bra "
      "WAIT;\n}" ::"r"(at(full))
      : "memory");
}
__device__ void begin(std::uint64_t* full) {
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(full)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
}

template <class T> __global__ void alone(T* to, PARAMETER CUtensorMap map, unsigned, const int more) {
  __shared__ alignas(128) float part[tile];
  __shared__ std::uint64_t full;
  begin(&full);
  if (threadIdx.x == 0) fetch<0>(part, &map, &full);
  wait(&full);
  to[threadIdx.x] = part[threadIdx.x] + more;
}
__global__ void __launch_bounds__(tile) in_struct(PARAMETER request r, float* to) {
  __shared__ alignas(128) float part[tile];
  __shared__ std::uint64_t full;
  begin(&full);
  if (threadIdx.x == 0) fetch<1>(part, &r.map, &full);
  wait(&full);
  to[r.first + threadIdx.x] = part[threadIdx.x];
}

int main() {
  float from[2 * tile], last[2], *x, *to;
  for (int i = 0; i < 2 * tile; ++i) from[i] = i;
  cudaMalloc(&x, sizeof from), cudaMalloc(&to, 2 * tile * sizeof(float));
  cudaMemcpy(x, from, sizeof from, cudaMemcpyHostToDevice);
  CUtensorMap map;
  const cuuint64_t extents[] = {width, 2 * height}, strides[] = {width * sizeof(float)};
  const cuuint32_t box[] = {width, height}, steps[] = {1, 1};
  if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, x, extents, strides, box, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                             CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    return 1;
  alone<<<1, tile>>>(to, map, 0, 1);
  in_struct<<<1, tile>>>({tile, map}, to);
  cudaMemcpy(last, to + tile - 1, sizeof last, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(to);
  return last[0] != tile || last[1] != width ? 1 : 0;
}
