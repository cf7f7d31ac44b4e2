// SPDX-License-Identifier: Apache-2.0
// Error bounds of matrix products: the only place with these numbers. docs/use/accuracy.md derives them.
#pragma once
#include <antiphase/executor/features.hpp>
#include <cstdint>
#include <limits>

namespace antiphase {

// For C = A B with finite A and B, |C - AB| <= units * u * |A||B| + absolute holds for every output within
// the range of FP32. u = 2^-24; |A||B| is the sum of the magnitudes of the output's K products. Infinite
// units: no guarantee.
struct gemm_bound {
  static constexpr double u = 0x1p-24;  // relative error of one rounding to FP32
  // absolute error of one rounding to a denormal result: half of the smallest number
  static constexpr double underflow = 0x1p-150;

  double units = 0;
  double absolute = 0;  // of all roundings to denormal results
  double pieces = 1;    // of K: C is rounded once for each

  // The error allowed for C = A B. `magnitudes`: |A||B| of the output.
  constexpr double allowed(double magnitudes) const { return units * u * magnitudes + absolute; }
  // The same for C = alpha A B + beta C0, unless alpha = 1 and beta = 0. `product`: |alpha AB|, `added`:
  // |beta C0|. Each piece of K has two more roundings: of alpha times its sum, and of C. Their effect on the
  // error so far, and on sums of pieces that cancel, is less than the additional unit and absolute error
  // counted here.
  constexpr double allowed(double magnitudes, double alpha, double product, double added) const {
    const double factor = alpha < 0 ? -alpha : alpha;
    return factor * (units + 1) * u * magnitudes + u * (2 * product + (1 + pieces) * added) +
           2 * (factor * absolute + pieces * underflow);
  }
};
// Whether the bound `is` implies the bound `asked`.
constexpr bool keeps(const gemm_bound& is, const gemm_bound& asked) {
  return is.units <= asked.units && is.absolute <= asked.absolute;
}

// How sums over k are computed.
enum class gemm_sums {
  multiply_adds,  // FP32 multiply-adds, in any order: ladder steps, strict
  doubles,        // in FP64, rounded once: short
  hopper,         // split operands on Tensor Cores that round like those of compute capability 9.0
  ampere,         // or like those of 8.x, by published measurements
  unknown,        // or in an unknown way
};

// The sums of split operands on Tensor Cores with this rounding.
constexpr gemm_sums sums_of(tensor_core_sums rounds) {
  switch (rounds) {
    case tensor_core_sums::hopper: return gemm_sums::hopper;
    case tensor_core_sums::ampere: return gemm_sums::ampere;
    case tensor_core_sums::unknown: break;
  }
  return gemm_sums::unknown;
}

// Products of split operands process K in pieces of this size: the norms that certify them are 32-bit sums of
// integers below 2^15, and half as many as would fit keep K / 59 short.
constexpr std::int64_t k_of_a_piece = 65536;

// The bound for products with this K >= 0. On Tensor Cores that round like compute capability 9.0: 80 + K /
// 59 units, like 8.x: 121 + K / 55, and one more for each piece of K after the first.
constexpr gemm_bound bound_of(gemm_sums how, std::int64_t k) {
  if (k <= 0) return {};
  const auto depth = static_cast<double>(k);
  // each piece after the first is one more addition, and each may underflow
  const auto pieces = static_cast<double>((k - 1) / k_of_a_piece + 1);
  switch (how) {
    case gemm_sums::multiply_adds: return {depth, depth * gemm_bound::underflow};
    case gemm_sums::doubles: return {1 + depth * 0x1p-29, gemm_bound::underflow};
    case gemm_sums::hopper: return {79 + depth / 59 + pieces, pieces * gemm_bound::underflow, pieces};
    case gemm_sums::ampere: return {120 + depth / 55 + pieces, pieces * gemm_bound::underflow, pieces};
    case gemm_sums::unknown: break;
  }
  return {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
}

}  // namespace antiphase
