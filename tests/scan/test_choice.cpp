// SPDX-License-Identifier: Apache-2.0
// Which step scans which problem, what explain() says of it, and the steps for many short lines.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>
#include <antiphase/scan/ladder.hpp>
#include <limits>

#include "tests/scan/numbers.hpp"

namespace antiphase::scan_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class scan_choices : public on_device {
 protected:
  // Addresses without arrays: nothing is scanned.
  static scans::problem placed(scans::problem p) {
    p.in = reinterpret_cast<const void*>(std::uintptr_t{1} << 12);
    p.out = reinterpret_cast<void*>(std::uintptr_t{1} << 60);
    return p;
  }
  scan_choice chosen(const scans::problem& p, std::string_view policy = "auto") const {
    return explain(any(), placed(p), {.policy = policy});
  }
};
AP_ON_BOTH_DEVICES(scan_choices);

TEST_P(scan_choices, short_lines_on_the_cpu_executor) {
  if (is_cuda()) {
    EXPECT_THAT(chosen({.outer = 300'000, .length = 2}).kernel, testing::StartsWith("single-pass"));
    EXPECT_EQ(chosen({.length = 2, .inner = 300'000}).kernel, "columns");
    EXPECT_THROW(chosen({.outer = 3, .length = 2}, "items-thread"), not_supported);
    return;
  }
  const auto kernel = [&](element type, std::int64_t outer, std::int64_t length, std::int64_t inner) {
    return chosen({.type = type, .outer = outer, .length = length, .inner = inner}).kernel;
  };
  EXPECT_EQ(kernel(element::f32, 300'000, 2, 1), "items-thread");
  EXPECT_EQ(kernel(element::f32, 1, 16, 2), "items-thread");
  EXPECT_EQ(kernel(element::f32, 1, 17, 2), "items-warp");
  EXPECT_EQ(kernel(element::i64, 2, 9, 1), "items-warp");
  EXPECT_EQ(kernel(element::u8, 2, 512, 1), "items-warp");
  EXPECT_EQ(kernel(element::u8, 2, 513, 1), "items");
  EXPECT_EQ(kernel(element::f32, 1, 2, 1), "items") << "a single line";
  EXPECT_EQ(kernel(element::bf16, 50, 2, 1), "single-pass") << "the only step that has kernels for it";
  const scan_choice c = chosen({.outer = 300'000, .length = 2});
  EXPECT_EQ(c.threads, 1);
  EXPECT_EQ(c.tile, 16);
  EXPECT_EQ(c.tiles, 300'000);
  EXPECT_EQ(c.blocks, 300'000u);
  EXPECT_EQ(c.workspace, 0u);
  EXPECT_THAT(c.why, ElementsAre(AllOf(HasSubstr("300000 lines of 2"), HasSubstr("every thread"))));
}

template <class T> void short_lines_right(const context& where) {
  std::size_t turn = 0;
  for (const std::int64_t length : {1, 2, 7, 8, 9, 16, 17, 33, 250, 256, 257, 512})
    for (const auto& [outer, inner] : {std::pair<std::int64_t, std::int64_t>{70, 1}, {1, 33}, {5, 7}}) {
      const scans::problem p{.operation = operations[turn % 4],
                             .kind = kinds[turn / 4 % 2],
                             .direction = directions[turn / 8 % 2],
                             .outer = outer,
                             .length = length,
                             .inner = inner};
      expect_scan_right<T>(where, p,
                           {.in_offset = turn % 5 == 1 ? turn % 4 : 0,
                            .out_offset = turn % 5 == 2 ? turn % 2 : 0,
                            .in_place = turn % 5 == 3});
      ++turn;
    }
}
TEST_P(scan_choices, short_lines_are_right) {
  const context where = any();
  short_lines_right<float>(where);
  short_lines_right<double>(where);
  short_lines_right<std::int8_t>(where);
  short_lines_right<std::uint16_t>(where);
  short_lines_right<std::int32_t>(where);
  short_lines_right<std::uint64_t>(where);
}
// Named explicitly, they take longer lines too, in several levels of tiles.
TEST_P(scan_choices, steps_for_short_lines_take_long_ones) {
  if (is_cuda()) GTEST_SKIP() << "they are compiled for the CPU executor only";
  for (const scans::step& s : scans::short_line_steps)
    for (const scan_kind kind : kinds) {
      expect_scan_right<float>(
          any(), {.kind = kind, .direction = scan_direction::reverse, .outer = 2, .length = 5000}, {},
          s.name);
      expect_scan_right<std::uint32_t>(any(), {.kind = kind, .length = 700, .inner = 3}, {}, s.name);
    }
}

TEST_P(scan_choices, say_what_runs) {
  const scan_choice twice = chosen({.length = 100'000}, "items");
  EXPECT_EQ(twice.kernel, "items");
  EXPECT_EQ(twice.threads, 256);
  EXPECT_EQ(twice.tile, 4096);
  EXPECT_EQ(twice.tiles, 25);
  EXPECT_EQ(twice.blocks, 25u);
  EXPECT_EQ(twice.launches, 3);
  EXPECT_EQ(twice.workspace, 256u);
  EXPECT_THAT(twice.why, ElementsAre("policy items was asked for"));
  EXPECT_THAT(twice.refused, IsEmpty());
  if (any().limits().major != 9) return;
  const scan_choice once = chosen({.length = 100'000}, "single-pass");
  EXPECT_EQ(once.tile, 6144);
  EXPECT_EQ(once.tiles, 17);
  EXPECT_EQ(once.stages, 8);
  EXPECT_EQ(once.launches, 1);
  EXPECT_EQ(chosen({.length = 100'000}, "single-pass-3").stages, 3);
  EXPECT_EQ(chosen({.length = 100'000}, "single-pass-async").stages, 4);
  EXPECT_EQ(chosen({.outer = 2, .length = 100'000}, "single-pass").stages, 6);
  const scan_choice wave = chosen({.length = 100'000}, "one-wave");
  EXPECT_EQ(wave.tile * wave.tiles >= 100'000 && wave.tile * (wave.tiles - 1) < 100'000, true);
  EXPECT_EQ(wave.blocks, static_cast<std::uint64_t>(wave.tiles));
}

TEST_P(scan_choices, of_what_no_memory_holds) {
  const scan_choice c = chosen({.length = std::int64_t{1} << 50}, "items");
  EXPECT_EQ(c.tiles, std::int64_t{1} << 38);
  EXPECT_GT(c.workspace, std::size_t{1} << 40);
}

TEST_P(scan_choices, say_why) {
  const scan_choice wide = chosen({.length = 100'000, .accumulate = element::f64});
  if (any().limits().major >= 8) {
    EXPECT_THAT(wide.kernel, testing::StartsWith("single-pass"));
    EXPECT_THAT(wide.why, ElementsAre("no other step has kernels for this"));
    EXPECT_THAT(wide.refused, testing::Contains(AllOf(HasSubstr("items: "), HasSubstr("f32 into f64"))));
  }
  const scan_choice line = chosen({.length = 100'000, .inner = 2});
  EXPECT_EQ(line.kernel, is_cuda() && any().limits().major >= 8 ? "columns" : "items");
  EXPECT_THAT(line.refused, testing::Contains(AllOf(HasSubstr("single-pass"), HasSubstr("1 x 2 lines"))));
  const scan_choice nothing = chosen({.length = 0});
  EXPECT_EQ(nothing.launches, 0);
  EXPECT_EQ(nothing.tiles, 0);
  if (any().limits().major < 8) return;
  const scan_choice halves = chosen({.type = element::f16, .length = 100'000, .inner = 2});
  EXPECT_EQ(halves.kernel, "columns");
}

TEST_P(scan_choices, say_how_far_results_may_be_off) {
  EXPECT_EQ(chosen({.length = 100}).units, 80);
  EXPECT_EQ(chosen({.operation = scan_operation::max, .length = 100}).units, 0);
  EXPECT_EQ(chosen({.type = element::u8, .operation = scan_operation::product, .length = 100}).units, 0);
  EXPECT_EQ(chosen({.operation = scan_operation::product, .length = 100}).units,
            std::numeric_limits<double>::infinity());
}

TEST_P(scan_choices, of_segments) {
  const context where = any();
  if (where.limits().major < 8) GTEST_SKIP() << "no single pass on " << where.limits().name;
  const scans::scan_keys keys{.data = reinterpret_cast<const void*>(std::uintptr_t{1} << 61)};
  const scan_choice c = explain(where, placed({.length = 100'000}), keys);
  EXPECT_THAT(c.kernel, testing::StartsWith("single-pass"));
  EXPECT_EQ(c.tiles, ceil_div<std::int64_t>(100'000, c.tile));
  EXPECT_GT(c.workspace, 0u);
  EXPECT_THROW(explain(where, placed({.length = 100}), keys, {.policy = "items"}), not_supported);
  EXPECT_THROW(explain(where, placed({.outer = 2, .length = 100}), keys), bad_request);
}

TEST_P(scan_choices, refuse_what_the_call_refuses) {
  EXPECT_THROW(chosen({.length = -1}), bad_request);
  EXPECT_THROW(chosen({.length = 5}, "fastest"), bad_request);
  EXPECT_THROW(chosen({.operation = scan_operation::max, .length = 5}, "one-wave"), not_supported);
  device_limits small = simulated_device();
  small.shared_opt_in = small.shared_per_block = 64 * 1024;
  EXPECT_THROW(explain(context(make_cpu_executor({.limits = small})), placed({.length = 64}),
                       {.policy = "single-pass"}),
               not_supported);
}

}  // namespace
}  // namespace antiphase::scan_test
