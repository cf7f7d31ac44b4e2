// SPDX-License-Identifier: Apache-2.0
// Boxes of a tensor of five dimensions are loaded and added to another: all blocks add to the same box, of
// floats and of bf16, and find its largest integers. Broken: a box is changed before it is read.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

constexpr int width = 8, box = width * 2 * 2 * 1 * 2;  // 8 x 2 x 2 x 1 x 2
constexpr int extents[] = {16, 3, 2, 2, 4}, elements = 16 * 3 * 2 * 2 * 4;

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

template <class T, bool Largest>
__global__ void add(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(128) T in[box];
  __shared__ alignas(8) uint64_t landed;
  const int t = threadIdx.x, last = 2 * blockIdx.x;  // of the fifth dimension; the third block's are outside
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&landed)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&landed)),
                 "r"(static_cast<int>(sizeof in))
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
        "%4, "
        "%5, %6, %7}], [%2];" ::"r"(address(in)),
        "l"(&from), "r"(address(&landed)), "r"(8), "r"(1), "r"(0), "r"(1), "r"(last)
        : "memory");
  }
  __syncthreads();
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@done bra "
      "END;\nbra WAIT;\nEND:\n}" ::"r"(address(&landed))
      : "memory");
  in[t] = in[t] + in[t];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    if constexpr (Largest)
      asm volatile(
          "cp.reduce.async.bulk.tensor.5d.global.shared::cta.max.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], "
          "[%1];" ::"l"(&to),
          "r"(address(in)), "r"(0), "r"(0), "r"(0), "r"(0), "r"(1)
          : "memory");
    else
      asm volatile(
          "cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.bulk_group [%0, {%2, %3, %4, %5, %6}], "
          "[%1];" ::"l"(&to),
          "r"(address(in)), "r"(0), "r"(0), "r"(0), "r"(0), "r"(1)
          : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#ifndef BROKEN
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
  }
  __syncthreads();
  in[t] = 0;  // FOUND: overwritten in use
#ifdef BROKEN
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

CUtensorMap map_of(CUtensorMapDataType type, int size, void* data) {
  CUtensorMap map;
  cuuint64_t all[5], strides[4];
  const cuuint32_t boxes[] = {width, 2, 2, 1, 2}, steps[] = {1, 1, 1, 1, 1};
  cuuint64_t bytes = size;
  for (int d = 0; d < 5; ++d) {
    all[d] = extents[d];
    bytes *= extents[d];
    if (d < 4) strides[d] = bytes;
  }
  void* encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &encode, cudaEnableDefault, &found);
  if (found != cudaDriverEntryPointSuccess) return map;
  reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
      &map, type, 5, data, all, strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

template <bool Largest, class T, class Value>
bool right(CUtensorMapDataType type, T (*number)(int), Value value) {
  static T a[elements], c[elements], *from, *to;
  const auto at = [](int x, int y, int z, int w, int v) {
    return (((v * extents[3] + w) * extents[2] + z) * extents[1] + y) * extents[0] + x;
  };
  for (int i = 0; i < elements; ++i) a[i] = number(i), c[i] = number(3);
  cudaMalloc(&from, sizeof a), cudaMalloc(&to, sizeof c);
  cudaMemcpy(from, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(to, c, sizeof c, cudaMemcpyHostToDevice);
  add<T, Largest><<<3, box>>>(map_of(type, sizeof(T), from), map_of(type, sizeof(T), to));
  cudaMemcpy(c, to, sizeof c, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int v = 0; v < 4; ++v)
    for (int w = 0; w < 2; ++w)
      for (int z = 0; z < 2; ++z)
        for (int y = 0; y < 3; ++y)
          for (int x = 0; x < 16; ++x) {
            float sum = value(number(3));
            if (x < width && y < 2 && w == 0 && v >= 1 && v < 3)
              for (int block = 0; block < 3; ++block) {
                const int from_v = 2 * block + v - 1;
                const bool inside = y + 1 < 3 && from_v < 4;
                const float one = inside ? 2 * value(number(at(x + 8, y + 1, z, 1, from_v))) : 0;
                sum = Largest ? (one > sum ? one : sum) : sum + one;
              }
            if (value(c[at(x, y, z, w, v)]) != sum)
              return std::printf("%d %d %d %d %d: %g, expected %g\n", x, y, z, w, v,
                                 value(c[at(x, y, z, w, v)]), sum),
                     false;
          }
  return true;
}

int main() {
  const auto itself = [](auto x) { return float(x); };
  float (*const floats)(int) = [](int i) { return float(i % 11 - 5); };
  int (*const integers)(int) = [](int i) { return i % 23 - 11; };
  __nv_bfloat16 (*const small)(int) = [](int i) { return __float2bfloat16(i % 7 - 3); };
  const bool all = right<false>(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, floats, itself) &&
                   right<true>(CU_TENSOR_MAP_DATA_TYPE_INT32, integers, itself) &&
                   right<false>(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, small, __bfloat162float);
#ifndef BROKEN
  return all ? 0 : 1;
#endif
}
