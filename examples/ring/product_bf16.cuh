// SPDX-License-Identifier: Apache-2.0
// C = A B^T in bf16 by roles: one thread loads tiles by TMA, two warpgroups multiply them on Hopper's Tensor
// Cores (WGMMA), over a ring of four slots. A is m x k, B n x k, C m x n, by rows; n, k: multiples of 8.
//
//   load       acquire | tensor_load -> full
//   multiply   wait full | wgmma | release; the sums of a tile leave through two buffers, by tensor_store
#pragma once
#include <cuda_bf16.h>

#include <antiphase/ring.cuh>

namespace product_bf16 {
using namespace antiphase::ring;
using bf16 = __nv_bfloat16;

constexpr int tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, groups = 2;  // of warps that multiply
constexpr int rows_together = 16;  // of tiles that follow each other and share B in the L2 cache

struct storage {
  alignas(1024) bf16 a[stages][tile_m][tile_k], b[stages][tile_n][tile_k];
  alignas(1024) bf16 c[groups][2][64][64];  // on its way to memory
  channel<mbarrier, stages, threads(1), warps(4 * groups)> ring;
};
struct extents {
  int m, n, k;
};

// Calls role(row, column) for the block's tiles of C.
template <class Role> __device__ void each_tile(extents size, Role role) {
  const int down = (size.m + tile_m - 1) / tile_m, across = (size.n + tile_n - 1) / tile_n;
  for (int i = blockIdx.x; i < down * across; i += gridDim.x) {
    const int first = i / (rows_together * across) * rows_together, within = i - first * across;
    const int rows = min(down - first, rows_together);
    role((first + within % rows) * tile_m, within / rows * tile_n);
  }
}

__device__ void load(storage& s, extents size, const tensor_map& a, const tensor_map& b) {
  cursor<stages> at;
  each_tile(size, [&](int row, int column) {
    for (int k = 0; k < size.k; k += tile_k, ++at) {
      s.ring.acquire(at);
      s.ring.commit(at, 0, bytes{sizeof s.a[0] + sizeof s.b[0]});
      tensor_load(s.a[at.index], a, s.ring.barrier[0][at.index], k, row);
      tensor_load(s.b[at.index], b, s.ring.barrier[0][at.index], k, column);
    }
  });
  s.ring.finish(at);
}

__device__ void multiply(storage& s, extents size, const tensor_map& c, int group) {
  const int t = threadIdx.x % 128, row_of_lane = t / 32 * 16 + t % 32 / 4;
  cursor<stages> at;
  each_tile(size, [&](int row, int column) {
    float sum[tile_n / 2];
    for (int k = 0; k < size.k; k += tile_k, ++at) {
      s.ring.wait(at);
      const auto a = describe(s.a[at.index][group * 64], 16, 1024, swizzle::bytes_128);
      const auto b = describe(s.b[at.index], 16, 1024, swizzle::bytes_128);
      wgmma_fence();
#pragma unroll
      for (int j = 0; j < tile_k / 16; ++j)
        wgmma_bf16(sum, further(a, 32 * j), further(b, 32 * j), k + j > 0);
      wgmma_commit();
      wgmma_wait<1>();  // the step before has been computed
      if (k > 0) s.ring.release(at.before(), by_warp{});
    }
    wgmma_wait<0>();
    s.ring.release(at.before(), by_warp{});
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {  // 64 columns
      bf16(*const box)[64] = s.c[group][quarter % 2];
      if (t == 0) bulk_wait_read<1>();  // what was stored from here has left
      named_barrier_sync(1 + group, 128);
#pragma unroll
      for (int i = 0; i < 16; ++i) {  // pairs of columns
        const int pair = 32 * quarter + 2 * i, y = row_of_lane + i % 2 * 8, x = i / 2 * 8 + t % 4 * 2;
        *reinterpret_cast<__nv_bfloat162*>(reinterpret_cast<char*>(box) +
                                           swizzled(y * 128 + x * 2, swizzle::bytes_128)) =
            __floats2bfloat162_rn(sum[pair], sum[pair + 1]);
      }
      fence_async();
      named_barrier_sync(1 + group, 128);
      if (t == 0) {
        const int x = column + quarter * 64, y = row + group * 64;
        if (x < size.n && y < size.m) tensor_store(c, box, x, y);
        bulk_commit();
      }
    }
  });
  if (t == 0) bulk_wait<0>();
}

__global__ void __launch_bounds__(128 * (1 + groups), 1)
    product(const __grid_constant__ tensor_map a, const __grid_constant__ tensor_map b,
            const __grid_constant__ tensor_map c, extents size) {
  extern __shared__ __align__(1024) unsigned char memory[];
  storage& s = *reinterpret_cast<storage*>(memory);
  if (threadIdx.x == 0) s.ring.init(), fence_mbarrier_init();
  block_barrier();
  const int group = warp_index() / 4;
  if (group == groups) {
    release_registers<40>();
    if (threadIdx.x == 128 * groups) load(s, size, a, b);
  } else {
    request_registers<232>();
    multiply(s, size, c, group);
  }
}

// A tensor of `rows` x `columns` in boxes of `box` x 64.
inline tensor_map map_of(const bf16* data, int rows, int columns, int box) {
  const unsigned long m = rows, n = columns;
  return encode({data, 2, 2, {n, m}, {0, 2 * n}, {64, unsigned(box)}, swizzle::bytes_128});
}

// Pointers are of the device, aligned to 16 bytes. Throws std::runtime_error.
inline void launch(const bf16* a, const bf16* b, bf16* c, extents size, cudaStream_t stream = nullptr) {
  int blocks = 0;
  cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0);
  cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(storage));
  product<<<blocks, 128 * (1 + groups), sizeof(storage), stream>>>(map_of(a, size.m, size.k, tile_m),
                                                                   map_of(b, size.n, size.k, tile_n),
                                                                   map_of(c, size.m, size.n, 64), size);
  if (const cudaError_t failed = cudaGetLastError()) throw std::runtime_error(cudaGetErrorString(failed));
}

}  // namespace product_bf16
