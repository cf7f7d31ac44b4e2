// SPDX-License-Identifier: Apache-2.0
// A product in the style of hand-written Hopper kernels: a warp loads swizzled tiles by TMA, a warpgroup
// multiplies them by wgmma, over a ring of two slots. Broken: a slot is released while its
// product still reads it.
#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>

constexpr int m = 64, n = 64, k = 256, tile = 64, slots = 2;

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init(uint64_t* barrier, int parties) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(parties));
}
__device__ void wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred P1;\n"
      "LAB_WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
      "@P1 bra.uni DONE;\n"
      "bra.uni LAB_WAIT;\n"
      "DONE:\n"
      "}\n" ::"r"(address(barrier)),
      "r"(parity));
}
__device__ void expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], 1;" ::"r"(address(barrier)) : "memory");
}
__device__ void load(void* to, const CUtensorMap* map, uint64_t* barrier, int x, int y) {
  asm volatile(  // FOUND: overwritten in use
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4}], [%2];" ::"r"(address(to)),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(address(barrier)), "r"(x), "r"(y)
      : "memory");
}

__device__ uint64_t encoded(uint64_t x) { return (x & 0x3FFFF) >> 4; }
__device__ uint64_t describe(const half* p) {
  // rows of 128 bytes, swizzled
  return encoded(address(p)) | encoded(16) << 16 | encoded(1024) << 32 | 1ull << 62;
}
template <int ScaleD> __device__ void multiply(float (&d)[4][8], const half* a, const half* b) {
  const uint64_t of_a = describe(a), of_b = describe(b);
  asm volatile(
      "{\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
      "%22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31},"
      " %32, %33, %34, %35, %36, %37, %38;\n"
      "}\n"
      : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[0][4]), "+f"(d[0][5]),
        "+f"(d[0][6]), "+f"(d[0][7]), "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]),
        "+f"(d[1][4]), "+f"(d[1][5]), "+f"(d[1][6]), "+f"(d[1][7]), "+f"(d[2][0]), "+f"(d[2][1]),
        "+f"(d[2][2]), "+f"(d[2][3]), "+f"(d[2][4]), "+f"(d[2][5]), "+f"(d[2][6]), "+f"(d[2][7]),
        "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[3][4]), "+f"(d[3][5]),
        "+f"(d[3][6]), "+f"(d[3][7])
      : "l"(of_a), "l"(of_b), "n"(ScaleD), "n"(1), "n"(1), "n"(0), "n"(0));
}

__global__ void __launch_bounds__(256)
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c) {
  __shared__ alignas(1024) half sa[slots][m * tile];
  __shared__ alignas(1024) half sb[slots][n * tile];
  __shared__ alignas(8) uint64_t full[slots], empty[slots];
  const int t = threadIdx.x % 128, group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int i = 0; i < slots; ++i) init(&full[i], 1), init(&empty[i], 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(24));
    if (t != 0) return;
    for (int i = 0; i < k / tile; ++i) {
      wait(&empty[i % slots], i / slots % 2 ^ 1);
      expect(&full[i % slots], (m + n) * tile * sizeof(half));
      load(sa[i % slots], &a, &full[i % slots], i * tile, 0);
      load(sb[i % slots], &b, &full[i % slots], i * tile, 0);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(240));
    float d[4][8] = {};
    for (int i = 0; i < k / tile; ++i) {
      wait(&full[i % slots], i / slots % 2);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      for (int j = 0; j < tile / 16; ++j) multiply<1>(d, &sa[i % slots][16 * j], &sb[i % slots][16 * j]);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifdef BROKEN
      if (t == 0) arrive(&empty[i % slots]);
#endif
      asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(0) : "memory");
#ifndef BROKEN
      if (t == 0) arrive(&empty[i % slots]);
#endif
    }
    const int row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    for (int i = 0; i < 32; ++i) c[(row + i / 2 % 2 * 8) * n + i / 4 * 8 + column + i % 2] = d[i / 8][i % 8];
  }
}

CUtensorMap map_of(half* data, int rows) {
  CUtensorMap map;
  const cuuint64_t extents[] = {k, static_cast<cuuint64_t>(rows)}, strides[] = {k * sizeof(half)};
  const cuuint32_t box[] = {tile, static_cast<cuuint32_t>(rows)}, steps[] = {1, 1};
  const CUresult result =
      cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, data, extents, strides, box, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) std::printf("no tensor map\n");
  return map;
}

int main() {
  static half a[m * k], b[n * k];
  static float c[m * n];
  for (int i = 0; i < m * k; ++i) a[i] = __float2half(i % 7 - 3), b[i] = __float2half(i % 5 - 2);
  half *da, *db;
  float* dc;
  cudaMalloc(&da, sizeof a), cudaMalloc(&db, sizeof b), cudaMalloc(&dc, sizeof c);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice), cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  gemm<<<1, 256>>>(map_of(da, m), map_of(db, n), dc);
  cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
  cudaFree(da), cudaFree(db), cudaFree(dc);
  for (int i = 0; i < m * n; ++i) {
    float sum = 0;
    for (int j = 0; j < k; ++j) sum += __half2float(a[i / n * k + j]) * __half2float(b[i % n * k + j]);
    if (c[i] != sum) {
      std::printf("%d: %g, expected %g\n", i, c[i], sum);
      return 1;
    }
  }
}
