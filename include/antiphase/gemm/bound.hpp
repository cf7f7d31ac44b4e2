// SPDX-License-Identifier: Apache-2.0
// How far an output of a matrix product may be from the exact one: the only home of these numbers.
// docs/accuracy.md says where they come from.
#pragma once
#include <antiphase/executor/features.hpp>
#include <cstdint>
#include <limits>

namespace antiphase {

// For finite A and B, of C = A B: |C - AB| <= units * u * |A||B| + absolute, for every output within the
// range of FP32. u = 2^-24; |A||B| is what the magnitudes of the output's K products add up to. Infinite
// units: nothing is promised.
struct gemm_bound {
  static constexpr double u = 0x1p-24;  // what one rounding to FP32 costs, relative
  // what one costs whose result is denormal: half of the smallest number
  static constexpr double underflow = 0x1p-150;

  double units = 0;
  double absolute = 0;  // the roundings of denormal results, in all
  double pieces = 1;    // of K: C is rounded once for each

  constexpr double allowed(double magnitudes) const { return units * u * magnitudes + absolute; }
  // The same for C = alpha A B + beta C0, unless alpha = 1 and beta = 0. `product`: |alpha AB|, `added`:
  // |beta C0|. For each piece of K there are two more roundings: of alpha times its sum, and of C. Whatever
  // they make of the error so far, or of sums of pieces that cancel, is less than the unit and the absolute
  // error that are counted once more here.
  constexpr double allowed(double magnitudes, double alpha, double product, double added) const {
    const double factor = alpha < 0 ? -alpha : alpha;
    return factor * (units + 1) * u * magnitudes + u * (2 * product + (1 + pieces) * added) +
           2 * (factor * absolute + pieces * underflow);
  }
};
// Whether whoever was promised `asked` has nothing to complain of.
constexpr bool keeps(const gemm_bound& is, const gemm_bound& asked) {
  return is.units <= asked.units && is.absolute <= asked.absolute;
}

// What adds up the products.
enum class gemm_sums {
  multiply_adds,  // of FP32, in any order: ladder steps, strict
  doubles,        // sums in FP64, rounded once: short
  hopper,         // products of split operands by Tensor Cores that add like those of compute capability 9.0
  ampere,         // like those of 8.x, as published measurements say
  unknown,        // or in a way that is not known
};

// What adds up products of split operands on Tensor Cores that round like that.
constexpr gemm_sums sums_of(tensor_core_sums rounds) {
  switch (rounds) {
    case tensor_core_sums::hopper: return gemm_sums::hopper;
    case tensor_core_sums::ampere: return gemm_sums::ampere;
    case tensor_core_sums::unknown: break;
  }
  return gemm_sums::unknown;
}

// Products of split operands take K in pieces of so many: the norms that certify them are sums of integers
// below 2^15 in 32 bits, and half as many as would fit keep K / 59 short.
constexpr std::int64_t k_of_a_piece = 65536;

// What is promised of products with that K, from 0 on: of those that Tensor Cores add up like compute
// capability 9.0 80 + K / 59 units, like 8.x 121 + K / 55, and one more for each piece of K behind the first.
constexpr gemm_bound bound_of(gemm_sums how, std::int64_t k) {
  if (k <= 0) return {};
  const auto depth = static_cast<double>(k);
  // each but the first is one more addition; each may underflow
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
