// SPDX-License-Identifier: Apache-2.0
// Sums and products whose intermediate values leave the range of their type: outputs that may show it, and
// outputs that must not (docs/use/accuracy.md).
#include <rapidcheck.h>

#include <bit>
#include <functional>

#include "tests/scan/any_scan.hpp"

namespace antiphase::scan_test {
namespace {

// The accumulator, and documented magnitudes clear of the ends of its range.
template <class T> constexpr bool in_double = std::is_same_v<T, double>;
template <class T> constexpr long double most_sum = in_double<T> ? 1.79e308L : 3.4e38L;
constexpr long double most_product = 1e308L, least_product = 1e-307L;  // of all types: computed in FP64

// The documented rule, element by element: true if a partial sum or product may have left the range.
template <class T> class range_rule {
 public:
  explicit range_rule(scan_operation operation) : adds_(operation == scan_operation::sum) {}
  void add(const T& element) {
    const long double x = real_of(element), size = std::abs(x);
    ++count_;
    exact_ = adds_ ? exact_ + x : exact_ * x;
    if (adds_) {
      (x > 0 ? above_ : below_) += size;
    } else {
      if (size > 1) above_ *= size;
      if (size < 1 && size != 0) below_ *= size;
    }
  }
  bool in_range() const {
    return adds_ ? above_ <= most_sum<T> && below_ <= most_sum<T>
                 : above_ <= most_product && below_ >= least_product;
  }
  // True if within the bound of docs/use/accuracy.md.
  bool holds(const T& result) const {
    const long double unit = in_double<T> ? 0x1p-53L : 0x1p-24L, found = real_of(result),
                      factors = static_cast<long double>(count_),
                      of_product = in_double<T> ? std::max<long double>(80, factors) : 1 + 0x1p-28L * factors;
    const long double error = adds_ ? 80 * unit * (above_ + below_) : of_product * unit * std::abs(exact_);
    if constexpr (is_half_type<T>) {
      // results from here on round to infinity
      const long double end = std::is_same_v<T, f16> ? 65520 : 0x1.ffp127L;
      if (std::isinf(found)) return std::abs(exact_) + error >= end && (found > 0) == (exact_ > 0);
      return std::abs(found - exact_) <= error * 1.01L + half_unit<T> * std::abs(exact_) + least<T> / 2;
    } else if (!adds_ && !in_double<T>) {  // rounded to FP32 at last, denormal or infinite if need be
      if (std::isinf(found))
        return std::abs(exact_) + error >= 0x1.ffffffp127L && (found > 0) == (exact_ > 0);
      return std::abs(found - exact_) <= error + 0x1p-150L;
    } else {
      return std::abs(found - exact_) <= error;
    }
  }
  long double exact() const { return exact_; }

 private:
  bool adds_;
  std::int64_t count_ = 0;
  long double exact_ = adds_ ? 0 : 1, above_ = adds_ ? 0 : 1, below_ = adds_ ? 0 : 1;
};

using scanned = std::function<void(const scans::problem&)>;

template <class T> std::vector<T> run_scan(const context& where, scans::problem p, const std::vector<T>& in,
                                           const scanned& scan_it) {
  const device_array<T> from(where, in);
  device_array<T> to(where, in.size());
  p.type = element_of<T>;
  p.in = from.data();
  p.out = to.data();
  scan_it(p);
  where.runs_on().synchronize(nullptr);
  return to.to_host();
}

template <class T> T stored(double x) {
  if constexpr (std::is_same_v<T, f16>)
    return to_f16(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, bf16>)
    return to_bf16(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

// Ordinary numbers and a few adjacent large and small ones, so that these meet in all parts of a kernel.
template <class T> std::vector<T> numbers_at_the_ends(std::size_t length, scan_operation operation) {
  std::vector<T> in;
  for (std::size_t i = 0; i < length; ++i) {
    const auto h = hash(i);
    in.push_back(stored<T>(operation == scan_operation::sum ? static_cast<double>(h % 4096) / 2048 - 1
                           : h % 2 == 0                     ? 1
                                                            : -1));
  }
  const double top = std::is_same_v<T, f16> ? 6e4
                     : in_double<T>         ? 1.7e308
                                            : 3.3e38,
               root = in_double<T> ? 1e150 : 1e20;
  const auto sums = std::vector<double>{top, -top, top / 2, -top / 2, top / 8, -top / 8};
  const auto factors =
      std::is_same_v<T, f16>
          ? std::vector<double>{6e4, -6e4, 6e-5, -6e-5, 256, 0.25}
          : std::vector<double>{root, -root, 1 / root, -1 / root, std::sqrt(root), 1 / std::sqrt(root)};
  std::size_t at = *rc::gen::inRange<std::size_t>(0, length);
  for (int left = *rc::gen::inRange(1, std::is_same_v<T, f16> ? 60 : 12); left > 0 && at < length; --left) {
    in[at] = stored<T>(*rc::gen::elementOf(operation == scan_operation::sum ? sums : factors));
    at += *rc::gen::element<std::size_t>(1, 1, 2, 4, 31, 127, 128, 129, 512, 3072);
  }
  return in;
}

struct found {
  int right = 0, allowed = 0;  // outputs that had to be right; outputs that need not be and are not
  int cases = 0;

  void operator+=(const found& more) { right += more.right, allowed += more.allowed, ++cases; }
  // True if both kinds of outputs must have occurred in this many cases; a sanitizer's run has too few.
  bool tells() const { return cases >= 50; }
};

// `boundary(i)`: true if a line begins at element i in memory.
template <class T> found expect_rule(const std::vector<T>& in, const std::vector<T>& out,
                                     const scans::problem& p, const begins& boundary) {
  found f;
  const auto n = static_cast<std::int64_t>(in.size());
  const bool forward = p.direction == scan_direction::forward, exclusive = p.kind == scan_kind::exclusive;
  range_rule<T> line(p.operation);
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t i = forward ? k : n - 1 - k;
    if (k > 0 && boundary(forward ? i : i + 1)) line = range_rule<T>(p.operation);
    if (!exclusive) line.add(in[static_cast<std::size_t>(i)]);
    const T& result = out[static_cast<std::size_t>(i)];
    const bool finite = std::isfinite(static_cast<double>(real_of(result)));
    // A sum does not return from infinity, so a finite one is right.
    if (line.in_range() || (p.operation == scan_operation::sum && finite)) {
      EXPECT_TRUE(line.holds(result))
          << "output " << i << " is " << real_of(result) << ", expected " << line.exact();
      if (!line.holds(result)) return f;
      ++f.right;
    } else if (!finite || real_of(result) == 0) {
      ++f.allowed;
    }
    if (exclusive) line.add(in[static_cast<std::size_t>(i)]);
  }
  return f;
}

// Outputs are causal: replacing everything from some element on leaves earlier outputs' bits unchanged.
template <class T> void expect_causal(const context& where, const scans::problem& p, const std::vector<T>& in,
                                      const std::vector<T>& out, const scanned& scan_it) {
  const std::size_t n = in.size(), from = *rc::gen::inRange<std::size_t>(0, n);
  std::vector<T> other = in;
  const bool forward = p.direction == scan_direction::forward;
  for (std::size_t k = from; k < n; ++k) other[forward ? k : n - 1 - k] = stored<T>(k % 2 == 0 ? 3 : 0.125);
  const std::vector<T> again = run_scan(where, p, other, scan_it);
  for (std::size_t k = 0; k < from + (p.kind == scan_kind::exclusive ? 1 : 0); ++k) {
    const std::size_t i = forward ? k : n - 1 - k;
    ASSERT_EQ(std::memcmp(&again[i], &out[i], sizeof(T)), 0)
        << "output " << i << " changed with element " << (forward ? from : n - 1 - from);
  }
}

class scan_range : public on_device {
 protected:
  std::vector<const char*> policies(scan_operation operation, element type) const {
    const context where = any();
    std::vector<const char*> all;
    for (const char* policy : {"items", "single-pass", "single-pass-async", "one-wave"}) {
      const scans::step& s = scans::find_step(policy);
      const bool fits = policy != std::string_view("single-pass") || where.limits().major == 9;
      if (fits && scans::is_compiled(this->where(), s, type, operation)) all.push_back(policy);
    }
    return all;
  }
  // `wants`: numbers of that type can leave the range, or cannot.
  enum class wants { some_out, none_out };
  template <class T> void lines(scan_operation operation, wants some) const {
    const context where = any();
    found all;
    EXPECT_TRUE(rc::check("lines obey the rule", [&] {
      const scans::problem p{
          .operation = operation,
          .kind = *rc::gen::elementOf(std::vector<scan_kind>(std::begin(kinds), std::end(kinds))),
          .direction =
              *rc::gen::elementOf(std::vector<scan_direction>(std::begin(directions), std::end(directions))),
          .length = *rc::gen::inRange<std::int64_t>(2, 14000)};
      const std::vector<T> in = numbers_at_the_ends<T>(static_cast<std::size_t>(p.length), operation);
      const char* const policy = *rc::gen::elementOf(policies(operation, element_of<T>));
      const scanned by = [&](const scans::problem& q) { scan(where, q, {.policy = policy}); };
      const std::vector<T> out = run_scan(where, p, in, by);
      all += expect_rule<T>(in, out, p, [](std::int64_t) { return false; });
      expect_causal(where, p, in, out, by);
      RC_ASSERT(!testing::Test::HasFailure());
    }));
    if (!all.tells()) return;
    EXPECT_GT(all.right, 0);
    EXPECT_EQ(all.allowed > 0, some == wants::some_out) << all.allowed;
  }
  template <class T> void segments(scan_operation operation) const {
    const context where = any();
    found all;
    EXPECT_TRUE(rc::check("rows and segments by key obey the rule, each on its own", [&] {
      const bool by_key = *rc::gen::arbitrary<bool>();
      const std::int64_t row = *rc::gen::inRange<std::int64_t>(2, 4000),
                         rows = *rc::gen::inRange<std::int64_t>(1, 4);
      scans::problem p{
          .operation = operation,
          .kind = *rc::gen::elementOf(std::vector<scan_kind>(std::begin(kinds), std::end(kinds))),
          .direction =
              *rc::gen::elementOf(std::vector<scan_direction>(std::begin(directions), std::end(directions))),
          .length = row};
      (by_key ? p.length : p.outer) *= rows;
      const std::vector<T> in = numbers_at_the_ends<T>(static_cast<std::size_t>(row * rows), operation);
      std::vector<std::int32_t> keys;
      for (std::int64_t i = 0; i < row * rows; ++i) keys.push_back(static_cast<std::int32_t>(i / row));
      const device_array<std::int32_t> told(where, keys);
      const std::vector<T> out = run_scan<T>(where, p, in, [&](const scans::problem& q) {
        if (by_key)
          scan_by_key(where, q, {.data = told.data()});
        else
          scan(where, q);
      });
      all += expect_rule<T>(in, out, p, [&](std::int64_t i) { return i % row == 0; });
      RC_ASSERT(!testing::Test::HasFailure());
    }));
    if (!all.tells()) return;
    EXPECT_GT(all.right, 0);
    EXPECT_GT(all.allowed, 0);
  }
};
AP_ON_BOTH_DEVICES(scan_range);

TEST_P(scan_range, sums) {
  lines<float>(scan_operation::sum, wants::some_out);
  lines<double>(scan_operation::sum, wants::some_out);
}
TEST_P(scan_range, sums_of_halves) {
  lines<f16>(scan_operation::sum, wants::none_out);  // FP32 has room for more of them than an array can hold
  lines<bf16>(scan_operation::sum, wants::some_out);
}
TEST_P(scan_range, products) {
  lines<float>(scan_operation::product, wants::none_out);  // FP64 has room for that many of them
  lines<double>(scan_operation::product, wants::some_out);
}
TEST_P(scan_range, products_of_halves) {
  lines<f16>(scan_operation::product, wants::none_out);
  lines<bf16>(scan_operation::product, wants::none_out);
}
TEST_P(scan_range, segments) {
  segments<float>(scan_operation::sum);
  segments<double>(scan_operation::product);
}

// Whatever the order, FP64 holds every sum of finite FP32 numbers.
TEST_P(scan_range, sums_of_f32_into_f64_stay_finite) {
  const context where = any();
  if (where.limits().major < 8) GTEST_SKIP() << "no such kernel for " << where.limits().name;
  constexpr float top = std::numeric_limits<float>::max();
  std::vector<float> in;
  for (std::uint64_t i = 0; i < 9001; ++i) in.push_back(hash(i) % 3 == 0 ? -top : top);
  const device_array<float> from(where, in);
  device_array<double> to(where, in.size());
  scan(where, {.in = from.data(),
               .out = to.data(),
               .length = static_cast<std::int64_t>(in.size()),
               .accumulate = element::f64});
  where.runs_on().synchronize(nullptr);
  const std::vector<double> out = to.to_host();
  double sum = 0;  // multiples of FLT_MAX by small integers: exact
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], sum += in[i]) << i;
}

// The examples of docs/use/accuracy.md.
TEST_P(scan_range, what_is_documented) {
  const context where = any();
  const auto results = [&](scan_operation operation, const std::vector<float>& in) {
    return run_scan<float>(where, {.operation = operation, .length = static_cast<std::int64_t>(in.size())},
                           in, [&](const scans::problem& q) { scan(where, q); });
  };
  for (const float each : results(scan_operation::product, {0, 1e20f, 1e20f, 1e20f}))
    EXPECT_EQ(each, 0) << "1e60 is in FP64's range";
  const auto both_ways = results(scan_operation::sum, {3e38f, -3e38f, 3e38f, -3e38f});
  EXPECT_EQ(both_ways[0], 3e38f);
  EXPECT_EQ(both_ways[1], 0) << "each of the two sums is in range";
  const auto small = results(scan_operation::product, {1e30f, 1e-30f, 1e-30f, 1e30f});
  EXPECT_EQ(small, (std::vector<float>{1e30f, 1, 1e-30f, 1}));
}

}  // namespace
}  // namespace antiphase::scan_test
