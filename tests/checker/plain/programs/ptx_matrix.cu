// SPDX-License-Identifier: Apache-2.0
// Products by ldmatrix and mma.sync, of f16, bf16 and tf32. Broken: a warp reads shared memory before others
// have written it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>

constexpr int m = 16, n = 8, k = 16;

__global__ void products(const float* a, const float* b, float* c) {
  __shared__ __align__(16) __half left[m][k], right[n][k];  // rows of A, columns of B
  for (int i = threadIdx.x; i < m * k; i += blockDim.x) left[i / k][i % k] = __float2half(a[i]);
  for (int i = threadIdx.x; i < n * k; i += blockDim.x) right[i % n][i / n] = __float2half(b[i]);
#ifndef BROKEN
  __syncthreads();
#endif
  if (threadIdx.x >= 32) return;
  const int lane = threadIdx.x;
  unsigned ra[4], rb[2];
  const auto at = [](const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); };
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"  // FOUND: race
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(at(&left[lane % 16][lane / 16 * 8])));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(rb[0]), "=r"(rb[1])
               : "r"(at(&right[lane % 8][lane / 8 % 2 * 8])));
  float d[4] = {};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, "
      "%11, %12, %13};\n"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "f"(d[0]), "f"(d[1]),
        "f"(d[2]), "f"(d[3]));
  // The same by two of m16n8k8 in bf16, and by two in tf32, from global memory.
  const int row = lane / 4, column = lane % 4;
  for (int half = 0; half < 2; ++half) {
    unsigned xa[2], xb, ya[4], yb[2];
    const auto pair = [](float low, float high) {
      unsigned both;
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
      return both;
    };
    const auto of_a = [&](int r, int i) { return a[r * k + half * 8 + i]; };
    const auto of_b = [&](int i, int at) { return b[(half * 8 + i) * n + at]; };
    xa[0] = pair(of_a(row, 2 * column), of_a(row, 2 * column + 1)),
    xa[1] = pair(of_a(row + 8, 2 * column), of_a(row + 8, 2 * column + 1));
    xb = pair(of_b(2 * column, row), of_b(2 * column + 1, row));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, "
        "%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(xa[0]), "r"(xa[1]), "r"(xb));
    for (int i = 0; i < 4; ++i) ya[i] = __float_as_uint(of_a(row + i % 2 * 8, column + i / 2 * 4));
    for (int i = 0; i < 2; ++i) yb[i] = __float_as_uint(of_b(column + 4 * i, row));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(ya[0]), "r"(ya[1]), "r"(ya[2]), "r"(ya[3]), "r"(yb[0]), "r"(yb[1]), "f"(d[0]), "f"(d[1]),
          "f"(d[2]), "f"(d[3]));
  }
  for (int i = 0; i < 4; ++i) c[(row + i / 2 * 8) * n + 2 * column + i % 2] = d[i];
}

int main() {
  float a[m * k], b[k * n], c[m * n], *da, *db, *dc;
  for (int i = 0; i < m * k; ++i) a[i] = static_cast<float>((i * 7 + i / 5) % 17 - 8);
  for (int i = 0; i < k * n; ++i) b[i] = static_cast<float>((i * 5 + i / 3) % 13 - 6);
  cudaMalloc(&da, sizeof a), cudaMalloc(&db, sizeof b), cudaMalloc(&dc, sizeof c);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice), cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  products<<<1, 64>>>(da, db, dc);
  cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
  cudaFree(da), cudaFree(db), cudaFree(dc);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      if (c[i * n + j] != 3 * sum)
        return std::printf("%d, %d: %g, expected %g\n", i, j, c[i * n + j], 3 * sum), 1;
    }
}
