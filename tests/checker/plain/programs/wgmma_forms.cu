// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup with sums of f16, with a negated operand, of 8-bit numbers of two kinds, and with a
// sparse A of 16, 8 and 32 bits, from shared memory and from registers.
// Broken: no wgmma.fence comes before the sums of f16.
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

constexpr int rows = 64, columns = 8;

__device__ uint64_t describe(const void* p,
                             int row_pieces) {  // pieces of 8 x 16 bytes, along k, then along rows
  const uint64_t at = __cvta_generic_to_shared(p) >> 4;
  return at | uint64_t{128 >> 4} << 16 | uint64_t(128 * row_pieces >> 4) << 32;
}
template <class T> __device__ int place(int row, int k, int row_pieces) {
  constexpr int in_piece = 16 / sizeof(T);
  return ((row / 8 * row_pieces + k / in_piece) * 8 + row % 8) * in_piece + k % in_piece;
}
// Copies rows of `stored` numbers of A and of `depth` of B to shared memory.
template <class T>
__device__ void stage(T* a, T* b, const T* from_a, const T* from_b, int stored, int depth) {
  for (int i = threadIdx.x; i < rows * stored; i += 128)
    a[place<T>(i / stored, i % stored, stored * sizeof(T) / 16)] = from_a[i];
  for (int i = threadIdx.x; i < columns * depth; i += 128)
    b[place<T>(i / depth, i % depth, depth * sizeof(T) / 16)] = from_b[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
}
__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void end() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
__device__ void store(float* to, const float (&f)[4], float scale = 1) {
  const int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4;
  for (int i = 0; i < 4; ++i) to[(row + i / 2 * 8) * columns + t % 4 * 2 + i % 2] = scale * f[i];
}

// Sums of f16, twice: added, and subtracted by a negated B.
__global__ void half_sums(const half* a, const half* b, float* to) {
  __shared__ alignas(128) half x[rows * 16], y[columns * 16];
  stage(x, y, a, b, 16, 16);
  half2 sum[2] = {__floats2half2_rn(1, 1), __floats2half2_rn(1, 1)};
  uint32_t d[2];
  memcpy(d, sum, sizeof d);
#ifndef BROKEN
  begin();
#endif
  asm volatile(  // FOUND: barrier misuse
      "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, %2, %3, 1, 1, 1, 0, 0;"
      : "+r"(d[0]), "+r"(d[1])
      : "l"(describe(x, 2)), "l"(describe(y, 2)));
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, %2, %3, 1, 1, -1, 0, 0;"
               : "+r"(d[0]), "+r"(d[1])
               : "l"(describe(x, 2)), "l"(describe(y, 2)));
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, %2, %3, 1, -1, -1, 0, 0;"
               : "+r"(d[0]), "+r"(d[1])
               : "l"(describe(x, 2)), "l"(describe(y, 2)));
  end();
  memcpy(sum, d, sizeof d);
  store(to, {__low2float(sum[0]), __high2float(sum[0]), __low2float(sum[1]), __high2float(sum[1])});
}
__global__ void mixed_bytes(const unsigned char* a, const unsigned char* b, float* to) {
  __shared__ alignas(128) unsigned char x[rows * 32], y[columns * 32];
  stage(x, y, a, b, 32, 32);
  float f[4] = {};
  begin();
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e4m3 {%0, %1, %2, %3}, %4, %5, 0, 1, 1;"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
               : "l"(describe(x, 2)), "l"(describe(y, 2)));
  end();
  store(to, f);
}

// The `k`th number of a row of a sparse A stands in this column.
__host__ __device__ int column_of(int row, int k) {
  return k / 2 * 4 + (k % 2 == 0 ? row % 2 : 2 + k / 2 % 2);
}
__host__ __device__ int column_of_pair(int row, int k) { return 2 * k + (row + k) % 2; }
// Two bits for each number of a group of four columns; of 32-bit numbers 0b0100 or 0b1110 for each pair.
__device__ uint32_t group_of(int row, int group) {
  return column_of(row, 2 * group) % 4 | column_of(row, 2 * group + 1) % 4 << 2;
}
__device__ uint32_t pair_of(int row, int k) { return column_of_pair(row, k) % 2 ? 0xE : 0x4; }
// Metadata of 16-bit and 32-bit numbers: an even lane has the first four groups of rows r and r + 8, an odd
// one the next; selector 1: lanes 2 and 3 of four.
__device__ uint32_t metadata(uint32_t (*of)(int, int)) {
  const int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4;
  uint32_t word = 0;
  for (int i = 0; i < 8; ++i) word |= of(row + i / 4 * 8, t % 2 * 4 + i % 4) << 4 * i;
  return word;
}
// Metadata of 8-bit numbers: eight groups of a row, of row r + 8 in odd lanes.
__device__ uint32_t metadata_of_bytes() {
  const int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4 + t % 2 * 8;
  uint32_t word = 0;
  for (int i = 0; i < 8; ++i) word |= group_of(row, t % 4 / 2 * 8 + i) << 4 * i;
  return word;
}

__global__ void sparse_halves(const half* a, const half* b, float* to) {
  __shared__ alignas(128) half x[rows * 16], y[columns * 32];
  stage(x, y, a, b, 16, 32);
  const uint32_t of_lane = metadata(group_of), held = threadIdx.x % 4 < 2 ? of_lane : 0xFFFFFFFF;
  float f[4] = {2, 2, 2, 2};
  begin();
  asm volatile(
      "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, %6, 0, 1, 1, 1, 0, 0;"
      : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
      : "l"(describe(x, 2)), "l"(describe(y, 4)), "r"(held));
  end();
  // taken away from registers, with the other lanes' metadata, and added again
  const int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4;
  uint32_t of_a[4];
  for (int i = 0; i < 4; ++i) memcpy(&of_a[i], &a[(row + i % 2 * 8) * 16 + t % 4 * 2 + i / 2 * 8], 4);
  const uint32_t other = t % 4 < 2 ? 0xFFFFFFFF : of_lane;
  begin();
  asm volatile(
      "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, %9, 1, "
      "1, "
      "-1, 1, 0;"
      : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
      : "r"(of_a[0]), "r"(of_a[1]), "r"(of_a[2]), "r"(of_a[3]), "l"(describe(y, 4)), "r"(other));
  asm volatile(
      "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, %6, 0, 1, 1, 1, 0, 0;"
      : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
      : "l"(describe(x, 2)), "l"(describe(y, 4)), "r"(held));
  end();
  store(to, f);
}
__global__ void sparse_words(const float* a, const float* b, float* to) {
  __shared__ alignas(128) float x[rows * 8], y[columns * 16];
  stage(x, y, a, b, 8, 16);
  float f[4] = {};
  begin();
  asm volatile(
      "wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, %6, 0, 0, 1, -1;"
      : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
      : "l"(describe(x, 2)), "l"(describe(y, 4)), "r"(metadata(pair_of)));
  end();
  store(to, f, -1);
}
__global__ void sparse_bytes(const unsigned char* a, const unsigned char* b, float* to) {
  __shared__ alignas(128) unsigned char x[rows * 32], y[columns * 64];
  stage(x, y, a, b, 32, 64);
  int n[4] = {};
  begin();
  asm volatile("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.u8.s8 {%0, %1, %2, %3}, %4, %5, %6, 0, 0;"
               : "+r"(n[0]), "+r"(n[1]), "+r"(n[2]), "+r"(n[3])
               : "l"(describe(x, 2)), "l"(describe(y, 4)), "r"(metadata_of_bytes()));
  end();
  store(to, {float(n[0]), float(n[1]), float(n[2]), float(n[3])});
}

// A row has `stored` numbers of A and `depth` of B. The sums begin at `first`.
template <class T, class Value, class Column>
bool right(const char* name, void (*kernel)(const T*, const T*, float*), int stored, int depth, float first,
           T (*number_a)(int), T (*number_b)(int), Value value_a, Value value_b, Column column) {
  static T a[rows * 32], b[columns * 64], *of_a, *of_b;
  float sums[rows * columns], *to;
  for (int i = 0; i < rows * stored; ++i) a[i] = number_a(i * 7 / 3 + i / 5);
  for (int i = 0; i < columns * depth; ++i) b[i] = number_b(i * 5 / 2 + i / 7);
  cudaMalloc(&of_a, sizeof a), cudaMalloc(&of_b, sizeof b), cudaMalloc(&to, sizeof sums);
  cudaMemcpy(of_a, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(of_b, b, sizeof b, cudaMemcpyHostToDevice);
  kernel<<<1, 128>>>(of_a, of_b, to);
  cudaMemcpy(sums, to, sizeof sums, cudaMemcpyDeviceToHost);
  cudaFree(of_a), cudaFree(of_b), cudaFree(to);
  for (int i = 0; i < rows * columns; ++i) {
    const int row = i / columns;
    float sum = first;
    for (int k = 0; k < stored; ++k)
      sum += value_a(a[row * stored + k]) * value_b(b[i % columns * depth + column(row, k)]);
    if (sums[i] != sum) return std::printf("%s, %d: %g, expected %g\n", name, i, sums[i], sum), false;
  }
  return true;
}
half of_half(int i) { return __float2half(i % 5 - 2); }
float of_float(int i) { return i % 7 - 3; }
unsigned char e5m2(int i) { return "\x3C\xC0\x42"[i % 3]; }      // 1, -2, 3
unsigned char e4m3(int i) { return "\x38\x40\xB8\x30"[i % 4]; }  // 1, 2, -1, 0.5
unsigned char byte(int i) { return i * 37; }
float value_of_e5m2(unsigned char x) { return x == 0x3C ? 1 : x == 0xC0 ? -2 : 3; }
float value_of_e4m3(unsigned char x) { return x == 0x38 ? 1 : x == 0x40 ? 2 : x == 0xB8 ? -1 : 0.5f; }

int main() {
  const auto same = [](int, int k) { return k; };
  const auto of_halves = [](half x) { return __half2float(x); };
  const auto itself = [](float x) { return x; };
  float (*const is_unsigned)(unsigned char) = [](unsigned char x) { return float(x); };
  float (*const is_signed)(unsigned char) = [](unsigned char x) {
    return float(static_cast<signed char>(x));
  };
  bool all = right("half sums", half_sums, 16, 16, 1, of_half, of_half, of_halves, of_halves, same);
#ifdef BROKEN
  return 0;
#endif
  all &= right("bytes", mixed_bytes, 32, 32, 0, e5m2, e4m3, value_of_e5m2, value_of_e4m3, same);
  all &= right("sparse halves", sparse_halves, 16, 32, 2, of_half, of_half, of_halves, of_halves, column_of);
  all &= right("sparse words", sparse_words, 8, 16, 0, of_float, of_float, itself, itself, column_of_pair);
  all &= right("sparse bytes", sparse_bytes, 32, 64, 0, byte, byte, is_unsigned, is_signed, column_of);
  return all ? 0 : 1;
}
