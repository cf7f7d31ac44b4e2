// SPDX-License-Identifier: Apache-2.0
// The one-wave scan: right at every edge of its tiles and of its policies, same bits in every run, workspace
// ready for the next launch.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>
#include <antiphase/scan/detail/single_pass.hpp>
#include <antiphase/scan/detail/wave_policy.hpp>

#include "tests/sanitized.hpp"
#include "tests/scan/numbers.hpp"

namespace antiphase::scan_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class T> constexpr std::int64_t tile = scans::wave_choices[0].policy.tile_bytes() /
                                                 static_cast<std::int64_t>(sizeof(T));

class one_wave : public on_device {
 protected:
  template <class T>
  static std::vector<T> sums(const context& where, std::int64_t length, scan_kind kind = scan_kind::inclusive,
                             scan_direction direction = scan_direction::forward, const placement& lies = {}) {
    return expect_scan_right<T>(where, {.kind = kind, .direction = direction, .length = length}, lies,
                                "one-wave");
  }
};
AP_ON_BOTH_DEVICES(one_wave);

TEST_P(one_wave, edges_of_tiles) {
  const context where = any();
  for (const std::int64_t length :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, std::int64_t{5}, tile<float> - 1, tile<float>,
        tile<float> + 1, 2 * tile<float>, 33 * tile<float> - 2, 64 * tile<float>})
    for (const scan_kind kind : kinds)
      for (const scan_direction direction : directions) sums<float>(where, length, kind, direction);
}

// The largest array of each policy, and the smallest of the next.
TEST_P(one_wave, edges_of_policies) {
  const context where = any();
  for (const auto& [bytes, how] : scans::wave_choices) {
    if (test::sanitized && bytes > 2 << 20) continue;
    sums<float>(where, bytes / 4);
    if (where.kind() == target::cpu && bytes > 4 << 20) continue;  // other types take minutes on the CPU
    if (bytes < scans::most_bytes_of_wave)
      sums<std::uint64_t>(where, bytes / 8 + 1, scan_kind::exclusive, scan_direction::reverse);
    sums<std::uint8_t>(where, bytes - 1);
  }
}

template <class T> void every_way(const context& where) {
  for (const scan_kind kind : kinds)
    for (const scan_direction direction : directions) {
      expect_scan_right<T>(where, {.kind = kind, .direction = direction, .length = 2 * tile<T> + 17}, {},
                           "one-wave");
      expect_scan_right<T>(where,
                           {.kind = kind,
                            .direction = direction,
                            .length = (300 << 10) / static_cast<std::int64_t>(sizeof(T)) + 1},
                           {}, "one-wave");
    }
}
TEST_P(one_wave, all_types) {
  const context where = any();
  every_way<double>(where);
  every_way<std::int8_t>(where);
  every_way<std::uint16_t>(where);
  every_way<std::int32_t>(where);
  every_way<std::uint64_t>(where);
}

TEST_P(one_wave, input_and_output_anywhere) {
  const context where = any();
  for (const scan_direction direction : directions)
    for (const std::size_t offset : {1, 2, 4, 15}) {
      sums<std::uint8_t>(where, 2 * tile<std::uint8_t> + 100, scan_kind::inclusive, direction,
                         {.in_offset = offset, .out_offset = 16});
      sums<std::uint8_t>(where, 2 * tile<std::uint8_t> + 100, scan_kind::inclusive, direction,
                         {.in_offset = 16, .out_offset = offset});
      sums<float>(where, 2 * tile<float> + 5, scan_kind::exclusive, direction,
                  {.in_offset = offset, .in_place = true});
    }
}

TEST_P(one_wave, the_same_bits_in_every_run) {
  const std::int64_t length = 40 * tile<float> + 77;
  std::vector<context> contexts = several();
  for (const int resident : {1, 3})
    if (!is_cuda())
      contexts.emplace_back(make_cpu_executor({.seed = 5, .workers = 1, .resident_blocks = resident}));
  const auto first = sums<float>(contexts[0], length);
  const std::vector<float> host = numbers<float>(length, scan_operation::sum);
  for (const context& where : contexts) {
    guarded<float> in(where, host);
    for (int run = 0; run < (is_cuda() ? 100 : 2); ++run) {
      guarded<float> out(where, std::vector<float>(host.size(), 85));
      scan(where, {.in = in.data(), .out = out.data(), .length = length}, {.policy = "one-wave"});
      ASSERT_TRUE(out.to_host() == first) << "run " << run;
    }
  }
}

// The workspace is shared with the single pass: launches of both, of all types and sizes, in turn.
TEST_P(one_wave, leaves_the_workspace_ready) {
  const context where = any();
  const char* const ring = where.limits().major == 9 ? "single-pass" : "single-pass-async";
  for (int round = 0; round < (is_cuda() ? 20 : 2); ++round) {
    sums<std::uint64_t>(where, 5 * tile<std::uint64_t>);
    sums<float>(where, 1 + round);
    expect_scan_right<float>(where, {.length = 20000}, {}, ring);
    sums<std::uint8_t>(where, 3 * tile<std::uint8_t> + round);
    sums<float>(where, 11 * tile<float> - round, scan_kind::exclusive);
    expect_scan_right<std::uint64_t>(where, {.length = 9000}, {}, ring);
    sums<float>(where, 7 * tile<float> + round, scan_kind::inclusive, scan_direction::reverse);
  }
}

// Short launches may overlap: each reads the results of the one before, without a host synchronisation.
// Lengths change, so that blocks and policies do.
TEST_P(one_wave, launch_after_launch) {
  const context where = any();
  const std::int64_t most = 70 * tile<std::uint32_t> + 9;  // two policies
  std::vector<std::uint32_t> expected = numbers<std::uint32_t>(most, scan_operation::sum);
  guarded<std::uint32_t> array(where, expected);
  for (int launch = 0; launch < (is_cuda() ? 400 : 6); ++launch) {
    const std::int64_t length = launch % 3 == 0   ? most
                                : launch % 3 == 1 ? 5 * tile<std::uint32_t> + launch
                                                  : 64 * tile<std::uint32_t> - launch;
    scan(where, {.type = element::u32, .in = array.data(), .out = array.data(), .length = length},
         {.policy = "one-wave"});
    for (std::int64_t i = 1; i < length; ++i)
      expected[static_cast<std::size_t>(i)] += expected[static_cast<std::size_t>(i - 1)];
  }
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(array.to_host() == expected);
}

// Every launch advances the count, except one of a single tile, which exchanges nothing. Each launch clears
// one old word in turn, so that after the launch number wraps around, no words of the earlier launch with the
// same number are left.
TEST_P(one_wave, counts_launches_and_clears_old_words) {
  const context where = any();
  const std::size_t words = where.runs_on().scratch(8 * (scans::control_words + 8), nullptr).size() / 8;
  guarded<std::uint64_t> in(where,
                            std::vector<std::uint64_t>(static_cast<std::size_t>(3 * tile<std::uint64_t>), 1));
  const auto launch = [&](std::int64_t length) {
    scan(where, {.type = element::u64, .in = in.data(), .out = in.data(), .length = length},
         {.policy = "one-wave"});
    where.runs_on().synchronize(nullptr);
    std::vector<std::uint64_t> now(words);
    where.runs_on().copy_out(now.data(), where.runs_on().scratch(8, nullptr).data(), words * 8, nullptr);
    return now;
  };
  const auto before = launch(tile<std::uint64_t> + 1);
  const std::uint64_t epoch = before[scans::epoch_word];
  EXPECT_GT(epoch, 0u);
  EXPECT_NE(before[scans::control_words], 0u);
  EXPECT_EQ(launch(tile<std::uint64_t>)[scans::epoch_word], epoch) << "one tile";
  EXPECT_EQ(launch(3 * tile<std::uint64_t>)[scans::epoch_word], epoch + 1);
  // when the third tile's first word is to be cleared
  const std::uint64_t later = 7 * (words - scans::control_words) + 4;
  where.runs_on().copy_in(where.runs_on().scratch(8, nullptr).data(), &later, 8, nullptr);
  EXPECT_NE(launch(3 * tile<std::uint64_t>)[scans::control_words + 4], 0u) << "it is in use";
  where.runs_on().copy_in(where.runs_on().scratch(8, nullptr).data(), &later, 8, nullptr);
  const auto after = launch(tile<std::uint64_t> + 1);
  EXPECT_EQ(after[scans::epoch_word], later + 1);
  EXPECT_EQ(after[scans::control_words + 4], 0u) << "it is no longer used";
  EXPECT_NE(after[scans::control_words + 5], 0u);
}

TEST_P(one_wave, says_what_it_does_not_take) {
  const context where = any();
  device_array<float> array(where, 1024);
  const auto refusal = [&](const scans::problem& p) { return refusal_by("one-wave", where, p); };
  float* const a = array.data();
  EXPECT_THAT(refusal({.in = a, .out = a, .outer = 2, .length = 16}),
              AllOf(HasSubstr("one-wave"), HasSubstr("2 x 1 lines")));
  EXPECT_THAT(refusal({.operation = scan_operation::max, .in = a, .out = a, .length = 16}),
              HasSubstr("compiled for sums"));
  EXPECT_THAT(refusal({.in = a, .out = a, .length = (4 << 20) + 1}),
              AllOf(HasSubstr("16777220 bytes"), HasSubstr("at most 16777216")));
}

TEST(wave_policies, no_array_has_more_tiles_than_are_looked_at_together) {
  for (std::int64_t bytes = 1; bytes <= scans::most_bytes_of_wave; bytes += 977)
    ASSERT_LE(ceil_div<std::int64_t>(bytes, scans::wave_for(bytes).tile_bytes()), 128) << bytes;
}

}  // namespace
}  // namespace antiphase::scan_test
