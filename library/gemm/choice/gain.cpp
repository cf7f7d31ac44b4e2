// SPDX-License-Identifier: Apache-2.0
#include <antiphase/gemm/gain.hpp>

#include <algorithm>
#include <cmath>

#include "library/costs/models.hpp"
#include "library/gemm/operands/cost_terms.hpp"

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

// Microseconds that `tiles` of this form take for k of their multiply-adds, if each is computed in `parts`.
double microseconds(const costs::models& card, std::size_t tile, double tiles, double k, double parts) {
  const costs::cublas_cost& cost = card.cublas;
  const costs::cublas_cost::tile& t = costs::cublas_cost::tiles[tile];
  const double rounds = std::max(cost.alone, std::ceil(tiles * parts / card.multiprocessors));
  return as_double(t.longer * t.shorter) * k * rounds / (128 * cost.clock * cost.reached[tile]);
}
double tiles_of(const costs::cublas_cost::tile& t, const gemms::problem& p) {
  const auto blocks = [](std::int64_t extent, std::int64_t of) {
    return std::ceil(as_double(extent) / as_double(of));
  };
  return std::min(blocks(p.m(), t.longer) * blocks(p.n(), t.shorter),
                  blocks(p.m(), t.shorter) * blocks(p.n(), t.longer));
}

// Least of f(parts, what adding up the parts takes) over the split-K factors that cuBLAS uses.
template <class F>
double least_of_parts(const costs::cublas_cost& cost, const gemms::problem& p, double count, F f) {
  constexpr std::int64_t least_part = 64;
  double best = HUGE_VAL;
  for (const std::int64_t parts : {1, 2, 4, 8, 16, 32}) {
    if (parts > 1 && p.k() < least_part * parts) break;
    const double sums = as_double(parts) * count * as_double(p.m()) * as_double(p.n()) * 2 * sizeof(float);
    best = std::min(best, f(as_double(parts), parts == 1 ? 0 : cost.add_up + sums / cost.add_up_rate));
  }
  return best;
}

// A matrix times a vector: reading the matrix, or what a line waits for its sum.
double microseconds_of_vector(const costs::models& card, double bytes, double k) {
  const costs::cublas_cost& cost = card.cublas;
  const double far = gemms::far_share(card, bytes);
  const double read = bytes * ((1 - far) / cost.kept_vector_rate + far / cost.vector_rate);
  return cost.start + std::max(read, cost.deep_line * std::min(1., k / cost.deep_k));
}
// A matrix times a few lines: reading it, or the steps of K one after the other, in parts. The smallest tile
// stands for the kernels that cuBLAS has for these; they have no prologue.
double microseconds_of_few_lines(const costs::models& card, double read, const gemms::problem& p,
                                 double count) {
  constexpr std::size_t smallest = std::size(costs::cublas_cost::tiles) - 1;
  const double steps = least_of_parts(card.cublas, p, count, [&](double parts, double adding) {
    return microseconds(card, smallest, count, std::ceil(as_double(p.k()) / parts), parts) + adding;
  });
  return card.cublas.start + std::max(read, card.cublas.worse * steps);
}

double microseconds(const costs::models& card, const gemms::problem& given, const gemms::batch& of) {
  const costs::cublas_cost& cost = card.cublas;
  constexpr std::int64_t few = 4, few_columns = 8;
  const gemms::problem p = by_columns(given);
  const double bytes = bytes_of(p, of), count = as_double(of.count);
  if (std::min(p.m(), p.n()) == 1) return microseconds_of_vector(card, bytes, as_double(p.k()));
  if (p.m() <= few && p.b.row_stride == 1)
    return microseconds_of_few_lines(card, bytes / cost.few_rows_rate, p, count);
  if (std::min(p.m(), p.n()) <= few || (p.n() <= few_columns && p.a.row_stride == 1))
    return microseconds_of_few_lines(card, bytes / cost.vector_rate, p, count);
  const double read = bytes / cost.rate * (is_unaligned(p.a) || is_unaligned(p.b) ? 1 + cost.unaligned : 1);
  double best = HUGE_VAL;
  for (std::size_t tile = 0; tile < std::size(costs::cublas_cost::tiles); ++tile) {
    const double tiles = count * tiles_of(costs::cublas_cost::tiles[tile], p);
    best = std::min(best, least_of_parts(cost, p, count, [&](double parts, double adding) {
                      const double k = std::ceil(as_double(p.k()) / parts) + cost.fill;
                      return std::max(read, microseconds(card, tile, tiles, k, parts)) + adding;
                    }));
  }
  return cost.start + cost.worse * best;
}

// Safety factor on our own predicted time.
double doubt(const costs::cublas_cost& cost, const gemms::problem& p, const gemms::batch& of) {
  constexpr double small = 64 * 64 * 64, small_along_k = 128 * 128 * 64;
  constexpr std::int64_t few_k = 64, fewest_k = 8;
  constexpr double many_bytes = 4e6;
  const double size = as_double(p.m()) * as_double(p.n()) * as_double(p.k());
  const bool along_k = p.a.column_stride == 1 && p.b.row_stride == 1;
  double of_all = 1;
  if (of.count > 1 && (size < small || (along_k && size <= small_along_k))) of_all *= cost.doubt_of_small;
  if (p.beta != 0 ? p.k() <= few_k : p.k() <= fewest_k && bytes_of(p, of) >= many_bytes)
    of_all *= cost.doubt_of_few_k;
  return of_all;
}
double doubted(const device_limits& device, const gemms::problem& p, const gemms::batch& of, double seconds) {
  const costs::models* const card = costs::fitted_models_of(device);
  return card == nullptr ? seconds : seconds * doubt(card->cublas, p, of);
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

double host_saved(const device_limits& device, std::size_t workspace) {
  const costs::host_cost& host = costs::models_of(device).host;
  return 1e-6 * (host.cublas - host.call - (workspace > 0 ? host.more_with_workspace : 0));
}

double gain_over_cublas(const device_limits& device, const gemms::problem& p, const gemms::batch& of,
                        double seconds) {
  const double theirs = cublas_seconds(device, p, of), ours = doubted(device, p, of, seconds);
  const costs::models* const card = costs::fitted_models_of(device);
  const double least =
      card == nullptr ? 0 : std::min(1e-6 * card->cublas.least_saved, card->cublas.least_share * theirs);
  return theirs - ours < least ? std::min(theirs / ours, 1.) : theirs / ours;
}

double eager_gain_over_cublas(const device_limits& device, const gemms::problem& p, const gemms::batch& of,
                              double seconds, std::size_t workspace) {
  const double theirs = 1e-6 * costs::models_of(device).host.cublas,
               ours = theirs - host_saved(device, workspace);
  const double theirs_of_gpu = cublas_seconds(device, p, of), ours_of_gpu = doubted(device, p, of, seconds);
  if (theirs_of_gpu > theirs) return gain_over_cublas(device, p, of, seconds);
  return std::min(theirs / std::max(ours_of_gpu, ours), (theirs_of_gpu + theirs) / (ours_of_gpu + ours));
}

}  // namespace antiphase
