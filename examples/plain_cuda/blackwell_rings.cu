// SPDX-License-Identifier: Apache-2.0
// Two rings of Blackwell: sums in Tensor Memory, and tiles from cluster launch control. C = A B^T of f16, in tiles
// of 32 columns; a block multiplies its own tile, and those of blocks whose launch it cancels.
#include <cuda_fp16.h>

#include <cstdio>

constexpr int rows = 128, columns = 32, depth = 16, tiles = 8, slots = 2;

struct ring {
  unsigned long long full[slots], empty[slots];
};
struct memory {
  half a[rows * depth], b[tiles * columns * depth];  // in matrices of 8 rows and 16 bytes
  uint4 answer[slots];
  ring tile, sum;
  unsigned sums;  // address in Tensor Memory
};

__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void initialize(unsigned long long& barrier, int parties) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(&barrier)), "r"(parties) : "memory");
}
__device__ void arrive(unsigned long long& barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address(&barrier)) : "memory");
}
__device__ void wait(unsigned long long& barrier, int phase) {
  unsigned done = 0;
  while (done == 0)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(address(&barrier)), "r"(phase & 1)
        : "memory");
}
// Until round i may fill its slot: in the first rounds all slots are empty.
__device__ void wait_for_slot(ring& r, int i) {
  if (i >= slots) wait(r.empty[i % slots], i / slots - 1);
}

__device__ void ask_for_tile(memory& m, int i) {
  const unsigned full = address(&m.tile.full[i % slots]);
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 16;" ::"r"(full) : "memory");
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
          address(&m.answer[i % slots])),
      "r"(full)
      : "memory");
}
__device__ int next_tile(memory& m, int i) {  // -1: all blocks have begun
  int canceled, tile;
  wait(m.tile.full[i % slots], i / slots);
  asm volatile(
      "{ .reg .pred p; .reg .b128 q; ld.shared.b128 q, [%2]; mov.s32 %1, 0;\n"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, q; selp.s32 %0, 1, 0, p;\n"
      "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, q; }"
      : "=r"(canceled), "=r"(tile)
      : "r"(address(&m.answer[i % slots]))
      : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the next answer comes by the async proxy
  arrive(m.tile.empty[i % slots]);
  return canceled ? tile : -1;
}

__device__ unsigned long long matrix(const half* first) {  // the descriptor of an operand
  return address(first) >> 4 | 8ull << 16 | 16ull << 32 | 1ull << 46;
}
__device__ void multiply(memory& m, unsigned to, int tile) {
  const unsigned form = 1 << 4 | columns / 8 << 17 | rows / 16 << 24;  // sums in f32
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(to),
      "l"(matrix(m.a)), "l"(matrix(m.b + tile * columns * depth)), "r"(form)
      : "memory");
}

__global__ void __launch_bounds__(192) product(const half* a, const half* b, float* c) {
  __shared__ __align__(1024) memory m;
  const int warp = threadIdx.x / 32;
  const bool one = threadIdx.x % 32 == 0;
  for (int i = threadIdx.x; i < (rows + tiles * columns) * depth; i += blockDim.x) {
    const int row = i / depth, k = i % depth, first = row < rows ? row : row - rows;
    (row < rows ? m.a : m.b)[first / 8 * 128 + k / 8 * 64 + first % 8 * 8 + k % 8] =
        row < rows ? a[i] : b[i - rows * depth];
  }
  if (threadIdx.x == 0)
    for (int s = 0; s < slots; ++s) {
      initialize(m.tile.full[s], 1), initialize(m.tile.empty[s], 130);
      initialize(m.sum.full[s], 1), initialize(m.sum.empty[s], 128);
    }
  if (warp == 1)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(address(&m.sums)) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  int tile = blockIdx.x, i = 0;
  if (warp == 0 && one) {
    for (; tile >= 0; tile = next_tile(m, i++)) wait_for_slot(m.tile, i), ask_for_tile(m, i);
  } else if (warp == 1 && one) {
    for (; tile >= 0; tile = next_tile(m, i++)) {
      wait_for_slot(m.sum, i);
      asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
      multiply(m, m.sums + i % slots * columns, tile);
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                       address(&m.sum.full[i % slots]))
                   : "memory");
    }
  } else if (warp >= 2) {
    for (; tile >= 0; tile = next_tile(m, i++)) {
      const int lanes = warp % 4 * 32;  // that this warp may access
      wait(m.sum.full[i % slots], i / slots);
      asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
      unsigned x[columns];
      for (int n = 0; n < columns; n += 4)
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[n]), "=r"(x[n + 1]), "=r"(x[n + 2]), "=r"(x[n + 3])
                     : "r"(m.sums + i % slots * columns + n + (lanes << 16)));
#ifndef WITHOUT_WAIT
      asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#endif
      asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
      arrive(m.sum.empty[i % slots]);
      for (int n = 0; n < columns; ++n)
        c[(lanes + threadIdx.x % 32) * tiles * columns + tile * columns + n] = __uint_as_float(x[n]);
    }
  }
  __syncthreads();
  if (warp == 1) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(m.sums));
}

int main() {
  half *a, *b;
  float* c;
  cudaMallocManaged(&a, rows * depth * sizeof *a), cudaMallocManaged(&b, tiles * columns * depth * sizeof *b);
  cudaMallocManaged(&c, rows * tiles * columns * sizeof *c);
  for (int i = 0; i < rows * depth; ++i) a[i] = __float2half(i * 7 % 11 - 5);
  for (int i = 0; i < tiles * columns * depth; ++i) b[i] = __float2half(i * 5 % 13 - 6);
  product<<<tiles, 192>>>(a, b, c);
  cudaDeviceSynchronize();
  for (int r = 0; r < rows; ++r)
    for (int n = 0; n < tiles * columns; ++n) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) sum += __half2float(a[r * depth + k]) * __half2float(b[n * depth + k]);
      if (c[r * tiles * columns + n] != sum) return std::printf("row %d, column %d: %g\n", r, n, c[r * tiles * columns + n]);
    }
}
