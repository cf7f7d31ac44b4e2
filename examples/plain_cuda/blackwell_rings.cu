// SPDX-License-Identifier: Apache-2.0
// Two rings of Blackwell: sums in Tensor Memory, and tiles from cluster launch control. C = A B^T of f16, in
// tiles of 32 columns; a block multiplies its own tile, and those of blocks whose launch it cancels.
#include <cuda_fp16.h>
#include <cstdio>

constexpr int rows = 128, columns = 32, depth = 16, tiles = 4, wide = tiles * columns, slots = 2;
#define PTX(code, ...) asm volatile(code ::__VA_ARGS__ : "memory")
using mbarrier = unsigned long long;
struct ring {
  mbarrier full[slots], empty[slots];
};
struct memory {
  half a[(rows + wide) * depth];  // A, then B, in matrices of 8 rows and 16 bytes
  uint4 answer[slots];
  ring tile, sum;
  unsigned sums;  // address in Tensor Memory
};
__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void initialize(ring& r, int slot, int parties) {
  PTX("mbarrier.init.shared.b64 [%0], 1;", "r"(address(&r.full[slot])));
  PTX("mbarrier.init.shared.b64 [%0], %1;", "r"(address(&r.empty[slot])), "r"(parties));
}
__device__ void arrive(mbarrier& b) { PTX("mbarrier.arrive.shared.b64 _, [%0];", "r"(address(&b))); }
__device__ void wait(mbarrier& b, int phase) {
  PTX("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra W; }", "r"(address(&b)),
      "r"(phase & 1));
}
__device__ void wait_for_slot(ring& r, int i) {  // in the first rounds all slots are empty
  if (i >= slots) wait(r.empty[i % slots], i / slots - 1);
}
__device__ void ask_for_tile(memory& m, int i) {
  const unsigned to = address(&m.answer[i % slots]), full = address(&m.tile.full[i % slots]);
  PTX("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 16;", "r"(full));
  PTX("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];",
      "r"(to), "r"(full));
}
__device__ int next_tile(memory& m, int i) {  // -1: all blocks have begun
  int tile;
  wait(m.tile.full[i % slots], i / slots);
  asm volatile(
      "{ .reg .pred p; .reg .b128 q; ld.shared.b128 q, [%1]; mov.s32 %0, -1;\n"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, q;\n"
      "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %0, q; }"
      : "=r"(tile)
      : "r"(address(&m.answer[i % slots]))
      : "memory");
  PTX("fence.proxy.async.shared::cta;", );  // the next answer comes by the async proxy
  arrive(m.tile.empty[i % slots]);
  return tile;
}
__device__ unsigned long long matrix(const half* first) {  // the descriptor of an operand
  return address(first) >> 4 | 8ull << 16 | 16ull << 32 | 1ull << 46;
}
__device__ void multiply(memory& m, unsigned to, int tile) {
  const unsigned form = 1 << 4 | columns / 8 << 17 | rows / 16 << 24;  // sums in f32
  PTX("{ .reg .pred p; setp.ne.b32 p, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }",
      "r"(to), "l"(matrix(m.a)), "l"(matrix(m.a + (rows + tile * columns) * depth)), "r"(form));
}
__global__ void __launch_bounds__(192) product(const half* a, const half* b, float* c) {
  __shared__ __align__(1024) memory m;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, lanes = warp % 4 * 32;
  for (int i = threadIdx.x; i < (rows + wide) * depth; i += blockDim.x) {
    const int row = i / depth, k = i % depth;  // rows of b follow those of a
    m.a[row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8] = row < rows ? a[i] : b[i - rows * depth];
  }
  if (threadIdx.x < slots) initialize(m.tile, threadIdx.x, 130), initialize(m.sum, threadIdx.x, 128);
  if (warp == 1)
    PTX("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;", "r"(address(&m.sums)));
  PTX("fence.proxy.async.shared::cta;", );
  __syncthreads();
  if (warp == 0 && lane == 0)
    for (int tile = blockIdx.x, i = 0; tile >= 0; tile = next_tile(m, i++))
      wait_for_slot(m.tile, i), ask_for_tile(m, i);
  if (warp == 1 && lane == 0)
    for (int tile = blockIdx.x, i = 0; tile >= 0; tile = next_tile(m, i++)) {
      wait_for_slot(m.sum, i);
      PTX("tcgen05.fence::after_thread_sync;", );
      multiply(m, m.sums + i % slots * columns, tile);
      PTX("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];",
          "r"(address(&m.sum.full[i % slots])));
    }
  if (warp >= 2)
    for (int tile = blockIdx.x, i = 0; tile >= 0; tile = next_tile(m, i++)) {
      float x[columns];
      wait(m.sum.full[i % slots], i / slots);
      PTX("tcgen05.fence::after_thread_sync;", );
      for (int n = 0; n < columns; n += 2)  // of the 32 lanes that this warp may access
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1}, [%2];"
                     : "=f"(x[n]), "=f"(x[n + 1])
                     : "r"(m.sums + i % slots * columns + n + (lanes << 16)));
#ifndef WITHOUT_WAIT
      PTX("tcgen05.wait::ld.sync.aligned;", );
#endif
      PTX("tcgen05.fence::before_thread_sync;", );
      arrive(m.sum.empty[i % slots]);
      for (int n = 0; n < columns; ++n) c[(lanes + lane) * wide + tile * columns + n] = x[n];
    }
  __syncthreads();
  if (warp == 1) PTX("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;", "r"(m.sums));
}
int main() {
  half *a, *b;
  float* c;
  int wrong = 0;
  cudaMallocManaged(&a, rows * depth * sizeof *a), cudaMallocManaged(&b, wide * depth * sizeof *b);
  cudaMallocManaged(&c, rows * wide * sizeof *c);
  for (int i = 0; i < rows * depth; ++i) a[i] = __float2half(i * 7 % 11 - 5);
  for (int i = 0; i < wide * depth; ++i) b[i] = __float2half(i * 5 % 13 - 6);
  product<<<tiles, 192>>>(a, b, c);
  cudaDeviceSynchronize();
  for (int i = 0; i < rows * wide; ++i) {
    float sum = 0;
    for (int k = 0; k < depth; ++k) sum += float(a[i / wide * depth + k]) * float(b[i % wide * depth + k]);
    wrong += c[i] != sum;
  }
  std::printf("%d of %d are wrong\n", wrong, rows * wide);
  cudaFree(a), cudaFree(b), cudaFree(c);
  return wrong != 0;
}
