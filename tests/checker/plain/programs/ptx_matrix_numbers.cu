// SPDX-License-Identifier: Apache-2.0
// mma.sync of bytes, numbers of 4 bits, floating numbers of 8 bits, and double, with elements placed as the
// PTX ISA says. Broken: sums are stored without a barrier over what other warps still read.
#include <cstdint>
#include <cstdio>

__device__ int left(int row, int k) { return (row * 3 + k * 5) % 4; }
__device__ int right(int k, int column) { return (k * 2 + column * 3) % 3; }
__device__ int product(int row, int column, int depth) {
  int sum = 0;
  for (int k = 0; k < depth; ++k) sum += left(row, k) * right(k, column);
  return sum;
}
// Registers of A (rows of 8 or 16) and B: `bits` a number, made from an integer by `coded`.
template <int rows, int bits, int registers, class Code>
__device__ void fill_a(uint32_t (&a)[registers], Code coded) {
  const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4, beside = 32 / bits;
  for (int r = 0; r < registers; ++r) {
    a[r] = 0;
    for (int i = 0; i < beside; ++i) {
      const int row = rows == 8 || r % 2 == 0 ? group : group + 8;
      const int k = in_group * beside + i + (rows == 8 ? r : r / 2) * 4 * beside;
      a[r] |= coded(left(row, k)) << i * bits;
    }
  }
}
template <int bits, int registers, class Code> __device__ void fill_b(uint32_t (&b)[registers], Code coded) {
  const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4, beside = 32 / bits;
  for (int r = 0; r < registers; ++r) {
    b[r] = 0;
    for (int i = 0; i < beside; ++i)
      b[r] |= coded(right(in_group * beside + i + r * 4 * beside, group)) << i * bits;
  }
}
template <class T> __device__ bool is_product(const T* c, int sums, int depth) {
  const int lane = threadIdx.x % 32;
  bool good = true;
  for (int i = 0; i < sums; ++i) good &= c[i] == product(lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2, depth);
  return good;
}
__device__ uint32_t whole(int x) { return static_cast<uint32_t>(x); }
__device__ uint32_t e4m3(int x) { return x == 0 ? 0 : x == 1 ? 0x38 : x == 2 ? 0x40 : 0x44; }
__device__ uint32_t e5m2(int x) { return x == 0 ? 0 : x == 1 ? 0x3C : x == 2 ? 0x40 : 0x42; }

__global__ void shapes(unsigned* wrong) {
  unsigned bad = 0;
  {
    uint32_t a[4], b[2];
    int d[4] = {};
    fill_a<16, 8>(a, whole), fill_b<8>(b, whole);
    asm("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    bad |= is_product(d, 4, 32) ? 0 : 1;
    float e[4] = {};
    fill_a<16, 8>(a, e4m3), fill_b<8>(b, e5m2);
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(e[0]), "+f"(e[1]), "+f"(e[2]), "+f"(e[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    bad |= is_product(e, 4, 32) ? 0 : 2;
    int f[4] = {};
    fill_a<16, 4>(a, whole), fill_b<4>(b, whole);
    asm("mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(f[0]), "+r"(f[1]), "+r"(f[2]), "+r"(f[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    bad |= is_product(f, 4, 64) ? 0 : 4;
  }
  {
    uint32_t a[1], b[1];
    int d[2] = {};
    fill_a<8, 8>(a, whole), fill_b<8>(b, whole);
    asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+r"(d[0]), "+r"(d[1])
        : "r"(a[0]), "r"(b[0]));
    bad |= is_product(d, 2, 16) ? 0 : 8;
  }
  const int group = threadIdx.x % 32 / 4, in_group = threadIdx.x % 4;
  double a[4], b[2], d[4] = {}, e[2] = {};
  for (int i = 0; i < 4; ++i) a[i] = left(group + i % 2 * 8, in_group + i / 2 * 4);
  for (int i = 0; i < 2; ++i) b[i] = right(in_group + i * 4, group);
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
  bad |= is_product(d, 4, 8) ? 0 : 16;
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(e[0]), "+d"(e[1])
      : "d"(a[0]), "d"(b[0]));
  bad |= is_product(e, 2, 4) ? 0 : 32;
  if (bad != 0) atomicOr(wrong, bad);
}

// Each warp takes the bytes of a row of tiles and puts sums into the same memory.
__global__ void in_place(int8_t* x) {
  __shared__ alignas(16) int8_t tile[64][16];
  for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) tile[i / 16][i % 16] = x[i];
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t a = *reinterpret_cast<const uint32_t*>(&tile[8 * warp + lane / 4][lane % 4 * 4]),
                 b = *reinterpret_cast<const uint32_t*>(&tile[8 * (warp ^ 1) + lane / 4][lane % 4 * 4]);
  int d[2] = {};
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(a), "r"(b));
#ifndef BROKEN
  __syncthreads();
#endif
  for (int i = 0; i < 2; ++i)
    tile[8 * warp + lane / 4][lane % 4 * 2 + i] = d[i];  // FOUND: overwritten in use
  __syncthreads();
  for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) x[i] = tile[i / 16][i % 16];
}

int main() {
  unsigned bad = 0, *wrong;
  int8_t* x;
  cudaMalloc(&wrong, sizeof bad), cudaMalloc(&x, 64 * 16);
  cudaMemset(wrong, 0, sizeof bad), cudaMemset(x, 1, 64 * 16);
  shapes<<<1, 32>>>(wrong);
  in_place<<<1, 256>>>(x);
  cudaMemcpy(&bad, wrong, sizeof bad, cudaMemcpyDeviceToHost);
  int8_t first = 0;
  cudaMemcpy(&first, x, 1, cudaMemcpyDeviceToHost);
  cudaFree(wrong), cudaFree(x);
  if (bad != 0 || first != 16) return std::printf("wrong products: %#x, %d\n", bad, first), 1;
}
