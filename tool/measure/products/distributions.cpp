// SPDX-License-Identifier: Apache-2.0
// Named distributions of operands. Every element depends on its own place only, so any number of threads can
// generate them.
#include "tool/measure/products/distributions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "tool/base/parallel.hpp"
#include "tool/measure/verify.hpp"

namespace antiphase::tool {
namespace {

using place = element_place;

// Independent random numbers for one place.
class noise {
 public:
  explicit noise(const place& p) : noise(p, p.k) {}
  noise(const place& p, std::int64_t k)
      : state_(random_bits(p.seed, static_cast<std::uint64_t>(p.line * p.depth + k))) {}
  std::uint64_t bits() { return state_ = random_bits(99, state_); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double sign() { return bits() % 2 == 0 ? 1 : -1; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  double log_normal(double spread) { return std::exp(spread * normal()); }

 private:
  std::uint64_t state_;
};
noise of_line(const place& p, std::int64_t number) {
  return noise({p.seed + 10, p.line, number, p.lines, 16});
}
std::int64_t random_k(const place& p, std::int64_t number) {
  return static_cast<std::int64_t>(of_line(p, number).bits() % static_cast<std::uint64_t>(p.depth));
}

double uniform01(const place& p) { return noise(p).uniform(); }
double uniform(const place& p) { return 2 * noise(p).uniform() - 1; }
double normal(const place& p) { return noise(p).normal(); }
double weight(const place& p) { return .02 * normal(p); }
double exp4n(const place& p) { return noise(p).log_normal(4); }
double exp4n_signed(const place& p) {
  noise n(p);
  return n.sign() * n.log_normal(4);
}
double wide(const place& p) {
  noise n(p);
  return n.normal() * std::pow(10., 20 * n.uniform() - 10);
}
// Powers of two from 2^top down to 2^-top.
double falling(double top, std::int64_t i, std::int64_t count) {
  return std::exp2(std::round(top - 2 * top * static_cast<double>(i) / static_cast<double>(count)));
}
double rows(const place& p) { return normal(p) / falling(56, p.line, p.lines); }
double graded(const place& p) { return normal(p) * falling(60, p.k, p.depth); }
double graded_inversely(const place& p) { return normal(p) / falling(60, p.k, p.depth); }
double one_large(const place& p) { return normal(p) * (p.k == p.depth / 3 ? 0x1p40 : 1); }
double one_small(const place& p) { return normal(p) * (p.k == p.depth / 3 ? 0x1p-40 : 1); }
double large_somewhere(const place& p) { return normal(p) * (p.k == random_k(p, 0) ? 0x1p40 : 1); }
// exp(3 n) divided by the expected sum of its line.
double softmax(const place& p) {
  return noise(p).log_normal(3) / (std::exp(4.5) * static_cast<double>(p.depth));
}
double gelu_of(double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double gelu(const place& p) { return gelu_of(normal(p)); }
double gelu3(const place& p) { return gelu_of(3 * normal(p)); }
double relu(const place& p) { return std::max(0., normal(p)); }
template <int Percent, double (*Of)(const place&)> double sparse(const place& p) {
  return random_bits(p.seed + 20, static_cast<std::uint64_t>(p.line * p.depth + p.k)) % 100 < Percent ? Of(p)
                                                                                                      : 0;
}
double identity(const place& p) { return p.k == p.line % p.depth ? 1 : 0; }
double permutation(const place& p) { return p.k == random_k(p, 0) ? 1 : 0; }
// Shapes of what is zero. A line's place among all, on the scale of k:
double diagonal(const place& p) {
  return static_cast<double>(p.line) * static_cast<double>(p.depth) / static_cast<double>(p.lines);
}
bool is_below_diagonal(const place& p) { return static_cast<double>(p.k) <= diagonal(p); }
double triangular(const place& p) { return is_below_diagonal(p) ? normal(p) : 0; }
// Weights of the keys that a query sees, divided by their expected sum.
double causal_softmax(const place& p) {
  return is_below_diagonal(p) ? noise(p).log_normal(1) / (std::exp(0.5) * (std::floor(diagonal(p)) + 1)) : 0;
}
double banded(const place& p) {
  return std::abs(static_cast<double>(p.k) - diagonal(p)) <= static_cast<double>(p.depth) / 16 ? normal(p)
                                                                                               : 0;
}
double block_diagonal(const place& p) { return p.k * 8 / p.depth == p.line * 8 / p.lines ? normal(p) : 0; }
double other_lines(const place& p) { return p.line % 2 == 0 ? normal(p) : 0; }
// A quarter of the lines, and of k, is padding.
double padded(const place& p) {
  return p.k < p.depth - p.depth / 4 && p.line < p.lines - p.lines / 4 ? normal(p) : 0;
}
double four(const place& p) {
  for (int i = 0; i < 4; ++i)
    if (p.k == random_k(p, i)) return normal(p);
  return 0;
}
// Adjacent elements along k: x and about -x in A are multiplied by the same element of B.
template <bool Exact, double (*Of)(const place&)> double cancelling(const place& p) {
  place first = p;
  first.k -= p.k % 2;
  const double x = Of(first);
  return p.k % 2 == 0 ? x : Exact ? -x : -x * (1 + 0x1p-18 * normal(p));
}
template <double (*Of)(const place&)> double in_pairs(const place& p) {
  place first = p;
  first.k -= p.k % 2;
  return Of(first);
}
template <int Power> double power_law(const place& p) {  // |x| = U^-Power
  noise n(p);
  return n.sign() * std::pow(n.uniform() + 1e-8, -Power) * (Power > 2 ? 0x1p-47 : 1);
}
template <int Power> double small_tail(const place& p) {
  noise n(p);
  return n.sign() * std::pow(n.uniform(), Power);
}
// Worst cases for the splitting scheme: sums that every step truncates; many small products next to a large
// one; elements at the threshold of being tiny; FP16 subnormals.
constexpr double worst_significand = 1 + 0x1p-11 - 3 * 0x1p-23;
double truncated_a(const place& p) { return p.k % 64 == 0 ? worst_significand : 0x1p-12; }
double truncated_b(const place& p) {
  const bool last_of_step = p.k % 16 == 15 && p.k % 64 > 15;
  return p.k % 64 == 0 ? worst_significand : 0x1p-13 * ((last_of_step ? 1 : 2) - 0x1p-8);
}
double promoted_a(const place& p) { return p.k == 0 ? worst_significand : 0x1p-12 * (1 + 0x1p-11); }
double promoted_b(const place& p) {
  return p.k == 0 ? worst_significand : 0x1p-13 * (1983 / 2048.) + 0x1p-25 * (1 - 0x1p-8);
}
double floor_a(const place& p) { return p.k == 0 ? 1 : 0x1p-29 * (1 + noise(p).uniform()); }
double floor_b(const place& p) { return p.k == 0 ? 0 : 1 + .99 * noise(p).uniform(); }
double floor_one(const place& p) {
  return p.k == 0   ? 1
         : p.k == 1 ? 0x1p-28 * (1 + noise(p).uniform()) * std::exp2(static_cast<double>(-(p.line % 24)))
                    : 0;
}
double subnormal_a(const place& p) {
  if (p.k == 0) return 1;
  return p.k % 16 == 1 ? 0x1p-38
                       : 0x1p-13 * (1 + noise(p).uniform()) * std::exp2(static_cast<double>(-(p.line % 16)));
}
double subnormal_b(const place& p) {
  if (p.k == 0) return 0;
  return p.k % 16 == 1 ? 1.9
                       : 0x1p-26 * (1 + noise(p).uniform()) * std::exp2(static_cast<double>(-(p.line % 8)));
}
template <int Exponent> double scaled(const place& p) {
  return normal(p) * std::exp2(static_cast<double>(Exponent));
}

// No product of two such operands overflows FP32.
constexpr distribution all[] = {
    {"uniform", "[-1, 1)", uniform, uniform},
    {"uniform01", "[0, 1)", uniform01, uniform01},
    {"normal", "normal", normal, normal},
    {"exp4n", "exp(4 n), n normal", exp4n, exp4n},
    {"exp4n-signed", "exp(4 n) with random signs", exp4n_signed, exp4n_signed},
    {"wide", "n 10^U(-10, 10)", wide, wide},
    {"rows", "normal; lines times 2^-56 to 2^56", rows, rows},
    {"graded-inverse", "normal; along k, A falls from 2^60 to 2^-60 and B rises", graded, graded_inversely},
    {"graded-same", "normal; both fall along k", graded, graded},
    {"graded-a", "normal; A falls along k", graded, normal},
    {"outlier-tiny", "normal; a column of A times 2^40 meets a row of B times 2^-40", one_large, one_small},
    {"outlier", "normal; one element in every row of A times 2^40", large_somewhere, normal},
    {"softmax", "softmax(3 n) x normal", softmax, normal},
    {"gelu", "gelu(n) x weights", gelu, weight},
    {"gelu3", "gelu(3 n) x weights", gelu3, weight},
    {"relu", "relu(n) x weights", relu, weight},
    {"relu-relu", "relu(n) x relu(n)", relu, relu},
    {"sparse", "1 % of both normal, else 0", sparse<1, normal>, sparse<1, normal>},
    {"sparse-dense", "1 % of A normal x normal", sparse<1, normal>, normal},
    {"sparse-exp4n", "1 % of both exp(4 n) with signs", sparse<1, exp4n_signed>, sparse<1, exp4n_signed>},
    {"sparse10-exp4n", "10 % of both exp(4 n) with signs", sparse<10, exp4n_signed>,
     sparse<10, exp4n_signed>},
    {"identity", "identity x normal", identity, normal},
    {"identity-exp4n", "identity x exp(4 n)", identity, exp4n},
    {"permutation", "one 1 in every row of A x normal", permutation, normal},
    {"one-hot", "normal x one 1 in every column of B", normal, permutation},
    {"four", "4 nonzeros in every row of A x normal", four, normal},
    {"triangular", "lower triangle of A normal, else 0, x normal", triangular, normal},
    {"causal-softmax", "softmax(n) of a causal mask x normal", causal_softmax, normal},
    {"banded", "an eighth of A around the diagonal normal, else 0, x normal", banded, normal},
    {"block-diagonal", "8 blocks on the diagonal of A normal, else 0, x normal", block_diagonal, normal},
    {"zero-rows", "every second row of A 0 x normal", other_lines, normal},
    {"zero-columns", "normal x every second column of B 0", normal, other_lines},
    {"zero-padding", "normal; the last quarter of rows, of columns and of k is 0", padded, padded},
    {"cancel", "normal; neighbours along k nearly cancel", cancelling<false, normal>, in_pairs<normal>},
    {"cancel-exp4n", "exp(4 n); neighbours along k nearly cancel", cancelling<false, exp4n>, in_pairs<exp4n>},
    {"cancel-exact", "exp(4 n); neighbours along k cancel", cancelling<true, exp4n>, in_pairs<exp4n>},
    {"power-law-1", "signs, U^-1", power_law<1>, power_law<1>},
    {"power-law-2", "signs, U^-2", power_law<2>, power_law<2>},
    {"power-law-4", "signs, U^-4", power_law<4>, power_law<4>},
    {"small-tail-4", "signs, U^4", small_tail<4>, small_tail<4>},
    {"small-tail-8", "signs, U^8", small_tail<8>, small_tail<8>},
    {"adverse-truncation", "every step of a Tensor Core cuts off as much as it can", truncated_a,
     truncated_b},
    {"adverse-promotion", "many small products next to a large one", promoted_a, promoted_b},
    {"adverse-floor", "elements where they begin to be tiny", floor_a, floor_b},
    {"adverse-floor-one", "one such element", floor_one, floor_b},
    {"adverse-subnormal", "FP16 subnormals decide", subnormal_a, subnormal_b},
    {"denormal-rows", "normal 2^-130 x normal 2^20", scaled<-130>, scaled<20>},
    {"huge-tiny", "normal 2^120 x normal 2^-125", scaled<120>, scaled<-125>},
    {"denormal-results", "normal 2^-100 x normal 2^-45", scaled<-100>, scaled<-45>},
};

// Fills an operand whose lines are contiguous (the next element in memory has the next k) or interleaved (it
// belongs to the next line).
std::vector<float> fill(double (*of)(const place&), std::uint64_t seed, std::int64_t lines,
                        std::int64_t depth, bool side_by_side) {
  std::vector<float> values(static_cast<std::size_t>(lines * depth));
  in_parallel(values.size(), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      values[i] = static_cast<float>(side_by_side ? of({seed, at / depth, at % depth, lines, depth})
                                                  : of({seed, at % lines, at / lines, lines, depth}));
    }
  });
  return values;
}

}  // namespace

std::span<const distribution> distributions() { return all; }

const distribution& find_distribution(std::string_view name) {
  for (const distribution& d : all)
    if (name == d.name) return d;
  std::vector<std::string> known = names_of(all);
  known.emplace_back("all");
  throw bad_request(fmt::format("--data '{}': {}", name, suggestion(name, known)));
}

std::vector<float> left_operand(const distribution& d, std::int64_t m, std::int64_t k, bool by_rows) {
  return fill(d.a, 1, m, k, by_rows);
}
std::vector<float> right_operand(const distribution& d, std::int64_t k, std::int64_t n, bool by_rows) {
  return fill(d.b, 2, n, k, !by_rows);
}

}  // namespace antiphase::tool
