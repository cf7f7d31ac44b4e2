// SPDX-License-Identifier: Apache-2.0
// The single-pass scan along an axis that is not the last: tiles of whole rows and of strips, one and many,
// all types.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>

#include "library/scan/columns/columns_policy.hpp"
#include "tests/scan/any_scan.hpp"

namespace antiphase::scan_test {
namespace {

using testing::HasSubstr;

struct extents {
  std::int64_t outer, length, inner;
};

// Transposed: column by column, for each index of the outer extent.
template <class T> std::vector<T> by_columns(const std::vector<T>& all, const extents& e) {
  std::vector<T> turned;
  for (std::int64_t o = 0; o < e.outer; ++o)
    for (std::int64_t j = 0; j < e.inner; ++j)
      for (std::int64_t i = 0; i < e.length; ++i)
        turned.push_back(all[static_cast<std::size_t>((o * e.length + i) * e.inner + j)]);
  return turned;
}

class column_scans : public on_device {
 protected:
  void SetUp() override {
    on_device::SetUp();
    if (!IsSkipped() && any().limits().major < 8) GTEST_SKIP() << "no columns on " << any().limits().name;
  }
};
AP_ON_BOTH_DEVICES(column_scans);

template <class In, class Out = In>
std::vector<Out> expect_columns(const context& where, const extents& e, scans::problem p,
                                const placement& lies = {}, std::vector<Out> initial = {}) {
  std::vector<In> host;
  for (std::int64_t i = 0; i < e.outer * e.length * e.inner; ++i)
    host.push_back(input_at<In>(i, p.operation));
  Out wrong;
  std::memset(&wrong, 0x5B, sizeof wrong);
  guarded<In> in(where, host, lies.in_offset);
  guarded<Out> apart(where, std::vector<Out>(host.size(), wrong), lies.out_offset);
  p.type = element_of<In>;
  if (!std::is_same_v<In, Out>) p.accumulate = element_of<Out>;
  p.in = in.data();
  p.out = lies.in_place ? static_cast<void*>(in.data()) : apart.data();
  p.outer = e.outer, p.length = e.length, p.inner = e.inner;
  scan(where, p, {.policy = "columns"});
  where.runs_on().synchronize(nullptr);
  std::vector<Out> out(host.size());
  if (lies.in_place) {
    const auto now = in.to_host();
    std::memcpy(out.data(), now.data(), now.size() * sizeof(In));
  } else {
    out = apart.to_host();
    EXPECT_TRUE(std::memcmp(in.to_host().data(), host.data(), host.size() * sizeof(In)) == 0)
        << "the input was written";
  }
  expect_lines<In, Out>(
      by_columns(host, e), by_columns(out, e), p, initial, [&](std::int64_t i) { return i % e.length == 0; },
      text(p, "columns", lies) + " x " + std::to_string(e.inner));
  return out;
}

// Cases: threads without rows, blocks with few columns, one tile and several, groups of tiles full and partly
// filled.
constexpr extents shapes[] = {{1, 1, 2},    {1, 5, 3},    {3, 1, 7},     {1, 33, 2},    {5, 34, 9},
                              {2, 300, 3},  {1, 3000, 3}, {2, 2200, 17}, {1, 5300, 31}, {1, 2700, 33},
                              {3, 700, 64}, {1, 40, 300}, {7, 100, 40},  {300, 4, 3}};

template <class T> void any_shape_right(const context& where, std::size_t turn) {
  for (const extents& e : shapes) {
    expect_columns<T>(where, e,
                      {.operation = operations[turn % 4],
                       .kind = kinds[turn / 4 % 2],
                       .direction = directions[turn / 2 % 2]},
                      {.in_offset = turn % 4, .out_offset = turn % 3, .in_place = turn % 5 == 4});
    ASSERT_FALSE(testing::Test::HasFailure());
    ++turn;
  }
}
TEST_P(column_scans, of_any_shape) {
  const std::vector<context> contexts = several();
  any_shape_right<float>(contexts[0], 0);
  any_shape_right<double>(contexts.back(), 1);
  any_shape_right<std::int8_t>(contexts[0], 2);
  any_shape_right<std::uint8_t>(contexts.back(), 7);
  any_shape_right<std::int16_t>(contexts[0], 3);
  any_shape_right<std::uint16_t>(contexts.back(), 4);
  any_shape_right<std::int32_t>(contexts[0], 5);
  any_shape_right<std::uint64_t>(contexts.back(), 6);
  any_shape_right<f16>(contexts[0], 9);
  any_shape_right<bf16>(contexts.back(), 8);
}

TEST_P(column_scans, in_wider_types) {
  const auto both = [&]<class In, class Out>(In, Out) {
    expect_columns<In, Out>(any(), {1, 3000, 3}, {});
    expect_columns<In, Out>(
        any(), {2, 600, 33},
        {.kind = scan_kind::exclusive, .direction = scan_direction::reverse, .initial = 1000},
        {.in_offset = 3, .out_offset = 1}, {Out(1000)});
  };
  both(std::int8_t{}, std::int32_t{});
  both(std::uint8_t{}, std::uint64_t{});
  both(std::int16_t{}, std::int64_t{});
  both(std::uint16_t{}, std::uint32_t{});
  both(std::int32_t{}, std::int64_t{});
  both(f16{}, float{});
  both(bf16{}, float{});
  both(float{}, double{});
}

TEST_P(column_scans, exclusive_ones_begin_anywhere) {
  expect_columns<float>(any(), {2, 700, 5}, {.kind = scan_kind::exclusive, .initial = -3.5}, {}, {-3.5f});
  expect_columns<std::int8_t>(any(), {1, 3100, 3},
                              {.operation = scan_operation::max, .kind = scan_kind::exclusive, .initial = -3},
                              {}, {std::int8_t{-3}});
  expect_columns<f16>(any(), {1, 50, 37}, {.kind = scan_kind::exclusive, .initial = -7.5}, {},
                      {to_f16(-7.5f)});
}

// Same bits for any schedule and any placement of the arrays.
TEST_P(column_scans, give_the_same_bits) {
  for (const extents& e : {extents{1, 12000, 3}, extents{1, 5300, 40}}) {
    const auto first = expect_columns<float>(any(), e, {});
    const auto wide = expect_columns<double>(any(), e, {});
    for (const context& where : several())
      for (const std::size_t offset : {0u, 1u, 3u}) {
        EXPECT_TRUE(expect_columns<float>(where, e, {}, {.in_offset = offset, .out_offset = 3 - offset}) ==
                    first);
        EXPECT_TRUE(expect_columns<double>(where, e, {}, {.out_offset = offset}) == wide);
      }
  }
}

// NaN spoils its own column only; sums of -0 are -0, sums of infinities infinite.
TEST_P(column_scans, keep_what_is_special) {
  const extents e{1, 12000, 3};
  for (const bool wide : {false, true}) {
    const auto check = [&]<class T>(T) {
      std::vector<T> host(static_cast<std::size_t>(e.length * e.inner), T(-0.0));
      host[3 * 5000 + 1] = std::numeric_limits<T>::infinity();
      host[3 * 5100 + 2] = std::numeric_limits<T>::quiet_NaN();
      device_array<T> array(any(), host);
      scan(any(),
           {.type = element_of<T>,
            .in = array.data(),
            .out = array.data(),
            .length = e.length,
            .inner = e.inner},
           {.policy = "columns"});
      const auto out = array.to_host();
      for (std::size_t i = 0; i < static_cast<std::size_t>(e.length); ++i) {
        ASSERT_TRUE(out[3 * i] == 0 && std::signbit(out[3 * i])) << i;
        ASSERT_TRUE(i < 5000 ? out[3 * i + 1] == 0 && std::signbit(out[3 * i + 1])
                             : std::isinf(out[3 * i + 1]))
            << i;
        ASSERT_EQ(std::isnan(out[3 * i + 2]), i >= 5100) << i;
      }
    };
    wide ? check(double{}) : check(float{});
  }
}

// One workspace serves columns, rows and lines in turn.
TEST_P(column_scans, share_a_workspace) {
  const context where = any();
  const std::int64_t most = 100'000;
  std::vector<float> host;
  for (std::int64_t i = 0; i < most; ++i)
    host.push_back(static_cast<float>(hash(static_cast<std::uint64_t>(i)) % 16));
  const device_array<float> in(where, host);
  device_array<float> out(where, host.size());
  const auto problem_of = [&](const extents& e) {
    return scan_problem{
        .in = in.data(), .out = out.data(), .outer = e.outer, .length = e.length, .inner = e.inner};
  };
  const extents turns[] = {{1, 30000, 3}, {1, 90000, 1}, {1, 2400, 40}, {4, 20000, 1},
                           {1, 33000, 3}, {2, 700, 64},  {1, 9, 9}};
  std::size_t bytes = 0;
  for (const extents& e : turns) bytes = std::max(bytes, scan_workspace(problem_of(e)));
  device_array<std::byte> workspace(where, bytes);
  initialise_scan_workspace(where, {workspace.data(), workspace.size()});
  for (int round = 0; round < 2; ++round)
    for (const extents& e : turns) {
      const bool ring = e.inner == 1 && where.limits().major == 9;
      scan(where, problem_of(e),
           {.policy = e.inner > 1 ? "columns"
                      : ring      ? "single-pass"
                                  : "auto",
            .workspace = {workspace.data(), workspace.size()}});
      where.runs_on().synchronize(nullptr);
      const auto all = out.to_host();
      std::vector<float> part(host.begin(),
                              host.begin() + static_cast<std::ptrdiff_t>(e.outer * e.length * e.inner));
      const auto expected = expected_scan(part, {e.outer, e.length, e.inner}, scan_kind::inclusive, 0.0f,
                                          [](float a, float b) { return a + b; });
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.begin()))
          << round << ", " << e.length << " x " << e.inner;
    }
}

TEST_P(column_scans, say_what_they_do_not_take) {
  float memory[64] = {};
  EXPECT_THAT(refusal_by("columns", any(), {.in = memory, .out = memory, .outer = 2, .length = 8}),
              HasSubstr("an axis that is not the last"));
  const auto* const far = reinterpret_cast<const void*>(std::uintptr_t{1} << 20);
  const scan_problem huge{
      .in = far, .out = const_cast<void*>(far), .outer = std::int64_t{1} << 40, .length = 9000, .inner = 2};
  EXPECT_THAT(refusal_by("columns", any(), huge), HasSubstr("2^31 - 1"));
}

// Tiles cover all columns and rows, none is empty, and none takes more threads than a block has.
TEST(column_shapes, cover_the_problem) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{8}})
    for (const std::int64_t outer : {1, 2, 77, 1000003})
      for (const std::int64_t length : {1, 2, 17, 33, 34, 100, 264, 265, 5000, 1 << 20})
        for (const std::int64_t inner : {2, 3, 7, 31, 32, 33, 63, 64, 65, 255, 256, 257, 100003}) {
          const scans::column_shape s = scans::column_shape_of({outer, length, inner}, size);
          EXPECT_GE(s.strips * s.columns, outer * inner);
          EXPECT_LT((s.strips - 1) * s.columns, outer * inner);
          EXPECT_GE(s.tiles * s.rows(), length);
          EXPECT_LT((s.tiles - 1) * s.rows(), length);
          EXPECT_LE(s.columns * s.segments, scans::column_threads);
          EXPECT_GE(s.columns, 1);
          EXPECT_GE(s.segments, 1);
          EXPECT_TRUE(!s.whole_rows || (s.columns == inner && s.strips == outer));
          EXPECT_TRUE(s.tiles == 1 || s.segments >= 8);
        }
}

}  // namespace
}  // namespace antiphase::scan_test
