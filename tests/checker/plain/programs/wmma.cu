// SPDX-License-Identifier: Apache-2.0
// Products by nvcuda::wmma: one tile of each shape and type, and a matrix product of several warps from tiles
// in shared memory. Broken: no barrier after the tiles; a store into rows that other lanes still read; a
// fragment that half of a warp loads.
#include <mma.h>

#include <cstdio>

using namespace nvcuda;

template <class T, class Sum, int m, int n, int k, class LayoutA, class LayoutB, class Held>
__device__ bool product() {
  // each warp has tiles of its own
  __shared__ alignas(32) Held tiles[m * k + 16], b[k * n];
  Held* const a = tiles + (sizeof(Held) == 1 ? 16 : 0);  // rows of 8-bit tiles side by side are 16 bytes
  __shared__ alignas(32) Sum c[m * n];
  const int lane = threadIdx.x;
  constexpr bool a_rows = std::is_same_v<LayoutA, wmma::row_major>,
                 b_rows = std::is_same_v<LayoutB, wmma::row_major>;
  const auto left = [](int i, int l) { return (i * 3 + l * 5) % 7 + 1; };
  const auto right = [](int l, int j) { return (l * 2 + j * 3) % 5; };
  for (int i = lane; i < m * k; i += 32)
    a[a_rows ? i : i % k * m + i / k] = static_cast<Held>(static_cast<float>(left(i / k, i % k)));
  for (int i = lane; i < k * n; i += 32)
    b[b_rows ? i : i % n * k + i / n] = static_cast<Held>(static_cast<float>(right(i / n, i % n)));
  __syncwarp();
  wmma::fragment<wmma::matrix_a, m, n, k, T, LayoutA> of_a;
  wmma::fragment<wmma::matrix_b, m, n, k, T, LayoutB> of_b;
  wmma::fragment<wmma::accumulator, m, n, k, Sum> sum;
  wmma::fill_fragment(sum, static_cast<Sum>(1.0f));
  wmma::load_matrix_sync(of_a, a, a_rows ? k : m);
  wmma::load_matrix_sync(of_b, b, b_rows ? n : k);
  wmma::mma_sync(sum, of_a, of_b, sum);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + sum.x[i];
  wmma::store_matrix_sync(c, sum, n, wmma::mem_row_major);
  __syncwarp();
  wmma::load_matrix_sync(sum, c, n, wmma::mem_row_major);
  __syncwarp();
  wmma::store_matrix_sync(c, sum, m, wmma::mem_col_major);
  __syncwarp();
  bool right_all = true;
  for (int i = lane; i < m * n; i += 32) {
    int all = 1;
    for (int l = 0; l < k; ++l) all += left(i % m, l) * right(l, i / m);
    right_all &= static_cast<float>(c[i]) == static_cast<float>(2 * all);
  }
  return right_all;
}
__global__ void shapes(unsigned* wrong) {
  using r = wmma::row_major;
  using c = wmma::col_major;
  unsigned bad = 0;
  const auto is = [&](int number, bool right) { bad |= static_cast<unsigned>(!right) << number; };
  is(0, product<half, float, 16, 16, 16, r, r, half>());
  is(1, product<half, float, 32, 8, 16, r, c, half>());
  is(2, product<half, half, 8, 32, 16, c, r, half>());
  is(3, product<__nv_bfloat16, float, 16, 16, 16, c, c, __nv_bfloat16>());
  is(4, product<__nv_bfloat16, float, 32, 8, 16, r, r, __nv_bfloat16>());
  is(5, product<wmma::precision::tf32, float, 16, 16, 8, r, c, float>());
  is(6, product<signed char, int, 16, 16, 16, r, c, signed char>());
  is(7, product<unsigned char, int, 8, 32, 16, c, r, unsigned char>());
  is(8, product<signed char, int, 32, 8, 16, r, r, signed char>());
  is(9, product<double, double, 8, 8, 4, r, c, double>());
  if (bad != 0) atomicOr(wrong, bad);
}

constexpr int size = 64, warps = 4;

// C = A B for one block: each warp has 16 rows.
__global__ void matmul(const half* a, const half* b, float* c) {
  __shared__ alignas(32) half left[size][16 + 16], right[16][size + 16];
  const int warp = threadIdx.x / 32;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> of_a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> of_b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[size / 16];
  for (auto& s : sum) wmma::fill_fragment(s, 0.0f);
  for (int k = 0; k < size; k += 16) {
    for (int i = threadIdx.x; i < size * 16; i += blockDim.x) {
      left[i / 16][i % 16] = a[i / 16 * size + k + i % 16];
      right[i / size][i % size] = b[(k + i / size) * size + i % size];
    }
#ifndef BROKEN
    __syncthreads();
#endif
    wmma::load_matrix_sync(of_a, &left[warp * 16][0], 16 + 16);
    for (int j = 0; j < size / 16; ++j) {
      wmma::load_matrix_sync(of_b, &right[0][j * 16], size + 16);  // FOUND: race
      wmma::mma_sync(sum[j], of_a, of_b, sum[j]);
    }
    __syncthreads();
  }
  for (int j = 0; j < size / 16; ++j)
    wmma::store_matrix_sync(c + warp * 16 * size + j * 16, sum[j], size, wmma::mem_row_major);
}

#ifdef BROKEN
__global__ void store_too_early(half* c) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> sum;
  wmma::load_matrix_sync(sum, c, 16, wmma::mem_row_major);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_col_major);  // FOUND: overwritten in use
}
using tile_of_a = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
__global__ void half_a_warp(const half* a) {
  tile_of_a of_a;
  if (threadIdx.x >= 16) return;
  wmma::load_matrix_sync(of_a, a, 16);  // FOUND: divergent barrier
}
#endif

int main() {
  static half a[size * size], b[size * size];
  static float c[size * size];
  half *da, *db;
  float* dc;
  unsigned bad = 0, *wrong;
  for (int i = 0; i < size * size; ++i)
    a[i] = __float2half((i * 7 + i / 5) % 17 - 8), b[i] = __float2half((i * 5 + i / 3) % 13 - 6);
  cudaMalloc(&da, sizeof a), cudaMalloc(&db, sizeof b), cudaMalloc(&dc, sizeof c),
      cudaMalloc(&wrong, sizeof bad);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice), cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  cudaMemset(wrong, 0, sizeof bad);
  shapes<<<1, 32>>>(wrong);
  matmul<<<1, 32 * warps>>>(da, db, dc);
  cudaMemcpy(&bad, wrong, sizeof bad, cudaMemcpyDeviceToHost);
  cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
#ifdef BROKEN
  store_too_early<<<1, 32>>>(da);
  half_a_warp<<<1, 32>>>(da);
  cudaDeviceSynchronize();
#endif
  cudaFree(da), cudaFree(db), cudaFree(dc), cudaFree(wrong);
  if (bad != 0) return std::printf("wrong products: %#x\n", bad), 1;
  for (int i = 0; i < size * size; ++i) {
    float sum = 0;
    for (int l = 0; l < size; ++l)
      sum += __half2float(a[i / size * size + l]) * __half2float(b[l * size + i % size]);
    if (c[i] != sum) return std::printf("%d: %g, expected %g\n", i, c[i], sum), 1;
  }
}
