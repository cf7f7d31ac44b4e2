// SPDX-License-Identifier: Apache-2.0
// Requests that a scan refuses and its messages, and their plain values: steps, policies, lines.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>

#include "tests/scan/numbers.hpp"

namespace antiphase::scan_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

float array[64];

template <class Error> std::string refusal_of(const scans::problem& p, std::string_view policy = "auto") {
  try {
    scan(context::on("cpu"), p, {.policy = policy});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
std::string bad(const scans::problem& p) { return refusal_of<bad_request>(p); }

TEST(scan_requests, the_argument_that_is_wrong_is_named) {
  EXPECT_THAT(bad({.in = array, .out = array, .outer = -1, .length = 4}),
              AllOf(HasSubstr("outer"), HasSubstr("-1")));
  EXPECT_THAT(bad({.in = array, .out = array, .length = -4}), AllOf(HasSubstr("length"), HasSubstr("-4")));
  EXPECT_THAT(bad({.in = array, .out = array, .length = 4, .inner = -2}),
              AllOf(HasSubstr("inner"), HasSubstr("-2")));
  EXPECT_THAT(bad({.out = array, .length = 4}),
              AllOf(HasSubstr("in is a null pointer"), HasSubstr("16 bytes")));
  EXPECT_THAT(bad({.in = array, .length = 4}), HasSubstr("out is a null pointer"));
  EXPECT_THAT(bad({.type = static_cast<element>(99), .in = array, .out = array, .length = 4}),
              AllOf(HasSubstr("type"), HasSubstr("99")));
  EXPECT_THAT(bad({.operation = static_cast<scan_operation>(4), .in = array, .out = array, .length = 4}),
              HasSubstr("operation is 4"));
  EXPECT_THAT(bad({.kind = static_cast<scan_kind>(2), .in = array, .out = array, .length = 4}),
              HasSubstr("kind is 2"));
  EXPECT_THAT(bad({.direction = static_cast<scan_direction>(-1), .in = array, .out = array, .length = 4}),
              HasSubstr("direction is -1"));
}

TEST(scan_requests, sizes_whose_product_overflows) {
  constexpr std::int64_t big = std::int64_t{1} << 31;
  EXPECT_THAT(bad({.in = array, .out = array, .outer = big, .length = big, .inner = big}),
              HasSubstr("2147483648 x 2147483648 x 2147483648"));
  EXPECT_THAT(bad({.type = element::f64, .in = array, .out = array, .outer = big, .length = big / 2}),
              HasSubstr("2^63"));
  EXPECT_EQ(bad({.outer = big, .length = 0, .inner = big}), "") << "there is nothing to scan";
}

TEST(scan_requests, addresses_that_do_not_fit) {
  EXPECT_THAT(bad({.in = reinterpret_cast<char*>(array) + 2, .out = array, .length = 4}),
              AllOf(HasSubstr("in is at address"), HasSubstr("multiple of 4")));
  EXPECT_THAT(bad({.in = array, .out = array + 3, .length = 4}),
              AllOf(HasSubstr("out begins 12 bytes after in"), HasSubstr("16 bytes apart")));
  EXPECT_THAT(bad({.in = array + 3, .out = array, .length = 4}), HasSubstr("out begins 12 bytes before in"));
  EXPECT_THAT(
      bad({.in = array, .out = array, .length = 4, .accumulate = element::f64}),
      HasSubstr("out begins where in does, with another size, and overlaps it: expected 32 bytes apart"));
  EXPECT_EQ(bad({.in = array, .out = array + 4, .length = 4}), "");
}

TEST(scan_requests, memory_has_an_end) {
  float* const last = reinterpret_cast<float*>(~std::uintptr_t{0} - 15);
  EXPECT_THAT(bad({.in = last, .out = array, .length = 5}),
              AllOf(HasSubstr("in is at address"), HasSubstr("20 bytes"), HasSubstr("end of memory")));
  EXPECT_THAT(bad({.in = array, .out = last, .length = std::int64_t{1} << 60}),
              HasSubstr("beyond the end of memory"));
}

// Empty problem, whatever the other extents.
TEST(scan_requests, extents_of_nothing_are_not_multiplied) {
  constexpr std::int64_t big = std::int64_t{1} << 40;
  for (const std::string_view policy : {"auto", "items", "single-pass", "warp-shuffle"})
    for (const element type : {element::f32, element::f16})
      for (const scans::problem& p :
           {scans::problem{.type = type, .outer = big, .length = 0, .inner = big},
            scans::problem{.type = type, .outer = big, .length = big, .inner = 0},
            scans::problem{.type = type, .outer = 0, .length = big, .inner = big}}) {
        EXPECT_EQ(refusal_of<bad_request>(p, policy), "") << policy;
        scan_workspace(p);
      }
}

TEST(scan_requests, keys_and_their_kind) {
  const auto by_key = [](const scans::scan_keys& keys) -> std::string {
    try {
      scan_by_key(context::on("cpu"), {.in = array, .out = array, .length = 4}, keys);
    } catch (const bad_request& e) {
      return e.what();
    }
    return "";
  };
  std::int32_t keys[4]{};
  EXPECT_EQ(by_key({.data = keys}), "");
  EXPECT_THAT(by_key({.data = keys, .segments = static_cast<scans::segments_by>(2)}),
              HasSubstr("segments_by is 2"));
  EXPECT_THAT(by_key({.data = nullptr}), HasSubstr("keys are a null pointer"));
  EXPECT_THAT(by_key({.data = reinterpret_cast<char*>(keys) + 2}),
              AllOf(HasSubstr("keys are at address"), HasSubstr("multiple of 4")));
  EXPECT_THAT(by_key({.data = reinterpret_cast<void*>(~std::uintptr_t{0} - 7)}),
              HasSubstr("beyond the end of memory"));
  EXPECT_THAT(by_key({.data = array + 3}), HasSubstr("out overlaps the keys"));
}

TEST(scan_requests, policies) {
  EXPECT_THAT(
      refusal_of<bad_request>({.in = array, .out = array, .length = 4}, "fastest"),
      AllOf(HasSubstr("'fastest'"),
            HasSubstr("two-barriers, double-buffer, warp-shuffle, items, single-pass-async, single-pass-1, "
                      "single-pass-2, single-pass-3, single-pass, one-wave, items-thread, items-warp, "
                      "columns or auto")));
  EXPECT_THAT(
      refusal_of<not_supported>({.operation = scan_operation::min, .in = array, .out = array, .length = 4},
                                "double-buffer"),
      AllOf(HasSubstr("double-buffer"), HasSubstr("min"), HasSubstr("f32")));
  EXPECT_EQ(explain(context::on("cpu"), {.in = array, .out = array + 4, .length = 4}).kernel, "items");
  for (const scans::step& s : scans::steps) EXPECT_EQ(&scans::find_step(s.name), &s);
}

TEST(scan_requests, nothing_is_changed_by_a_refusal) {
  std::vector<float> data{1, 2, 3, 4};
  EXPECT_NE(bad({.in = data.data(), .out = data.data(), .outer = -1, .length = 4}), "");
  EXPECT_EQ(data, (std::vector<float>{1, 2, 3, 4}));
}

TEST(scan_policies, accesses_of_16_bytes) {
  const scans::policy items = scans::items_policy, single = scans::warp_shuffle_policy;
  for (std::size_t size : {1u, 2u, 4u, 8u, 16u}) EXPECT_EQ(items.chunk(size) * static_cast<int>(size), 16);
  EXPECT_EQ(items.chunk(3), 4);
  EXPECT_EQ(items.chunk(32), 1);
  EXPECT_EQ(items.tile(4), 256 * 16);
  EXPECT_EQ(items.tile(32), 256 * 2);
  EXPECT_EQ(items.tile(1), 256 * 16);
  for (std::size_t size : {1u, 3u, 4u, 32u}) EXPECT_EQ(single.tile(size), 256);
  EXPECT_FALSE(scans::valid({.threads = 0}) || scans::valid({.threads = 1025}));
}

TEST(scan_lines, are_found_beyond_32_bits) {
  constexpr std::int64_t big = (std::int64_t{1} << 32) + 7;
  const scans::lines rows{.outer = 5, .length = big, .inner = 1};
  EXPECT_EQ(rows.first(4), 4 * big);
  const scans::lines columns{.outer = 3, .length = 9, .inner = big, .direction = scan_direction::reverse};
  EXPECT_EQ(columns.first(2 * big + 5), 2 * 9 * big + 5 + 8 * big);
  EXPECT_EQ(columns.stride(), -big);
  const scans::arguments<std::uint8_t> all{nullptr, nullptr, nullptr, rows, scan_kind::inclusive, 0};
  EXPECT_EQ(all.tiles(4096), 5 * (std::int64_t{1048576} + 1));
  EXPECT_EQ(scans::launch_of({}, 1, all).grid.x, 2147483647u)
      << "a grid has an end, blocks take several tiles";
}

TEST(scan_passes, a_tile_of_one_element_is_refused) {
  EXPECT_THROW(scans::workspace_bytes<float>(1, {.length = 2}), bad_request);
  EXPECT_EQ(scans::workspace_bytes<float>(1, {.length = 1}), 0u);
}

TEST(scan_passes, go_down_the_levels_and_up_again) {
  std::vector<std::byte> workspace(1280 + 256);
  const auto launches = scans::prepare(*make_cpu_executor(), scans::find_step("warp-shuffle"),
                                       {.in = array, .out = array, .length = 256 * 256 + 1}, workspace);
  std::vector<std::string> names;
  std::vector<unsigned> blocks;
  for (const auto& l : launches) names.push_back(l.code.name), blocks.push_back(l.grid.x);
  EXPECT_EQ(blocks, (std::vector<unsigned>{257, 2, 1, 2, 257}));
  EXPECT_EQ(names, (std::vector<std::string>{"scan.warp-shuffle.totals", "scan.warp-shuffle.totals",
                                             "scan.warp-shuffle", "scan.warp-shuffle", "scan.warp-shuffle"}));
  EXPECT_EQ(scans::workspace_bytes(scans::find_step("warp-shuffle"),
                                   {.in = array, .out = array, .length = 256 * 256 + 1}),
            1280u + 256u);
}

}  // namespace
}  // namespace antiphase::scan_test
