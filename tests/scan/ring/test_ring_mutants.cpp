// SPDX-License-Identifier: Apache-2.0
// Every fault of the single-pass scan is found, with the kind and text given in its list; the kernel without
// a fault is clean in many schedules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/detail/single_pass.hpp>
#include <string_view>

#include "tests/scan/ring/ring_mutants.hpp"
#include "tests/support/mutant_runners.hpp"

namespace antiphase::scan_test {

namespace checked {
std::vector<ring_mutant> ring_mutants();
}

namespace {

constexpr std::int64_t tile = small_ring.tile_of(4, 4);

// Two scans on one workspace with different elements: small integers, whose sums are exact.
void scan_twice(const context& where, const ring_mutant& with, std::int64_t length, unsigned blocks) {
  const auto tiles = static_cast<std::uint32_t>(ceil_div(length, tile));
  const std::size_t n = static_cast<std::size_t>(length), words = scans::control_words + 2 * tiles;
  device_array<std::uint64_t> workspace(where, std::vector<std::uint64_t>(words, 0));
  for (int launch = 0; launch < 2; ++launch) {
    std::vector<float> host(with.policy.offset + n);
    for (std::size_t i = 0; i < host.size(); ++i)
      host[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(launch) * 3) % 11) - 4;
    const device_array<float> in(where, std::span<const float>(host));
    device_array<float> out(where, std::vector<float>(with.policy.out_offset + n, 0.5f));
    const scans::single_pass_arguments all{.in = in.data() + with.policy.offset,
                                           .out = out.data() + with.policy.out_offset,
                                           .length = length,
                                           .tiles = tiles,
                                           .kind = scan_kind::inclusive,
                                           .direction = scan_direction::forward,
                                           .neutral = 0,
                                           .initial = 0,
                                           .flip = 0,
                                           .segments = scans::rows_of(tile, tile),
                                           .control = workspace.data(),
                                           .states = workspace.data() + scans::control_words,
                                           .state_words = words - scans::control_words};
    where.runs_on().launch(with.code, {std::min(blocks, tiles), 1, 1}, &all, nullptr);
    where.runs_on().synchronize(nullptr);
    const std::vector<float> result = out.to_host();
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += host[with.policy.offset + i];
      if (!(result[with.policy.out_offset + i] == sum))
        throw device_error("element " + std::to_string(i) + " is wrong");
    }
  }
}

class ring_mutants : public testing::TestWithParam<ring_mutant> {};
TEST_P(ring_mutants, are_found) {
  const ring_mutant& m = GetParam();
  test::expect_accused(
      m, [&](const context& where) { scan_twice(where, m, m.policy.tiles * tile + 37, 2); },
      test::on_multiprocessors(2, 12), 60);
}
INSTANTIATE_TEST_SUITE_P(all, ring_mutants, testing::ValuesIn(checked::ring_mutants()),
                         test::name_of<ring_input>);

// The exchange of totals: blocks delayed at random, in any order, few of them resident, more of them than
// tiles.
void expect_clean_exchange(std::string_view kernel) {
  const std::vector<ring_mutant> all = checked::ring_mutants();
  const ring_mutant whole =
      *std::find_if(all.begin(), all.end(), [&](const ring_mutant& m) { return m.code.name == kernel; });
  check_options options;
  options.schedules = 150;
  options.workers = 1;
  options.shorten = false;
  options.resident_blocks = {1, 2, 4};
  options.limits.multiprocessors = 4;
  unsigned turn = 0;
  const check_report report = check(
      [&](const context& where) {
        ++turn;
        scan_twice(where, whole, (1 + turn % 6) * tile - 1 + turn % 3, 1 + turn % 4);
      },
      options);
  EXPECT_TRUE(report.clean()) << to_text(report);
  EXPECT_EQ(report.runs, 150);
}
TEST(ring_exchange, is_clean_in_many_schedules) { expect_clean_exchange("whole"); }
TEST(ring_exchange, is_clean_in_many_schedules_by_threads) { expect_clean_exchange("async_whole"); }

}  // namespace
}  // namespace antiphase::scan_test
