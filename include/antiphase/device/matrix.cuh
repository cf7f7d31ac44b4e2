// SPDX-License-Identifier: Apache-2.0
// Tensor Core operations of one warp (ldmatrix, mma.sync; sm_80).
#pragma once
#include <antiphase/device/shared.cuh>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// All lanes of a warp call these together. Two f16 share a register, the one of lower index in its lower
// half; with g = lane / 4 and q = lane % 4 a lane holds
//   of a 16x16 A   a[0]: row g, columns 2q, 2q + 1; a[1]: row g + 8; a[2], a[3]: the same, eight columns on
//   of a 16x8 B    b[0]: rows 2q, 2q + 1 of column g; b[1]: eight rows on
//   of a 16x8 sum  sum[0], sum[1]: row g, columns 2q, 2q + 1; sum[2], sum[3]: row g + 8
// A double is a register pair of its own:
//   of a 16x4 A    a[0]: row g, column q; a[1]: row g + 8
//   of a 4x8 B     b: row q of column g
//   of a 16x8 A    a[0], a[1]: as above; a[2], a[3]: the same, four columns on
//   of an 8x8 B    b[0], b[1]: rows q, q + 4 of column g
//
//   ldmatrix              loads four 8x8 matrices of f16 from shared memory: lane 8 i + r passes the address
//                         of row r of matrix i, aligned to 16 bytes; to[i] receives row g, columns 2q, 2q + 1
//                         of matrix i
//   ldmatrix_transposed   the same for the transposed matrices
//   mma                   sum += A B. f16: products are exact, the sum is not rounded as by IEEE
//                         (docs/design/executor.md). double: a chain of IEEE fused multiply-adds in the order
//                         of k
#if AP_ON_GPU
AP_DEV void ldmatrix(std::uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
AP_DEV void ldmatrix_transposed(std::uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
AP_DEV void mma(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
      "%1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
AP_DEV void mma(double (&sum)[4], const double (&a)[2], double b) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(a[0]), "d"(a[1]), "d"(b));
#else  // Ampere knows only the upper and the lower half
  AP_UNROLL
  for (int i = 0; i < 2; ++i)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(sum[2 * i]), "+d"(sum[2 * i + 1])
                 : "d"(a[i]), "d"(b));
#endif
}
AP_DEV void mma(double (&sum)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
      "%1, %2, %3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  mma(sum, {a[0], a[1]}, b[0]);
  mma(sum, {a[2], a[3]}, b[1]);
#endif
}
#else
AP_DEV void ldmatrix(std::uint32_t (&to)[4], const void* row,
                     machine::place where = machine::place::current()) {
  machine::load_matrices(to, row, false, where);
}
AP_DEV void ldmatrix_transposed(std::uint32_t (&to)[4], const void* row,
                                machine::place where = machine::place::current()) {
  machine::load_matrices(to, row, true, where);
}
AP_DEV void mma(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                machine::place where = machine::place::current()) {
  machine::warp_multiply(sum, a, b, where);
}
AP_DEV void mma(double (&sum)[4], const double (&a)[2], double b,
                machine::place where = machine::place::current()) {
  machine::warp_multiply(sum, a, b, where);
}
AP_DEV void mma(double (&sum)[4], const double (&a)[4], const double (&b)[2],
                machine::place where = machine::place::current()) {
  machine::warp_multiply(sum, {a[0], a[1]}, b[0], where);
  machine::warp_multiply(sum, {a[2], a[3]}, b[1], where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
