// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup in the style of hand-written Hopper kernels: bf16 by descriptors, A from registers,
// tf32. Broken: the operands are overwritten before the product has read them.
#include <cuda_bf16.h>

#include <cstdint>
#include <cstdio>

constexpr int rows = 64, columns = 64, depth = 16;

// No swizzle: blocks of 8 rows by 16 bytes, one after the other along k, then along the rows.
__device__ uint64_t describe(const void* p) {
  const uint64_t address = static_cast<uint64_t>(__cvta_generic_to_shared(p));
  return (address & 0x3FFFF) >> 4 | uint64_t(128 >> 4) << 16 | uint64_t(256 >> 4) << 32;
}
__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
template <int N> __device__ void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(N) : "memory");
}

__device__ void product(float (&d)[32], uint64_t a, uint64_t b, int scale_d) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
      "%22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31}, "
      "%32, %33, p, %35, %36, %37, %38;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
        "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(scale_d), "n"(1), "n"(1), "n"(0), "n"(0));
}
__device__ void product(float (&d)[32], const uint32_t (&a)[4], uint64_t b) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
      "%11, %12, %13, %14, %15, %16, "
      "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, "
      "%36, p, 1, 1, 0;}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
        "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ void product_tf32(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
      "%11, %12, %13, %14, %15, %16, "
      "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1;}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
        "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b));
}

// In the order of the blocks: two of 8 k for bf16, of 4 k for tf32.
template <class T> __device__ int place(int row, int k) {
  constexpr int of_piece = 16 / sizeof(T);
  return row / 8 * 16 * of_piece + k / of_piece * 8 * of_piece + row % 8 * of_piece + k % of_piece;
}

__global__ void __launch_bounds__(128) products(const float* a, const float* b, float* to, float* to_tf32) {
  __shared__ alignas(128) __nv_bfloat16 sa[rows * depth], sb[columns * depth];
  __shared__ alignas(128) float ta[rows * depth / 2], tb[columns * depth / 2];
  const int t = threadIdx.x;
  for (int i = t; i < rows * depth; i += 128)
    sa[place<__nv_bfloat16>(i / depth, i % depth)] = __float2bfloat16(a[i]);
  for (int i = t; i < columns * depth; i += 128)
    sb[place<__nv_bfloat16>(i / depth, i % depth)] = __float2bfloat16(b[i]);
  for (int i = t; i < rows * 8; i += 128)
    ta[place<float>(i / 8, i % 8)] = a[i], tb[place<float>(i / 8, i % 8)] = b[i];
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
  __syncthreads();
  float d[32] = {}, of_tf32[32] = {};
  uint32_t registers[4];
  const int row = t / 32 * 16 + t % 32 / 4, k = t % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    const __nv_bfloat162 two(sa[place<__nv_bfloat16>(row + i % 2 * 8, k + i / 2 * 8)],
                             sa[place<__nv_bfloat16>(row + i % 2 * 8, k + i / 2 * 8 + 1)]);
    memcpy(&registers[i], &two, 4);
  }
  fence();
  product(d, describe(sa), describe(sb), 0);
  product(d, registers, describe(sb));
  product_tf32(of_tf32, describe(ta), describe(tb));
  commit();
#ifdef BROKEN
  sb[t] = __float2bfloat16(0);  // FOUND: overwritten in use
#endif
  wait<0>();
  for (int i = 0; i < 32; ++i) {
    const int at = (row + i / 2 % 2 * 8) * columns + i / 4 * 8 + k + i % 2;
    to[at] = d[i];
    to_tf32[at] = of_tf32[i];
  }
}

int main() {
  float a[rows * depth], b[columns * depth], result[rows * columns], result_tf32[rows * columns], *d[4];
  for (int i = 0; i < rows * depth; ++i) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
  cudaMalloc(&d[0], sizeof a), cudaMalloc(&d[1], sizeof b), cudaMalloc(&d[2], sizeof result),
      cudaMalloc(&d[3], sizeof result);
  cudaMemcpy(d[0], a, sizeof a, cudaMemcpyHostToDevice),
      cudaMemcpy(d[1], b, sizeof b, cudaMemcpyHostToDevice);
  products<<<1, 128>>>(d[0], d[1], d[2], d[3]);
  cudaMemcpy(result, d[2], sizeof result, cudaMemcpyDeviceToHost);
  cudaMemcpy(result_tf32, d[3], sizeof result, cudaMemcpyDeviceToHost);
  for (float* p : d) cudaFree(p);
  for (int i = 0; i < rows * columns; ++i) {
    float sum = 0, sum_tf32 = 0;
    for (int k = 0; k < depth; ++k) sum += a[i / columns * depth + k] * b[i % columns * depth + k];
    for (int k = 0; k < 8; ++k) sum_tf32 += a[i / columns * 8 + k] * b[i % columns * 8 + k];
    if (result[i] != 2 * sum || result_tf32[i] != sum_tf32) {
      std::printf("%d: %g, %g\n", i, result[i] - 2 * sum, result_tf32[i] - sum_tf32);
      return 1;
    }
  }
}
