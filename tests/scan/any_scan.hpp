// SPDX-License-Identifier: Apache-2.0
// Scans of any element types, lines and segments, checked by sequential arithmetic of another kind than the
// library's.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/scan.hpp>
#include <cmath>
#include <functional>
#include <optional>

#include "tests/scan/numbers.hpp"

namespace antiphase::scan_test {

template <class T> constexpr bool is_half_type = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T> constexpr bool is_real = std::is_floating_point_v<T> || is_half_type<T>;

template <class T> long double real_of(const T& x) {
  if constexpr (is_half_type<T>)
    return to_float(x);
  else
    return static_cast<long double>(x);
}
// Derived from the position, as number_at().
template <class T> T input_at(std::int64_t i, scan_operation operation) {
  if constexpr (std::is_same_v<T, f16>)
    return to_f16(number_at<float>(i, operation));
  else if constexpr (std::is_same_v<T, bf16>)
    return to_bf16(number_at<float>(i, operation));
  else
    return number_at<T>(i, operation);
}
// Half a unit in the last place, relative.
template <class T> constexpr long double half_unit = std::is_same_v<T, f16>     ? 0x1p-11L
                                                     : std::is_same_v<T, bf16>  ? 0x1p-8L
                                                     : std::is_same_v<T, float> ? 0x1p-24L
                                                                                : 0x1p-53L;

// The smallest positive 16-bit float.
template <class T> constexpr long double least = std::is_same_v<T, f16> ? 0x1p-24L : 0x1p-133L;

// True if a segment begins at element i in memory, i > 0. Rows of a problem are separate in any case.
using begins = std::function<bool(std::int64_t)>;

// One running value by definition. Integer sums and products are kept in 64 bits and compared modulo any
// smaller power of two.
template <class In, class Out> class running {
 public:
  // `initial`: one value or none.
  running(const scans::problem& p, const std::vector<Out>& initial) : p_(p), initial_(initial) { begin(); }
  void begin() {
    none_ = initial_.empty();
    if (!none_) {
      real_ = real_of(initial_[0]);
      if constexpr (!is_real<Out>) whole_ = static_cast<std::uint64_t>(initial_[0]);
    }
    size_ = std::abs(real_), count_ = 0;
  }
  void add(const In& x) {
    const long double next = real_of(x);
    const bool first = none_;
    none_ = false;
    ++count_;
    if constexpr (!is_real<In>) {
      const auto word = static_cast<std::uint64_t>(x);
      whole_ = first ? word : p_.operation == scan_operation::sum ? whole_ + word : whole_ * word;
    }
    switch (p_.operation) {
      case scan_operation::sum:
        real_ = first ? next : real_ + next;
        size_ += std::abs(next);
        return;
      case scan_operation::product:
        real_ = first ? next : real_ * next;
        size_ = std::abs(real_);
        return;
      case scan_operation::min: real_ = first || next < real_ ? next : real_; return;
      case scan_operation::max: real_ = first || next > real_ ? next : real_; return;
    }
  }
  // True if the result is within the bound.
  bool holds(const Out& result) const {
    const bool picks = p_.operation == scan_operation::min || p_.operation == scan_operation::max;
    if constexpr (!is_real<Out>) {
      return picks ? static_cast<long double>(result) == real_ : result == static_cast<Out>(whole_);
    } else {
      if (picks) return real_of(result) == real_;
      // Accumulation is in FP32 or wider: one error per addition on the longest path, one per multiplication,
      // and one for the result.
      const long double unit = std::is_same_v<Out, double> ? 0x1p-53L : 0x1p-24L;
      const long double depth = p_.operation == scan_operation::sum
                                    ? 80
                                    : std::max<long double>(80, static_cast<long double>(count_));
      const long double rounding = is_half_type<Out> ? half_unit<Out> * std::abs(real_) + least<Out> / 2 : 0;
      return std::abs(real_of(result) - real_) <= depth * unit * size_ + rounding;
    }
  }
  long double value() const { return real_; }

 private:
  const scans::problem& p_;
  std::vector<Out> initial_;
  bool none_ = true;
  std::uint64_t whole_ = 0;
  long double real_ = 0, size_ = 0;
  std::int64_t count_ = 0;
};

template <class T> T first_result(scan_operation operation) {
  if constexpr (std::is_same_v<T, f16>)
    return to_f16(first_of_exclusive<float>(operation));
  else if constexpr (std::is_same_v<T, bf16>)
    return to_bf16(first_of_exclusive<float>(operation));
  else
    return first_of_exclusive<T>(operation);
}

// `boundary(i)`: true if a line begins at element i in memory, including the problem's own lines. `initial`:
// for an exclusive scan.
template <class In, class Out> void expect_lines(const std::vector<In>& in, const std::vector<Out>& out,
                                                 const scans::problem& p, std::vector<Out> initial,
                                                 const begins& boundary, const std::string& what) {
  const auto n = static_cast<std::int64_t>(in.size());
  const bool exclusive = p.kind == scan_kind::exclusive, forward = p.direction == scan_direction::forward;
  if (exclusive && initial.empty()) initial.push_back(first_result<Out>(p.operation));
  if (!exclusive) initial.clear();
  running<In, Out> line(p, initial);
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t i = forward ? k : n - 1 - k;
    if (k > 0 && boundary(forward ? i : i + 1)) line.begin();
    const auto at = static_cast<std::size_t>(i);
    if (exclusive) {
      ASSERT_TRUE(line.holds(out[at]))
          << what << ": element " << i << " is " << real_of(out[at]) << ", expected " << line.value();
    }
    line.add(in[at]);
    if (!exclusive) {
      ASSERT_TRUE(line.holds(out[at]))
          << what << ": element " << i << " is " << real_of(out[at]) << ", expected " << line.value();
    }
  }
}

inline std::string text(const scans::problem& p, std::string_view policy, const placement& lies) {
  return std::string(name(p.type)) + (p.accumulate ? " into " + std::string(name(*p.accumulate)) : "") +
         ", operation " + std::to_string(static_cast<int>(p.operation)) + ", kind " +
         std::to_string(static_cast<int>(p.kind)) + ", direction " +
         std::to_string(static_cast<int>(p.direction)) + ", " + std::to_string(p.outer) + " x " +
         std::to_string(p.length) + ", policy " + std::string(policy) + ", offsets " +
         std::to_string(lies.in_offset) + " and " + std::to_string(lies.out_offset) +
         (lies.in_place ? ", in place" : "");
}

// Fills in pointers and types, runs the problem through the public call, checks every element and the guards.
// Returns the output.
template <class In, class Out = In>
std::vector<Out> expect_right(const context& where, scans::problem p, const placement& lies = {},
                              std::string_view policy = "single-pass", std::vector<Out> initial = {}) {
  std::vector<In> host;
  for (std::int64_t i = 0; i < p.outer * p.length; ++i) host.push_back(input_at<In>(i, p.operation));
  Out wrong;
  std::memset(&wrong, 0x5B, sizeof wrong);
  guarded<In> in(where, host, lies.in_offset);
  std::optional<guarded<Out>> apart;
  p.type = element_of<In>;
  p.in = in.data();
  if constexpr (std::is_same_v<In, Out>) {
    if (lies.in_place) p.out = in.data();
  } else {
    p.accumulate = element_of<Out>;
  }
  if (p.out == nullptr)
    p.out = apart.emplace(where, std::vector<Out>(host.size(), wrong), lies.out_offset).data();
  scan(where, p, {.policy = policy});
  where.runs_on().synchronize(nullptr);
  std::vector<Out> out;
  if (apart) {
    out = apart->to_host();
    EXPECT_TRUE(std::memcmp(in.to_host().data(), host.data(), host.size() * sizeof(In)) == 0)
        << "the input was written";
  } else {
    const auto now = in.to_host();
    out.resize(now.size());
    std::memcpy(out.data(), now.data(), now.size() * sizeof(In));
  }
  expect_lines<In, Out>(
      host, out, p, initial, [&](std::int64_t i) { return i % p.length == 0; }, text(p, policy, lies));
  return out;
}

}  // namespace antiphase::scan_test
