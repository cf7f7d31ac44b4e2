// SPDX-License-Identifier: Apache-2.0
// mma.sync of bytes, numbers of 4 bits, floating numbers of 8 bits, and double, and mma.sp of a sparse A,
// with elements and metadata placed as the PTX ISA has them. Broken: sums are stored without a barrier
// over what other warps still read.
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

// A sparse A: `kept` numbers of each group of `of` are there, in columns that differ by row and group.
__device__ int column_kept(int row, int group, int i, int of) {
  constexpr int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  return of == 2 ? (row + group) % 2 : pairs[(row + 2 * group) % 6][i];
}
template <int of> __device__ uint32_t four_bits(int row, int group) {
  if (of == 2) return column_kept(row, group, 0, 2) == 0 ? 0x4 : 0xE;
  return column_kept(row, group, 0, 4) | column_kept(row, group, 1, 4) << 2;
}
// Registers of A, of numbers of `bits`.
template <int bits, int of, int registers, class Code>
__device__ void fill_sparse_a(uint32_t (&a)[registers], Code coded) {
  const int lane = threadIdx.x % 32, beside = 32 / bits, kept = of / 2;
  for (int r = 0; r < registers; ++r) {
    a[r] = 0;
    for (int i = 0; i < beside; ++i) {
      const int row = lane / 4 + r % 2 * 8, k = (lane % 4 + r / 2 * 4) * beside + i, group = k / kept;
      a[r] |= coded(left(row, group * of + column_kept(row, group, k % kept, of))) << i * bits;
    }
  }
}
template <int of> __device__ int sparse_product(int row, int column, int depth) {
  int sum = 0;
  for (int group = 0; group < depth / of; ++group)
    for (int i = 0; i < of / 2; ++i) {
      const int k = group * of + column_kept(row, group, i, of);
      sum += left(row, k) * right(k, column);
    }
  return sum;
}
template <int of, class T> __device__ bool is_sparse_product(const T* d, int depth) {
  bool good = true;
  for (int i = 0; i < 4; ++i)
    good &= d[i] == sparse_product<of>(threadIdx.x % 32 / 4 + i / 2 * 8, threadIdx.x % 4 * 2 + i % 2, depth);
  return good;
}
__device__ uint32_t f16(int x) { return x == 0 ? 0 : x == 1 ? 0x3C00 : x == 2 ? 0x4000 : 0x4200; }
__device__ uint32_t tf32(int x) { return __float_as_uint(static_cast<float>(x)); }

// Lanes that hold no metadata have words that would be wrong.
__global__ void sparse(unsigned* wrong) {
  unsigned bad = 0;
  const int lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
  const auto metadata = [&](int row, int first, int count, auto bits) {
    uint32_t word = 0;
    for (int i = 0; i < count; ++i) word |= bits(row, first + i) << 4 * i;
    return word;
  };
  const auto of_four = [](int row, int g) { return four_bits<4>(row, g); };
  const auto of_two = [](int row, int g) { return four_bits<2>(row, g); };
  const auto of_rows = [&](int first, auto bits) {
    return metadata(group, first, 4, bits) | metadata(group + 8, first, 4, bits) << 16;
  };
  uint32_t a[4], b[4];
  {
    float d[4] = {};
    fill_sparse_a<16, 4>(a, f16), fill_b<16>(b, f16);
    const uint32_t e = in_group < 2 ? 0x44444444 : of_rows(in_group % 2 * 4, of_four);
    asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, "
        "{%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x1;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(e));
    bad |= is_sparse_product<4>(d, 32) ? 0 : 1;
  }
  {
    float d[4] = {};
    uint32_t few[2], half[2];
    fill_sparse_a<16, 4>(few, f16), fill_b<16>(half, f16);
    const uint32_t e = in_group != 3 ? 0x44444444 : of_rows(0, of_four);
    asm("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, "
        "{%0,%1,%2,%3}, "
        "%8, 3;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(few[0]), "r"(few[1]), "r"(half[0]), "r"(half[1]), "r"(e));
    bad |= is_sparse_product<4>(d, 16) ? 0 : 2;
  }
  {
    float d[4] = {};
    fill_sparse_a<32, 2>(a, tf32), fill_b<32>(b, tf32);
    const uint32_t e = in_group > 1 ? 0x44444444 : of_rows(in_group * 4, of_two);
    asm("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9,%10,%11}, "
        "{%0,%1,%2,%3}, %12, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(e));
    bad |= is_sparse_product<2>(d, 16) ? 0 : 4;
  }
  {
    int d[4] = {};
    fill_sparse_a<8, 4>(a, whole), fill_b<8>(b, whole);
    const uint32_t e = metadata(group + in_group % 2 * 8, in_group / 2 * 8, 8, of_four);
    asm("mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, "
        "{%0,%1,%2,%3}, %12, 0;"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(e));
    bad |= is_sparse_product<4>(d, 64) ? 0 : 8;
  }
  if (bad != 0) atomicOr(wrong, bad << 8);
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
  sparse<<<1, 32>>>(wrong);
  in_place<<<1, 256>>>(x);
  cudaMemcpy(&bad, wrong, sizeof bad, cudaMemcpyDeviceToHost);
  int8_t first = 0;
  cudaMemcpy(&first, x, 1, cudaMemcpyDeviceToHost);
  cudaFree(wrong), cudaFree(x);
  if (bad != 0 || first != 16) return std::printf("wrong products: %#x, %d\n", bad, first), 1;
}
