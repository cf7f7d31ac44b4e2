// SPDX-License-Identifier: Apache-2.0
// Terms that the cost models share: bytes that a product moves, how its operands lie, and overlap.
#pragma once
#include <algorithm>
#include <antiphase/executor/limits.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cmath>
#include <cstdint>

#include "library/costs/models.hpp"

namespace antiphase::gemms {

inline int multiprocessors_of(const device_limits& device) { return std::max(1, device.multiprocessors); }
// Factor on times of FP64 Tensor Cores: an H200's multiply-adds per cycle and multiprocessor, 64, by the
// device's.
inline double fp64_slower(const device_limits& device) { return 64. / rates_of(device).fp64; }

// Share of the resident blocks that clusters of this size can use: a GPC's multiprocessors need not be a
// multiple of it.
inline double share_of_places(int cluster) { return cluster == 8 ? 0.8 : cluster == 4 ? 0.93 : 1; }

// Whether a densely packed matrix with rows of `extent` floats has rows that do not begin at multiples of 16
// bytes, which takes longer to read. Checked by extents, since an operand's actual layout must not decide
// over bits.
inline bool is_uneven(std::int64_t extent) { return extent > 1 && extent % 4 != 0; }

// Densely packed operands: the share of the four layouts (A and B along or across k) in which
//   *_uneven       rows of that operand begin anywhere; either: of at least one, so that threads have to copy
//   brief          the short operand has rows of 16 bytes, and TMA takes both operands
struct mean_layout {
  double a_uneven, b_uneven, long_uneven, short_uneven, either_uneven, brief;
  double short_rows;  // the short operand lies across k, and neither is uneven
};
inline mean_layout mean_layout_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  // is_uneven() of each operand in each layout. A single row has no stride that matters.
  const bool a_along = is_uneven(k) && m > 1, b_along = is_uneven(k) && n > 1,
             a_across = is_uneven(m) && k > 1, b_across = is_uneven(n) && k > 1;
  // brief: rows of 4 floats where the short operand lies across k, in half of the layouts
  const bool a_is_long = m >= n, brief = (a_is_long ? n : m) == 4;
  const double a_uneven = (a_along + a_across) / 2., b_uneven = (b_along + b_across) / 2.;
  return {.a_uneven = a_uneven,
          .b_uneven = b_uneven,
          .long_uneven = a_is_long ? a_uneven : b_uneven,
          .short_uneven = a_is_long ? b_uneven : a_uneven,
          .either_uneven = ((a_along || b_across) + (a_along || b_along) + (a_across || b_across) +
                            (a_across || b_along)) /
                           4.,
          .brief = !brief ? 0 : (!(a_is_long ? a_along : b_along) + !(a_is_long ? a_across : b_across)) / 4.,
          .short_rows =
              a_is_long ? !b_across * (!a_along + !a_across) / 4. : !a_across * (!b_along + !b_across) / 4.};
}

// How rows of a row-major C begin: at multiples of 32 bytes, a sector; of 16, half a sector; or anywhere.
enum class row_start { whole, half, anywhere };
inline row_start rows_of_c(std::int64_t n) {
  return is_uneven(n) ? row_start::anywhere : n > 1 && n % 8 != 0 ? row_start::half : row_start::whole;
}
inline double by_rows(row_start rows, double whole, double half, double anywhere) {
  return rows == row_start::anywhere ? anywhere : rows == row_start::half ? half : whole;
}

// Saturation of store buffers after `stored` bytes: 0 ... 1. Stores after them wait.
inline double filled(double stored, double to_fill) { return 1 - std::exp(-stored / to_fill); }

// Smooth maximum (4-norm) of two overlapping times: equal ones do not hide each other fully.
inline double longer(double one, double other) {
  const double a = one * one, b = other * other;
  return std::sqrt(std::sqrt(a * a + b * b));
}

// All that a cost model knows of a product.
struct product_shape {
  std::int64_t m, n, k, count = 1;
  bool reads_c = false;  // beta is not 0
  constexpr bool operator==(const product_shape&) const = default;
};
inline product_shape shape_of(const problem& p, const batch& of) {
  return {p.m(), p.n(), p.k(), of.count, p.beta != 0};
}
struct moved_bytes {
  double stored, read_of_c, operands;
  row_start rows;
  double all() const { return stored + read_of_c + operands; }
};
inline moved_bytes bytes_of(const product_shape& p) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const double stored = 4 * size(p.count) * size(p.m) * size(p.n);
  return {.stored = stored,
          .read_of_c = p.reads_c ? stored : 0,
          .operands = 4 * size(p.count) * (size(p.m) + size(p.n)) * size(p.k),
          .rows = rows_of_c(p.n)};
}
// The device's size relative to the fitted card, by multiprocessors.
inline double cards_of(const costs::models& l, const device_limits& device) {
  return static_cast<double>(multiprocessors_of(device)) / l.multiprocessors;
}
// Share of a product's bytes that comes from memory: 0 up to l.kept bytes, 1 from l.not_kept on.
inline double far_share(const costs::models& l, double bytes) {
  return std::clamp((bytes - l.kept) / (l.not_kept - l.kept), 0., 1.);
}
// Microseconds to move everything on the fitted card. near: the same if the L2 cache holds all of it.
inline double us_moved(const costs::models& l, const moved_bytes& b, double near) {
  const double far = far_share(l, b.all());
  if (far == 0) return near;
  const double rows = by_rows(b.rows, 1, l.far_half_rows, l.far_odd_rows);
  return (1 - far) * near + far * (rows * (b.stored / l.stored_rate + b.read_of_c / l.read_of_memory) +
                                   b.operands / l.memory_rate);
}
inline double us_to_move(const costs::models& l, const costs::moving_cost& how, const moved_bytes& b) {
  const double rows = by_rows(b.rows, 1, how.half_rows, how.odd_rows);
  return us_moved(l, b, (rows * b.stored + b.operands) / how.rate + rows * b.read_of_c / how.read_rate);
}
// Microseconds that are added once, whatever overlaps with the rest.
inline double us_before_moving(const costs::models& l, const costs::moving_cost& how, const moved_bytes& b) {
  return (b.read_of_c > 0 ? how.adding : 0) + how.filling * filled(b.stored, l.to_fill);
}

struct work {
  double fp32 = 0, fp64 = 0, tensor_fp16 = 0;  // multiply-adds
  double bytes = 0;                            // between the multiprocessors and memory
  int launches = 1;
};

// Seconds on a GPU with such limits, by a roofline: the longer of multiplying and moving, plus launches.
// Clock and bandwidth per multiprocessor are an H200's, since limits do not tell them. So the result serves
// to compare shapes, or candidates on one device.
inline double predicted(const work& w, const device_limits& device) {
  const costs::roofline_cost& cost = costs::models_of(device).roofline;
  const device_rates rates = rates_of(device);
  const double clocks = cost.clock * multiprocessors_of(device);
  const double multiplies = w.fp32 / rates.fp32 + w.fp64 / rates.fp64 + w.tensor_fp16 / rates.tensor_fp16;
  return std::max(multiplies, w.bytes / cost.bytes_per_clock) / clocks + w.launches * cost.launch;
}

}  // namespace antiphase::gemms
