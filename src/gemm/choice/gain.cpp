// SPDX-License-Identifier: Apache-2.0
#include <antiphase/gemm/gain.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/gemm/choice/cublas_law.hpp"
#include "src/gemm/laws/cost.hpp"
#include "src/gemm/laws/laws.hpp"

namespace antiphase {
namespace {

using gemms::cublas_law;

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
double microseconds(const cublas_law& law, const cublas_law::tile& t, const gemms::problem& p, double count,
                    double parts) {
  const auto blocks = [](std::int64_t extent, std::int64_t of) {
    return std::ceil(as_double(extent) / as_double(of));
  };
  const double tiles = std::min(blocks(p.m(), t.longer) * blocks(p.n(), t.shorter),
                                blocks(p.m(), t.shorter) * blocks(p.n(), t.longer));
  const double rounds = std::max(law.alone, std::ceil(tiles * count * parts / law.multiprocessors));
  return as_double(t.longer * t.shorter) * (std::ceil(as_double(p.k()) / parts) + law.fill) * rounds /
         (128 * law.clock * t.reached);
}

double microseconds(const cublas_law& law, const gemms::problem& given, const gemms::batch& of) {
  constexpr std::int64_t few = 4, few_columns = 8, least_part = 64;
  const gemms::problem p = by_columns(given);
  const double bytes = bytes_of(p, of), count = as_double(of.count);
  if (p.m() > 1 && p.m() <= few && p.b.row_stride == 1) return law.start + bytes / law.few_rows_bytes;
  if (std::min(p.m(), p.n()) <= few || (p.n() <= few_columns && p.a.row_stride == 1))
    return law.start + bytes / law.vector_bytes;
  const double read = bytes / law.bytes * (is_unaligned(p.a) || is_unaligned(p.b) ? 1 + law.unaligned : 1);
  double best = HUGE_VAL;
  for (const cublas_law::tile& t : law.tiles)
    for (const std::int64_t parts : {1, 2, 4, 8, 16, 32}) {
      if (parts > 1 && p.k() < least_part * parts) break;
      const double one = std::max(read, microseconds(law, t, p, count, as_double(parts)));
      const double sums = as_double(parts) * count * as_double(p.m()) * as_double(p.n()) * 2 * sizeof(float);
      best = std::min(best, parts == 1 ? one : one + law.add_up + sums / law.add_up_bytes);
    }
  return law.start + law.worse * best;
}

// Safety factor on a predicted gain where our own predictions were seen to be too low: batches of small
// members, and short K with C read.
double doubt(const gemms::problem& p, const gemms::batch& of) {
  constexpr double small = 64 * 64 * 64;
  constexpr std::int64_t few_k = 64;
  double of_all = 1;
  if (of.count > 1 && as_double(p.m()) * as_double(p.n()) * as_double(p.k()) < small) of_all *= 1.4;
  if (p.beta != 0 && p.k() <= few_k) of_all *= 1.2;
  return of_all;
}

}  // namespace

bool is_measured(const device_limits& device) {
  return gemms::cublas_law_of(device) != nullptr && gemms::fitted_laws_of(device) != nullptr;
}

double multiply_adds_seconds(const device_limits& device, const gemms::problem& p, const gemms::batch& of) {
  constexpr double reached = 0.8;
  const double products = as_double(of.count) * as_double(p.m()) * as_double(p.n()) * as_double(p.k());
  return gemms::predicted({.fp32 = products / reached, .bytes = bytes_of(p, of)}, device);
}

double cublas_seconds(const device_limits& device, const gemms::problem& p, const gemms::batch& of) {
  const cublas_law* const law = gemms::cublas_law_of(device);
  return law == nullptr ? multiply_adds_seconds(device, p, of) : 1e-6 * microseconds(*law, p, of);
}

double gain_over_cublas(const device_limits& device, const gemms::problem& p, const gemms::batch& of,
                        double seconds) {
  constexpr double least_saved = 1.6e-6;
  const cublas_law* const law = gemms::cublas_law_of(device);
  if (law == nullptr) return cublas_seconds(device, p, of) / seconds;
  const double theirs = cublas_seconds(device, p, of), gain = theirs / seconds / doubt(p, of);
  return theirs - seconds < least_saved ? std::min(gain, 1.) : gain;
}

}  // namespace antiphase
