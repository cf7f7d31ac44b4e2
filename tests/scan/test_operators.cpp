// SPDX-License-Identifier: Apache-2.0
// The operators by themselves: wrapping, NaN, order, identities.
#include <gtest/gtest.h>

#include <antiphase/scan/operators.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>

#include "tests/scan/types.hpp"

namespace antiphase::scans {
namespace {

template <class T> constexpr T largest = std::numeric_limits<T>::max();
template <class T> constexpr T lowest = std::numeric_limits<T>::lowest();

static_assert(operator_on<sum, float> && operator_on<minimum, std::int8_t>);
static_assert(operator_on<scan_test::concatenated, scan_test::brackets> &&
              !operator_on<scan_test::concatenated, float>);
static_assert(scannable<scan_test::nullable> && !scannable<std::string>);

TEST(scan_operators, integers_wrap_around) {
  EXPECT_EQ(sum{}(largest<std::int32_t>, std::int32_t{1}), lowest<std::int32_t>);
  EXPECT_EQ(sum{}(lowest<std::int64_t>, std::int64_t{-1}), largest<std::int64_t>);
  EXPECT_EQ(sum{}(std::int8_t{127}, std::int8_t{127}), std::int8_t{-2});
  EXPECT_EQ(product{}(std::uint16_t{65535}, std::uint16_t{65535}), std::uint16_t{1});
  EXPECT_EQ(product{}(std::int16_t{-32768}, std::int16_t{-32768}), std::int16_t{0});
  EXPECT_EQ(product{}(lowest<std::int64_t>, std::int64_t{-1}), lowest<std::int64_t>);
  EXPECT_EQ(product{}(std::uint8_t{200}, std::uint8_t{3}), std::uint8_t{88});
}

TEST(scan_operators, nan_wins) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (double x : {0.0, -1.5, infinity, -infinity}) {
    EXPECT_TRUE(std::isnan(minimum{}(nan, x)) && std::isnan(minimum{}(x, nan)));
    EXPECT_TRUE(std::isnan(maximum{}(nan, x)) && std::isnan(maximum{}(x, nan)));
  }
  EXPECT_EQ(minimum{}(-infinity, 3.0), -infinity);
  EXPECT_EQ(maximum{}(-infinity, 3.0), 3.0);
}

TEST(scan_operators, of_equal_values_the_left_one_is_kept) {
  EXPECT_TRUE(std::signbit(minimum{}(-0.0, 0.0)) && !std::signbit(minimum{}(0.0, -0.0)));
  EXPECT_TRUE(std::signbit(maximum{}(-0.0, 0.0)) && !std::signbit(maximum{}(0.0, -0.0)));
}

template <class T> void expect_identities() {
  for (T x : {T(0), T(1), T(7), lowest<T>, largest<T>}) {
    operators::each(
        [&](auto op) { EXPECT_EQ(op(identity_of<T>(decltype(op)::operation), x), x) << decltype(op)::name; });
  }
}
TEST(scan_operators, identities_change_nothing) {
  expect_identities<float>();
  expect_identities<double>();
  expect_identities<std::int8_t>();
  expect_identities<std::uint8_t>();
  expect_identities<std::int16_t>();
  expect_identities<std::uint16_t>();
  expect_identities<std::int32_t>();
  expect_identities<std::uint32_t>();
  expect_identities<std::int64_t>();
  expect_identities<std::uint64_t>();
  EXPECT_EQ(minimum::identity<float>(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(maximum::identity<double>(), -std::numeric_limits<double>::infinity());
}

// A row is its own operation's, and its kernels in one pass are its own or those of a row that has some.
TEST(scan_operators, rows_belong_to_their_operations) {
  std::set<std::string> words;
  std::size_t count = 0;
  operators::each([&](auto op) {
    using Op = decltype(op);
    EXPECT_TRUE(is_operation(Op::operation));
    EXPECT_EQ(name(Op::operation), Op::name);
    EXPECT_EQ(is_ordered(Op::operation), Op::ordered);
    EXPECT_EQ(one_pass_as(Op::one_pass_as), Op::one_pass_as) << Op::name;
    with_operator(Op::operation,
                  [](auto found) { EXPECT_TRUE((std::is_same_v<decltype(found), Op>)) << Op::name; });
    std::istringstream aliases{std::string(Op::aliases)};
    for (std::string word; aliases >> word; ++count) words.insert(word);
    words.emplace(Op::name), ++count;
  });
  EXPECT_EQ(words.size(), count) << "two operators share a name";
  EXPECT_FALSE(is_operation(static_cast<scan_operation>(4)));  // log-sum-exp's, in antiphase.h
  EXPECT_FALSE(is_operation(static_cast<scan_operation>(-1)));
}

TEST(scan_operators, identities_by_operation) {
  EXPECT_EQ(identity_of<std::int16_t>(scan_operation::sum), 0);
  EXPECT_EQ(identity_of<double>(scan_operation::product), 1.0);
  EXPECT_EQ(identity_of<std::int8_t>(scan_operation::min), 127);
  EXPECT_EQ(identity_of<std::int8_t>(scan_operation::max), -128);
  EXPECT_EQ(identity_of<std::uint64_t>(scan_operation::max), 0u);
  EXPECT_EQ(identity_of<float>(scan_operation::max), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(identity_of<f16>(scan_operation::product).bits, 0x3C00);
  EXPECT_EQ(identity_of<f16>(scan_operation::max).bits, 0xFC00);
  EXPECT_EQ(identity_of<bf16>(scan_operation::min).bits, 0x7F80);
}

TEST(scan_operators, the_test_operators_are_associative_and_do_not_commute) {
  using namespace scan_test;
  const auto check = []<class T>(auto op, const T&) {
    bool commutes = true;
    for (int i = 0; i < 500; ++i) {
      const T a = element_at<T>(i), b = element_at<T>(i + 1000), c = element_at<T>(i + 7777);
      EXPECT_EQ(op(op(a, b), c), op(a, op(b, c)));
      commutes &= op(a, b) == op(b, a);
    }
    EXPECT_FALSE(commutes);
  };
  check(concatenated{}, brackets{0, 0});
  check(last_present{}, nullable{0, 0, 0});
  check(times{}, matrix{1, 0, 0, 1});
}

}  // namespace
}  // namespace antiphase::scans
