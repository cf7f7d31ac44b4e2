// SPDX-License-Identifier: Apache-2.0
// Calls of gemm() drawn from a seed: shapes, layouts, values and every option.
#pragma once
#include <algorithm>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

namespace antiphase::gemm_test {

// Splitmix64: the same numbers with every standard library.
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(mixed(seed)) {}
  std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15ull); }
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T> T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<std::int64_t>(from.size()))];
  }
  // 1 ... most, uniform in the logarithm.
  std::int64_t log_uniform(std::int64_t most) {
    const double share = static_cast<double>(next() >> 11) * 0x1p-53;
    return std::min(most,
                    static_cast<std::int64_t>(std::exp2(share * std::log2(static_cast<double>(most) + 1))));
  }

 private:
  std::uint64_t state_;
};

// Layout of a batch of matrices, in floats from an address that is a multiple of 256 bytes.
struct lies_at {
  // apart: stride between members
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0, apart = 0;
  std::vector<std::int64_t> origin = {};  // element (0, 0) of each member
  std::int64_t size = 0;                  // guards included

  std::size_t place(std::int64_t n, std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(origin[static_cast<std::size_t>(n)] + i * row_stride + j * column_stride);
  }
};
enum class members_lie { by_stride, by_pointers };
enum class written { yes, no };  // no: strides may be 0, so that lines or members share elements

inline lies_at draw_place(dice& d, std::int64_t rows, std::int64_t columns, std::int64_t count,
                          members_lie how, written w) {
  lies_at at{.rows = rows, .columns = columns};
  const bool by_rows = d.one_in(2), interleaved = how == members_lie::by_stride && count > 1 && d.one_in(12);
  const std::int64_t width = std::max<std::int64_t>(by_rows ? columns : rows, 1),
                     inner = d.one_in(16) ? 2 + d.below(2) : 1;
  std::int64_t outer = width * inner;
  switch (d.below(3)) {
    case 0: break;
    case 1: outer += 1 + d.below(9); break;
    default: outer = (outer + 3) / 4 * 4 + 4 * d.below(2); break;
  }
  if (interleaved) outer = outer * count + d.below(5);
  at.row_stride = by_rows ? outer : inner, at.column_stride = by_rows ? inner : outer;
  if (w == written::no && d.one_in(24)) (d.one_in(2) ? at.row_stride : at.column_stride) = 0;
  if (d.one_in(10)) at.row_stride = -at.row_stride;
  if (d.one_in(10)) at.column_stride = -at.column_stride;
  if (rows == 1 && d.one_in(8)) at.row_stride = std::int64_t{1} << (20 + d.below(42));  // unused
  std::int64_t low = 0, high = 0;
  for (const auto& [extent, stride] :
       {std::pair{rows, at.row_stride}, std::pair{columns, at.column_stride}}) {
    const std::int64_t reach = std::max<std::int64_t>(extent - 1, 0) * stride;
    (reach < 0 ? low : high) += reach;
  }
  const std::int64_t span = high - low + 1;
  at.apart = interleaved ? width * inner : d.one_in(2) ? (span + 3) / 4 * 4 : span + d.below(40);
  if (!interleaved && d.one_in(10)) at.apart = -at.apart;
  if (w == written::no && d.one_in(4)) at.apart = 0;
  const std::int64_t first = (d.one_in(8) ? 0 : 64) + (d.one_in(2) ? 0 : d.below(8)) - low -
                             std::min<std::int64_t>(0, (count - 1) * at.apart);
  std::int64_t end = 0, next = first;
  for (std::int64_t n = 0; n < std::max<std::int64_t>(count, 1); ++n) {
    at.origin.push_back(next);
    end = std::max(end, next + high + 1);
    next += how == members_lie::by_stride ? at.apart : span + d.below(13);
  }
  if (how == members_lie::by_pointers) {
    at.apart = 0;
    if (d.one_in(2)) std::reverse(at.origin.begin(), at.origin.end());
  }
  // Elsewhere than in guarded memory, guards show stray writes. What is only read ends with its last element.
  at.size = end + (w == written::no || d.one_in(8) ? 0 : 64);
  return at;
}
// `length` floats for each member, side by side.
inline lies_at draw_vectors(dice& d, std::int64_t length, std::int64_t count) {
  lies_at at{.rows = 1,
             .columns = length,
             .row_stride = 0,
             .column_stride = 1,
             .apart = d.one_in(3) ? 0 : length + d.below(5)};
  for (std::int64_t n = 0; n < std::max<std::int64_t>(count, 1); ++n)
    at.origin.push_back(64 + at.row_stride + n * at.apart);
  at.size = at.origin.back() + length;
  return at;
}

enum class holds { reals, zeros, integers, graded, few_nonzeros, denormal, huge, rows_apart, specials };
// Element `at` of line `line`, as a function of both.
inline float number_of(holds what, std::int64_t line, std::int64_t at, std::uint64_t seed) {
  std::uint64_t h =
      (static_cast<std::uint64_t>(line) * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(at)) *
          0xD6E8FEB86659FD93ull +
      seed;
  h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93ull;
  h ^= h >> 29;
  const auto bits = static_cast<std::int32_t>(h >> 39) - (1 << 24);  // of 25
  const float real = static_cast<float>(bits) * 0x1p-24f;
  const auto turn = static_cast<int>(h % 211);
  switch (what) {
    case holds::reals: return real;
    case holds::zeros: return turn < 5 ? 1.f : turn % 2 ? 0.f : -0.f;
    case holds::integers: return static_cast<float>(static_cast<int>(h % 4097) - 2048);
    case holds::graded: return std::ldexp(real, static_cast<int>((at * 7 + line) % 90) - 45);
    case holds::few_nonzeros: return line % 3 != 0 && at % 37 != line % 37 ? 0.f : real;
    case holds::denormal: return turn % 3 == 0 ? real * 0x1p-130f : real * 0x1p-100f;
    case holds::huge: return real * (turn == 0 ? 0x1p127f : 0x1p60f);
    case holds::rows_apart: return std::ldexp(real, static_cast<int>((line * 37) % 161) - 80);
    case holds::specials: break;
  }
  if (h % 1013 > 5) return real;
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float special[] = {
      inf, -inf, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max(), 0x1p-149f, 0};
  return special[h % 1013];
}

enum class apart_or_c { none, apart, c };

struct random_call {
  std::uint64_t seed = 0;
  std::string policy = "auto";
  precision accuracy = precision::fp32;
  reproducibility reproducible = reproducibility::by_shape;
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  members_lie members = members_lie::by_stride;
  float alpha = 1, beta = 0;
  holds in_a = holds::reals, in_b = holds::reals, in_c = holds::reals;
  lies_at a = {}, b = {}, c = {};
  activation function = activation::none;
  float scale = 1;
  apart_or_c residual = apart_or_c::none, input = apart_or_c::none;
  bool before = false, row_bias = false, column_bias = false;
  lies_at of_residual = {}, of_input = {}, of_before = {}, of_rows = {}, of_columns = {};
  bool brings_workspace = false, counts = false;
};

// `most`: elements of all matrices together, roughly.
inline random_call draw_call(std::uint64_t seed, std::int64_t most) {
  dice d(seed);
  random_call r{.seed = seed};
  const int by = static_cast<int>(d.below(100));
  if (by >= 50)
    r.policy = by < 60   ? "fp64"
               : by < 70 ? "tf32"
               : by < 82 ? "fp16"
               : by < 86 ? "fp16-mma"
               : by < 90 ? "fp64-dots"
                         : "fp64-short";
  if (by >= 93)
    r.policy = gemms::policies()[static_cast<std::size_t>(
                                     d.below(static_cast<std::int64_t>(gemms::policies().size())))]
                   .name;
  if (r.policy == "auto" && d.one_in(12)) r.accuracy = precision::strict;
  if (r.accuracy == precision::fp32 &&
      (r.policy == "auto" || r.policy == "tf32" || r.policy.starts_with("fp16") || r.policy == "fp64" ||
       r.policy == "fp64-short") &&
      d.one_in(5))
    r.reproducible = reproducibility::batch_invariant;

  const bool large = d.one_in(40);
  const std::int64_t budget = large ? 12 * most : most;
  const auto extent = [&](std::int64_t longest) {
    return d.one_in(100) ? 0 : d.one_in(3) ? d.log_uniform(longest / 16) * 4 : d.log_uniform(longest);
  };
  r.m = extent(3000), r.n = extent(3000),
  r.k = d.one_in(60) ? extent(budget > 100000 ? 140000 : 3000) : extent(5000);
  if (r.policy == "fp64-short" && !d.one_in(10)) r.k = 1 + d.below(4);
  if (r.policy == "fp64-dots" && d.one_in(2)) (d.one_in(2) ? r.m : r.n) = 1 + d.below(8);
  if (r.policy == "fp64-dots" && budget > 100000 && d.one_in(2))
    r.m = 1 + d.below(8), r.n = 1 + d.below(8), r.k = 8193 + d.below(9000);  // too long for lanes
  r.count = d.one_in(3) ? d.pick<std::int64_t>({0, 2, 2, 3, 3, 4, 5, 7, 1 + d.log_uniform(200)}) : 1;
  if (r.count != 1 && d.one_in(4)) r.members = members_lie::by_pointers;
  for (;;) {
    const std::int64_t shared = r.m * r.k + r.k * r.n + r.m * r.n;
    if (shared * std::max<std::int64_t>(r.count, 1) <= budget && r.m * r.n * r.k / 60 * r.count <= budget)
      break;
    if (r.count > 2 && d.one_in(2)) {
      r.count -= r.count / 3;
    } else {
      std::int64_t& longest = r.m >= r.n && r.m >= r.k ? r.m : r.n >= r.k ? r.n : r.k;
      longest -= (longest + 4) / 3;
    }
  }
  r.alpha = d.pick({1.f, 1.f, 1.f, 1.f, -1.5f, 0.f, 0x1p-100f, 3.1f, 0x1p60f});
  r.beta = d.pick({0.f, 0.f, 0.f, 1.f, 1.f, -0.f, 0.75f, -2.3f});
  const auto data = [&] { return d.one_in(2) ? holds::reals : static_cast<holds>(d.below(9)); };
  r.in_a = data(), r.in_b = data(), r.in_c = d.one_in(10) ? data() : holds::reals;
  r.a = draw_place(d, r.m, r.k, r.count, r.members, written::no);
  r.b = draw_place(d, r.k, r.n, r.count, r.members, written::no);
  r.c = draw_place(d, r.m, r.n, r.count, r.members, written::yes);

  if (d.one_in(2)) {
    const auto apart = [&](written w) { return draw_place(d, r.m, r.n, r.count, members_lie::by_stride, w); };
    const bool c_is_known = r.members == members_lie::by_stride;
    r.function = static_cast<activation>(d.below(7));
    r.scale = d.pick({1.f, 1.f, 1.f, -2.f, 0.f, 0.3f});
    r.row_bias = d.one_in(3), r.column_bias = d.one_in(3), r.before = d.one_in(4);
    if (d.one_in(3)) r.residual = c_is_known && d.one_in(3) ? apart_or_c::c : apart_or_c::apart;
    if (gemms::is_gradient(r.function))
      r.input = c_is_known && d.one_in(4) ? apart_or_c::c : apart_or_c::apart;
    r.of_residual = r.residual == apart_or_c::c ? r.c : apart(written::no);
    r.of_input = r.input == apart_or_c::c ? r.c : apart(written::no);
    r.of_before = apart(written::yes);
    r.of_rows = draw_vectors(d, r.m, r.count), r.of_columns = draw_vectors(d, r.n, r.count);
  }
  r.brings_workspace = d.one_in(2), r.counts = d.one_in(2);
  return r;
}

inline std::string to_text(const lies_at& at) {
  std::string text = "strides " + std::to_string(at.row_stride) + " and " + std::to_string(at.column_stride) +
                     ", " + std::to_string(at.apart) + " apart, from " + std::to_string(at.origin[0]);
  return text + " of " + std::to_string(at.size);
}
inline std::string to_text(const random_call& r) {
  const auto number = [](auto x) { return std::to_string(static_cast<int>(x)); };
  const auto real = [](float x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(x));
    return std::string(text);
  };
  const char* const where[] = {"none", "apart", "C"};
  std::string text = "seed " + std::to_string(r.seed) + ": " + std::to_string(r.count) + " x (" +
                     std::to_string(r.m) + " x " + std::to_string(r.n) + " x " + std::to_string(r.k) + ")" +
                     (r.members == members_lie::by_pointers ? " by pointers" : "") + ", policy " + r.policy +
                     (r.accuracy == precision::strict ? ", strict" : "") +
                     (r.reproducible == reproducibility::batch_invariant ? ", batch_invariant" : "") +
                     ", alpha " + real(r.alpha) + ", beta " + real(r.beta) + "\n  A: kind " + number(r.in_a) +
                     ", " + to_text(r.a) + "\n  B: kind " + number(r.in_b) + ", " + to_text(r.b) +
                     "\n  C: kind " + number(r.in_c) + ", " + to_text(r.c) + "\n  " +
                     (r.brings_workspace ? "first with a workspace, then without"
                                         : "first without a workspace, then with one") +
                     (r.counts ? ", counting" : "");
  if (r.of_residual.origin.empty()) return text;
  return text + "\n  epilogue: function " + number(r.function) + ", scale " + real(r.scale) + ", residual " +
         where[static_cast<int>(r.residual)] + " (" + to_text(r.of_residual) + "), input " +
         where[static_cast<int>(r.input)] + " (" + to_text(r.of_input) + ")" +
         (r.before ? ", before (" + to_text(r.of_before) + ")" : "") + (r.row_bias ? ", row bias" : "") +
         (r.column_bias ? ", column bias" : "");
}

}  // namespace antiphase::gemm_test
