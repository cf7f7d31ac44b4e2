// SPDX-License-Identifier: Apache-2.0
// The single-pass scan beyond one plain line: initial values, wider sums, rows, segments by key and by flags.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>
#include <set>

#include "tests/scan/any_scan.hpp"

namespace antiphase::scan_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class single_pass_lines : public on_ring_device {
 protected:
  // Does nothing where In has no kernel.
  template <class In, class Out = In> void right(const context& where, const scans::problem& p,
                                                 const placement& lies = {},
                                                 const std::vector<Out>& initial = {}) const {
    if (takes<In>()) expect_right<In, Out>(where, p, lies, policy(), initial);
  }
  template <class T>
  void begins_with(const context& where, std::initializer_list<std::pair<scan_operation, T>> cases) const {
    for (const auto& [operation, first] : cases)
      for (const scan_direction direction : directions) {
        const scans::problem p{.operation = operation,
                               .kind = scan_kind::exclusive,
                               .direction = direction,
                               .length = ring_tile<T> + 5,
                               .initial = first};
        right<T>(where, p, {}, {first});
        if (!by_threads()) expect_right<T>(where, p, {}, "items", {first});
      }
  }
  template <class T> void rows_of(const context& where, std::initializer_list<std::int64_t> lengths,
                                  std::int64_t elements) const {
    std::size_t turn = 0;
    for (const std::int64_t length : lengths) {
      ++turn;
      right<T>(where,
               {.operation = operations[turn % 4],
                .kind = kinds[turn % 2],
                .direction = directions[turn / 2 % 2],
                .outer = std::max<std::int64_t>(2, elements / length),
                .length = length},
               {.in_offset = turn % 3 == 0 ? turn % 4 : 0,
                .out_offset = turn % 3 == 1 ? turn % 4 : 0,
                .in_place = turn % 5 == 4});
    }
  }
  template <class T, class Key>
  void segments_right(const context& where, scans::problem p, const std::vector<Key>& keys,
                      scans::segments_by by, const placement& lies = {}, std::vector<T> initial = {}) const;
};
AP_ON_BOTH_DEVICES_BY_BOTH_MOVERS(single_pass_lines);
TEST_P(single_pass_lines, exclusive_scans_begin_anywhere) {
  const context where = any();
  begins_with<float>(
      where, {{scan_operation::sum, -3.5f}, {scan_operation::min, 0.125f}, {scan_operation::max, 100.0f}});
  begins_with<std::int8_t>(
      where, {{scan_operation::sum, std::int8_t{-100}}, {scan_operation::max, std::int8_t{-3}}});
  begins_with<std::uint16_t>(
      where, {{scan_operation::product, std::uint16_t{257}}, {scan_operation::min, std::uint16_t{40000}}});
  begins_with<std::int64_t>(
      where, {{scan_operation::min, std::int64_t{-5}}, {scan_operation::sum, std::int64_t{1} << 62}});
  const f16 half = to_f16(-7.5f);
  for (const scan_operation operation : operations)
    right<f16>(where, {.operation = operation, .kind = scan_kind::exclusive, .length = 40, .initial = -7.5},
               {}, {half});
}

TEST_P(single_pass_lines, sums_in_wider_types) {
  const context where = any();
  const auto both = [&]<class In, class Out>(In, Out) {
    right<In, Out>(where, {.length = 2 * ring_tile<In, Out> + 21});
    right<In, Out>(where,
                   {.kind = scan_kind::exclusive,
                    .direction = scan_direction::reverse,
                    .length = ring_tile<In, Out> + 3},
                   {.in_offset = 3, .out_offset = 1});
    right<In, Out>(where, {.kind = scan_kind::exclusive, .length = 9, .initial = 1000}, {}, {Out(1000)});
    if (!by_threads()) expect_right<In, Out>(where, {.length = 9}, {}, "auto");
  };
  both(std::int8_t{}, std::int32_t{});
  both(std::int8_t{}, std::int64_t{});
  both(std::uint8_t{}, std::uint32_t{});
  both(std::uint8_t{}, std::uint64_t{});
  both(std::int16_t{}, std::int32_t{});
  both(std::int16_t{}, std::int64_t{});
  both(std::uint16_t{}, std::uint64_t{});
  both(std::uint16_t{}, std::uint32_t{});
  both(std::int32_t{}, std::int64_t{});
  both(f16{}, float{});
  both(bf16{}, float{});
  both(float{}, double{});
}

TEST_P(single_pass_lines, rows) {
  const context where = any();
  constexpr std::int64_t t = ring_tile<float>;
  rows_of<float>(where, {1, 2, 3, 4, 5, 7, 31, 128, 1000, t - 1, t, t + 1, 2 * t - 3}, t + 500);
  rows_of<std::int32_t>(where, {1, 6, 33, 255, t / 2, t}, 2 * t + 1);
  rows_of<std::uint32_t>(where, {13, 3 * t + 1}, 1000);
  rows_of<double>(where, {1, 2, 3, 257, ring_tile<double> + 9}, ring_tile<double> + 77);
  rows_of<std::int64_t>(where, {2, 5, 64, ring_tile<double> - 1}, 2 * ring_tile<double>);
  rows_of<f16>(where, {1, 3, 100, 4099}, ring_tile<f16> + 50);
  rows_of<bf16>(where, {2, 7, 1000, ring_tile<bf16> - 1}, ring_tile<bf16> + 50);
  rows_of<std::int8_t>(where, {1, 2, 3, 15, 17, 77, 1000, 30721}, 33000);
  rows_of<std::uint8_t>(where, {5, 16, 4099, 30719}, 31000);
  rows_of<std::int16_t>(where, {1, 3, 9, 100, 4099}, 16000);
  rows_of<std::uint16_t>(where, {2, 7, 15361}, 16000);
  // rows so long that a tile is far from both ends
  right<float>(where, {.outer = 2, .length = 70001});
  right<std::int64_t>(
      where,
      {.operation = scan_operation::max, .direction = scan_direction::reverse, .outer = 2, .length = 70001});
  for (const scan_operation operation : operations)
    for (const scan_direction direction : directions)
      right<float>(where,
                   {.operation = operation,
                    .kind = scan_kind::exclusive,
                    .direction = direction,
                    .outer = 37,
                    .length = 50,
                    .initial = 2},
                   {}, {2.0f});
}

// Keys by position: runs of different lengths, also across tiles.
template <class Key> std::vector<Key> keys_of(std::int64_t count, int runs) {
  std::vector<Key> keys;
  std::uint64_t key = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (hash(static_cast<std::uint64_t>(i) + 5) % static_cast<std::uint64_t>(runs) == 0) ++key;
    keys.push_back(static_cast<Key>(hash(key) % 5));
  }
  return keys;
}

template <class T, class Key>
void single_pass_lines::segments_right(const context& where, scans::problem p, const std::vector<Key>& keys,
                                       scans::segments_by by, const placement& lies,
                                       std::vector<T> initial) const {
  if (!takes<T>()) return;
  std::vector<T> host;
  for (std::size_t i = 0; i < keys.size(); ++i)
    host.push_back(input_at<T>(static_cast<std::int64_t>(i), p.operation));
  guarded<T> in(where, host, lies.in_offset),
      apart(where, std::vector<T>(host.size(), T(85)), lies.out_offset);
  guarded<Key> told(where, keys, lies.in_offset * 3 % 5);
  guarded<T>& to = lies.in_place ? in : apart;
  p.type = element_of<T>;
  p.in = in.data();
  p.out = to.data();
  p.length = static_cast<std::int64_t>(keys.size());
  scan_by_key(where, p, {.data = told.data(), .type = element_of<Key>, .segments = by}, {.policy = policy()});
  where.runs_on().synchronize(nullptr);
  expect_lines<T, T>(
      host, to.to_host(), p, initial,
      [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        return at < keys.size() &&
               (by == scans::segments_by::keys ? !(keys[at] == keys[at - 1]) : keys[at] != 0);
      },
      text(p, by == scans::segments_by::keys ? "by key" : "by flags", lies));
}

TEST_P(single_pass_lines, by_key) {
  const context where = any();
  std::size_t turn = 0;
  const auto turns = [&]<class T, class Key>(T, Key) {
    for (const int runs : {1, 3, 40, 100000}) {
      ++turn;
      const std::int64_t length = turn % 3 == 0   ? 2 * ring_tile<T> + 13
                                  : turn % 3 == 1 ? ring_tile<T> - 1
                                                  : 77;
      segments_right<T, Key>(
          where,
          {.operation = operations[turn % 4], .kind = kinds[turn % 2], .direction = directions[turn / 2 % 2]},
          keys_of<Key>(length, runs), scans::segments_by::keys,
          {.in_offset = turn % 4, .out_offset = turn % 3, .in_place = turn % 5 == 0});
    }
  };
  turns(float{}, std::int32_t{});
  turns(double{}, std::uint64_t{});
  turns(std::int32_t{}, std::uint8_t{});
  turns(std::int64_t{}, std::int16_t{});
  turns(std::uint32_t{}, float{});
  turns(std::uint64_t{}, double{});
  turns(std::int8_t{}, std::int32_t{});
  turns(std::uint8_t{}, std::uint64_t{});
  turns(std::int16_t{}, std::uint8_t{});
  turns(std::uint16_t{}, std::uint16_t{});
}

TEST_P(single_pass_lines, by_head_flags) {
  const context where = any();
  for (const int runs : {1, 2, 17, 5000})
    for (const scan_direction direction : directions) {
      std::vector<std::uint8_t> flags = keys_of<std::uint8_t>(ring_tile<float> + 345, runs);
      segments_right<float, std::uint8_t>(where, {.direction = direction}, flags,
                                          scans::segments_by::head_flags);
      for (std::uint8_t& f : flags) f = static_cast<std::uint8_t>(f == 3 ? 128 : 0);
      segments_right<std::int64_t, std::uint8_t>(where,
                                                 {.operation = scan_operation::max,
                                                  .kind = scan_kind::exclusive,
                                                  .direction = direction,
                                                  .initial = -9},
                                                 flags, scans::segments_by::head_flags, {}, {-9});
      segments_right<std::int8_t, std::uint8_t>(
          where, {.kind = scan_kind::exclusive, .direction = direction, .initial = 5}, flags,
          scans::segments_by::head_flags, {.in_offset = 1, .out_offset = 3}, {5});
    }
}

TEST_P(single_pass_lines, keys_that_are_nan_or_zero) {
  const context where = any();
  std::vector<float> keys(500, std::nanf(""));
  segments_right<float, float>(where, {}, keys, scans::segments_by::keys);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i % 2 == 0 ? 0.0f : -0.0f;
  segments_right<std::int32_t, float>(where, {}, keys, scans::segments_by::keys);
  std::vector<double> wide(500, std::nan(""));
  for (std::size_t i = 100; i < 300; ++i) wide[i] = i % 2 == 0 ? 0.0 : -0.0;
  segments_right<double, double>(where, {.direction = scan_direction::reverse}, wide,
                                 scans::segments_by::keys);
}

// A NaN spoils its own segment and no other.
TEST_P(single_pass_lines, nan_stays_in_its_row) {
  const context where = any();
  std::vector<float> host(5000, 1);
  host[2503] = std::nanf("");
  device_array<float> array(where, host);
  scan(where, {.in = array.data(), .out = array.data(), .outer = 50, .length = 100}, {.policy = policy()});
  const auto out = array.to_host();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i >= 2503 && i < 2600)
      ASSERT_TRUE(std::isnan(out[i])) << i;
    else
      ASSERT_EQ(out[i], static_cast<float>(i % 100 + 1)) << i;
  }
}

std::string refusal(const scans::problem& p, std::optional<scans::scan_keys> keys = {}) {
  try {
    keys ? scan_by_key(context::on("cpu"), p, *keys) : scan(context::on("cpu"), p);
  } catch (const bad_request& e) {
    return e.what();
  }
  return "";
}
TEST(scan_requests_of_lines, say_what_is_wrong) {
  float a[64];
  std::int8_t bytes[64];
  std::int32_t words[64];
  EXPECT_THAT(refusal({.in = a, .out = a, .length = 4, .initial = 1}),
              AllOf(HasSubstr("initial is 1"), HasSubstr("inclusive")));
  EXPECT_THAT(refusal({.type = element::i8,
                       .kind = scan_kind::exclusive,
                       .in = bytes,
                       .out = bytes,
                       .length = 4,
                       .initial = 3.5}),
              AllOf(HasSubstr("initial is 3.5"), HasSubstr("i8")));
  EXPECT_THAT(refusal({.type = element::u32,
                       .kind = scan_kind::exclusive,
                       .in = words,
                       .out = words,
                       .length = 4,
                       .initial = -1}),
              HasSubstr("initial is -1"));
  EXPECT_THAT(refusal({.type = element::i64,
                       .kind = scan_kind::exclusive,
                       .in = words,
                       .out = words,
                       .length = 4,
                       .initial = 0x1p63}),
              HasSubstr("a number that i64 holds"));
  EXPECT_THAT(refusal({.kind = scan_kind::exclusive, .in = a, .out = a, .length = 4, .initial = 1e300}),
              HasSubstr("f32"));
  EXPECT_EQ(refusal({.type = element::i32,
                     .kind = scan_kind::exclusive,
                     .in = words,
                     .out = words,
                     .length = 4,
                     .initial = -7.0}),
            "");
  EXPECT_THAT(refusal({.type = element::i8,
                       .operation = scan_operation::max,
                       .in = bytes,
                       .out = words,
                       .length = 4,
                       .accumulate = element::i32}),
              AllOf(HasSubstr("accumulate is i32"), HasSubstr("max")));
  EXPECT_THAT(refusal({.in = a, .out = words, .length = 4, .accumulate = element::i64}),
              HasSubstr("accumulate is i64"));
  EXPECT_THAT(
      refusal({.type = element::i8, .in = bytes, .out = bytes, .length = 4, .accumulate = element::i32}),
      HasSubstr("overlaps"));
  scans::problem p{.in = a, .out = a, .length = 4};
  EXPECT_THAT(refusal(p, scans::scan_keys{.data = nullptr}), HasSubstr("keys are a null pointer"));
  EXPECT_THAT(refusal(p, scans::scan_keys{.data = bytes + 1}), HasSubstr("multiple of 4"));
  EXPECT_THAT(refusal(p, scans::scan_keys{.data = a}), HasSubstr("overlaps the keys"));
  EXPECT_THAT(refusal(p, scans::scan_keys{.data = words, .type = element::f16}), HasSubstr("type of keys"));
  p.outer = 2;
  EXPECT_THAT(refusal(p, scans::scan_keys{.data = words}), HasSubstr("outer x inner is 2 x 1"));
}

}  // namespace
}  // namespace antiphase::scan_test
