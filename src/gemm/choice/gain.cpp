// SPDX-License-Identifier: Apache-2.0
#include <antiphase/gemm/gain.hpp>

#include <algorithm>
#include <cmath>

#include "src/costs/models.hpp"
#include "src/gemm/operands/cost_terms.hpp"

namespace antiphase {
namespace {

double as_double(std::int64_t x) { return static_cast<double>(x); }
double bytes_of(const gemms::problem& p, const gemms::batch& of) {
  const double m = as_double(p.m()), n = as_double(p.n()), k = as_double(p.k());
  return as_double(of.count) * sizeof(float) * (m * k + k * n + (p.beta == 0 ? 1 : 2) * m * n);
}

// Whether lines of the operand begin elsewhere than at multiples of 16 bytes.
bool is_unaligned(const matrix_view<const float>& v) {
  return (v.row_stride == 1 ? v.column_stride : v.row_stride) % 4 != 0;
}

// The problem as cuBLAS sees it: C column-major.
gemms::problem by_columns(const gemms::problem& p) {
  if (p.c.row_stride == 1 || p.c.column_stride != 1) return p;
  return {.a = transposed(p.b), .b = transposed(p.a), .c = transposed(p.c), .alpha = p.alpha, .beta = p.beta};
}

// Microseconds of multiply-adds with this tile and a split-K factor of `parts`.
double microseconds(const costs::models& card, std::size_t tile, const gemms::problem& p, double count,
                    double parts) {
  const costs::cublas_cost& cost = card.cublas;
  const costs::cublas_cost::tile& t = costs::cublas_cost::tiles[tile];
  const auto blocks = [](std::int64_t extent, std::int64_t of) {
    return std::ceil(as_double(extent) / as_double(of));
  };
  const double tiles = std::min(blocks(p.m(), t.longer) * blocks(p.n(), t.shorter),
                                blocks(p.m(), t.shorter) * blocks(p.n(), t.longer));
  const double rounds = std::max(cost.alone, std::ceil(tiles * count * parts / card.multiprocessors));
  return as_double(t.longer * t.shorter) * (std::ceil(as_double(p.k()) / parts) + cost.fill) * rounds /
         (128 * cost.clock * cost.reached[tile]);
}

double microseconds(const costs::models& card, const gemms::problem& given, const gemms::batch& of) {
  const costs::cublas_cost& cost = card.cublas;
  constexpr std::int64_t few = 4, few_columns = 8, least_part = 64;
  const gemms::problem p = by_columns(given);
  const double bytes = bytes_of(p, of), count = as_double(of.count);
  if (p.m() > 1 && p.m() <= few && p.b.row_stride == 1) return cost.start + bytes / cost.few_rows_rate;
  if (std::min(p.m(), p.n()) <= few || (p.n() <= few_columns && p.a.row_stride == 1))
    return cost.start + bytes / cost.vector_rate;
  const double read = bytes / cost.rate * (is_unaligned(p.a) || is_unaligned(p.b) ? 1 + cost.unaligned : 1);
  double best = HUGE_VAL;
  for (std::size_t tile = 0; tile < std::size(costs::cublas_cost::tiles); ++tile)
    for (const std::int64_t parts : {1, 2, 4, 8, 16, 32}) {
      if (parts > 1 && p.k() < least_part * parts) break;
      const double one = std::max(read, microseconds(card, tile, p, count, as_double(parts)));
      const double sums = as_double(parts) * count * as_double(p.m()) * as_double(p.n()) * 2 * sizeof(float);
      best = std::min(best, parts == 1 ? one : one + cost.add_up + sums / cost.add_up_rate);
    }
  return cost.start + cost.worse * best;
}

// Safety factor on a predicted gain.
double doubt(const costs::cublas_cost& cost, const gemms::problem& p, const gemms::batch& of) {
  constexpr double small = 64 * 64 * 64;
  constexpr std::int64_t few_k = 64;
  double of_all = 1;
  if (of.count > 1 && as_double(p.m()) * as_double(p.n()) * as_double(p.k()) < small)
    of_all *= cost.doubt_of_small;
  if (p.beta != 0 && p.k() <= few_k) of_all *= cost.doubt_of_few_k;
  return of_all;
}

}  // namespace

bool is_measured(const device_limits& device) { return costs::fitted_models_of(device) != nullptr; }

double multiply_adds_seconds(const device_limits& device, const gemms::problem& p, const gemms::batch& of) {
  constexpr double reached = 0.8;
  const double products = as_double(of.count) * as_double(p.m()) * as_double(p.n()) * as_double(p.k());
  return gemms::predicted({.fp32 = products / reached, .bytes = bytes_of(p, of)}, device);
}

double cublas_seconds(const device_limits& device, const gemms::problem& p, const gemms::batch& of) {
  const costs::models* const card = costs::fitted_models_of(device);
  return card == nullptr ? multiply_adds_seconds(device, p, of) : 1e-6 * microseconds(*card, p, of);
}

double gain_over_cublas(const device_limits& device, const gemms::problem& p, const gemms::batch& of,
                        double seconds) {
  const costs::models* const card = costs::fitted_models_of(device);
  if (card == nullptr) return cublas_seconds(device, p, of) / seconds;
  const double theirs = cublas_seconds(device, p, of), gain = theirs / seconds / doubt(card->cublas, p, of);
  return theirs - seconds < 1e-6 * card->cublas.least_saved ? std::min(gain, 1.) : gain;
}

}  // namespace antiphase
