// SPDX-License-Identifier: Apache-2.0
// A matrix is transposed box by box: tensor copies by maps of the driver. Broken: a box is stored without a
// proxy fence after the threads' writes.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

constexpr int size = 32, box = 8;

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(128) int in[box * box];
  __shared__ alignas(128) int out[box * box];
  __shared__ alignas(8) uint64_t landed;
  const int t = threadIdx.x, x = blockIdx.x * box;
  if (t == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&from) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&landed)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  for (int i = 0; i < size / box; ++i) {
    const int y = i * box;
    if (t == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&landed)),
                   "r"(box * box * 4)
                   : "memory");
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
          "%4}], [%2];" ::"r"(address(in)),
          "l"(&from), "r"(address(&landed)), "r"(x), "r"(y)
          : "memory");
    }
    asm volatile(
        "{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra "
        "END;\nbra WAIT;\nEND:\n}" ::"r"(address(&landed)),
        "r"(i % 2)
        : "memory");
    out[t % box * box + t / box] = in[t];
#ifndef BROKEN
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    __syncthreads();
    if (t == 0) {
      asm volatile(  // FOUND: missing proxy fence
          "cp.async.bulk.tensor.2d.global.shared::cta .bulk_group [%0, {%2, %3}], [%1];" ::"l"(&to),
          "r"(address(out)), "r"(y), "r"(x)
          : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
  }
}

CUtensorMap map_of(int* data) {
  CUtensorMap map;
  const cuuint64_t extents[] = {size, size}, strides[] = {size * sizeof(int)};
  const cuuint32_t boxes[] = {box, box}, steps[] = {1, 1};
  void* encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &encode, cudaEnableDefault, &found);
  if (found != cudaDriverEntryPointSuccess) return map;
  reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
      &map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, data, extents, strides, boxes, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

int main() {
  int numbers[size * size], *from, *to;
  for (int i = 0; i < size * size; ++i) numbers[i] = i;
  cudaMalloc(&from, sizeof numbers), cudaMalloc(&to, sizeof numbers);
  cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  transpose<<<size / box, box * box>>>(map_of(from), map_of(to));
  cudaMemcpy(numbers, to, sizeof numbers, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < size * size; ++i)
    if (numbers[i] != i % size * size + i / size) return 1;
}
