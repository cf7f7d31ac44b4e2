// SPDX-License-Identifier: Apache-2.0
// The single-pass scan: right at every edge of its tiles, bits independent of which block scans which tile,
// workspace ready for the next launch.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>

#include "tests/sanitized.hpp"
#include "tests/scan/numbers.hpp"

namespace antiphase::scan_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class single_pass : public on_ring_device {
 protected:
  // Does nothing where T has no kernel.
  template <class T>
  std::vector<T> sums(const context& where, std::int64_t length, scan_kind kind = scan_kind::inclusive,
                      scan_direction direction = scan_direction::forward, bool in_place = false) const {
    if (!takes<T>()) return {};
    return expect_scan_right<T>(where, {.kind = kind, .direction = direction, .length = length},
                                {0, 0, in_place}, policy());
  }
  template <class T> void every_way(const context& where) const {
    for (const scan_kind kind : kinds)
      for (const scan_direction direction : directions)
        sums<T>(where, 2 * ring_tile<T> + 17, kind, direction);
  }
};
AP_ON_BOTH_DEVICES_BY_BOTH_MOVERS(single_pass);

TEST_P(single_pass, edges_of_tiles) {
  const context where = any();
  for (const std::int64_t length : {std::int64_t{1}, std::int64_t{3}, std::int64_t{5}, ring_tile<float> - 1,
                                    ring_tile<float>, ring_tile<float> + 1, 3 * ring_tile<float> + 4})
    for (const scan_kind kind : kinds)
      for (const scan_direction direction : directions) sums<float>(where, length, kind, direction);
}

TEST_P(single_pass, all_types) {
  const context where = any();
  every_way<double>(where);
  every_way<std::int8_t>(where);
  every_way<std::uint8_t>(where);
  every_way<std::uint16_t>(where);
  every_way<std::int32_t>(where);
  every_way<std::uint64_t>(where);
}

TEST_P(single_pass, in_place) {
  sums<float>(any(), 2 * ring_tile<float> + 3, scan_kind::inclusive, scan_direction::forward, true);
  sums<std::uint16_t>(any(), 2 * ring_tile<std::uint16_t> + 5, scan_kind::exclusive, scan_direction::reverse,
                      true);
}

// With a ring of one slot, a tile is loaded only after the one before has been stored.
class short_rings : public on_bulk_device {};
AP_ON_BOTH_DEVICES(short_rings);
TEST_P(short_rings, of_one_and_more_slots) {
  for (const context& where : several())
    for (const char* policy : {"single-pass-1", "single-pass-2", "single-pass-3"})
      for (const std::int64_t length : {ring_tile<float> + 7, 9 * ring_tile<float> - 3})
        expect_scan_right<float>(
            where, {.kind = scan_kind::exclusive, .direction = scan_direction::reverse, .length = length}, {},
            policy);
}

// More tiles than one look-back batch, so that the carry between batches is exercised.
TEST_P(single_pass, many_tiles) {
  const context where = any();
  sums<float>(where, (is_cuda() ? 1000 : 70) * ring_tile<float> + 1234);
  sums<std::uint64_t>(where, (is_cuda() ? 700 : 40) * ring_tile<std::uint64_t> + 1, scan_kind::exclusive,
                      scan_direction::reverse);
}

// A large number, followed in every batch of tiles by one slightly less than half a unit of the sum's last
// place: an FP32 carry would lose all of them, which exceeds the documented bound. As one line, and as one
// segment by flags.
TEST_P(single_pass, small_sums_of_many_batches_are_not_lost) {
  if (test::sanitized) GTEST_SKIP() << "minutes of it under AddressSanitizer, for one more turn of a loop";
  constexpr std::int64_t batches = 86;
  const float first = 0x1p24f, small = 0x1.fffffep-1f;
  const context where = any();
  for (const scans::lines_kind over : {scans::lines_kind::one, scans::lines_kind::segments}) {
    // seconds each, for the same code
    if (!is_cuda() && by_threads() != (over == scans::lines_kind::segments)) continue;
    const scans::tile_mover mover =
        by_threads() ? scans::tile_mover::threads : scans::tile_mover::copy_engine;
    const std::int64_t batch = 32 * scans::ring_for(4, 4, false, over, mover).tile_of(4, 4),
                       length = batches * batch + 5;
    std::vector<float> host(static_cast<std::size_t>(length));
    for (std::int64_t b = 0; b < batches; ++b)
      host[static_cast<std::size_t>(b * batch + b * 977 % batch)] = b == 0 ? first : small;
    device_array<float> array(where, host);
    const scans::problem p{.type = element::f32, .in = array.data(), .out = array.data(), .length = length};
    if (over == scans::lines_kind::one) {
      scan(where, p, {.policy = policy()});
    } else {
      const device_array<std::uint8_t> heads(where, std::vector<std::uint8_t>(host.size()));
      scan_by_key(where, p,
                  {.data = heads.data(), .type = element::u8, .segments = scans::segments_by::head_flags},
                  {.policy = policy()});
      where.runs_on().synchronize(nullptr);
    }
    const std::vector<float> out = array.to_host();
    double exact = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      exact += host[i];
      ASSERT_LE(std::abs(out[i] - exact), 80 * 0x1p-24 * exact)
          << i << " of " << length << ", segments: " << static_cast<int>(over);
    }
  }
}

TEST_P(single_pass, the_same_bits_whoever_scans_which_tile) {
  const std::int64_t length = (is_cuda() ? 500 : 9) * ring_tile<float> + 77;
  std::vector<context> contexts = several();
  for (const int multiprocessors : {1, 3})
    if (!is_cuda()) {
      device_limits limits = simulated_device();
      limits.multiprocessors = multiprocessors;
      contexts.emplace_back(make_cpu_executor({.seed = 5,
                                               .copies = landing::mixed,
                                               .workers = 1,
                                               .resident_blocks = multiprocessors,
                                               .limits = limits}));
    }
  const auto first = sums<float>(contexts[0], length);
  const int runs = is_cuda() ? 100 : 1;
  const std::vector<float> host = numbers<float>(length, scan_operation::sum);
  for (const context& where : contexts) {
    guarded<float> in(where, host);
    for (int run = 0; run < runs; ++run) {
      guarded<float> out(where, std::vector<float>(host.size(), 85));
      scan(where, {.in = in.data(), .out = out.data(), .length = length}, {.policy = policy()});
      ASSERT_TRUE(out.to_host() == first) << "run " << run;
    }
  }
}

// The stream's workspace serves launches of all types and sizes in turn.
TEST_P(single_pass, leaves_its_workspace_ready) {
  const context where = any();
  for (int round = 0; round < (is_cuda() ? 20 : 2); ++round) {
    sums<std::uint64_t>(where, 5 * ring_tile<std::uint64_t>);
    sums<float>(where, 1 + round);
    sums<std::uint8_t>(where, 3 * ring_tile<std::uint8_t> + round);
    sums<float>(where, 11 * ring_tile<float> - round, scan_kind::exclusive);
  }
}

TEST_P(single_pass, says_what_it_does_not_take) {
  const context where = any();
  device_array<float> array(where, 1024);
  const auto refusal = [&](const scans::problem& p) { return refusal_by(policy(), where, p); };
  float* const a = array.data();
  EXPECT_THAT(refusal({.in = a, .out = a, .length = 16, .inner = 3}),
              AllOf(HasSubstr(policy()), HasSubstr("1 x 3 lines")));
  EXPECT_EQ(refusal({.in = a, .out = a, .length = 0}), "");
}

TEST(single_pass_step, needs_bulk_copies) {
  device_limits ampere = simulated_device();
  ampere.major = 8;
  ampere.name = "an older GPU";
  float array[64]{};
  EXPECT_THAT(
      refusal_by("single-pass", context(make_cpu_executor({.limits = ampere})),
                 {.in = array, .out = array, .length = 64}),
      HasSubstr("it needs bulk copies (TMA) of compute capability 9.0 or above, an older GPU has 8.0"));
}

TEST(single_pass_step, is_not_compiled_for_newer_gpus) {
  device_limits newer = simulated_device();
  newer.major = 10;
  float array[1]{};
  EXPECT_THAT(
      refusal_by("single-pass", context(make_cpu_executor({.limits = newer})),
                 {.in = array, .out = array, .length = 1}),
      HasSubstr("it needs code compiled for sm_90a of compute capability 9.0 alone, CPU executor has 10.0"));
}

TEST(single_pass_step, by_threads_needs_asynchronous_copies_and_room) {
  device_limits turing = simulated_device();
  turing.major = 7;
  turing.name = "a GPU of old";
  const context where(make_cpu_executor({.limits = turing}));
  device_array<float> array(where, 64);
  EXPECT_THAT(refusal_by("single-pass-async", where, {.in = array.data(), .out = array.data(), .length = 64}),
              HasSubstr("it needs asynchronous copies (cp.async) of compute capability 8.0 or above, a GPU "
                        "of old has 7.0"));
  device_limits small = simulated_device();
  small.shared_opt_in = small.shared_per_block = 64 * 1024;
  EXPECT_THAT(refusal_by("single-pass-async", context(make_cpu_executor({.limits = small})),
                         {.in = array.data(), .out = array.data(), .length = 64}),
              AllOf(HasSubstr("scan.single-pass-async needs"), HasSubstr("bytes of shared memory")));
}

TEST(single_pass_step, by_threads_is_what_gpus_without_bulk_copies_run) {
  device_limits gpu = simulated_device();
  const auto chosen = [&](int major, const scans::problem& p) {
    gpu.major = major;
    return explain(context(make_cpu_executor({.limits = gpu})), p).kernel;
  };
  const float in[1]{};
  double out[1]{};
  // the step "items" has no such kernel
  const scans::problem wide{.in = in, .out = out, .length = 1, .accumulate = element::f64};
  EXPECT_EQ(chosen(9, wide), "single-pass");
  EXPECT_EQ(chosen(8, wide), "single-pass-async");
  EXPECT_EQ(chosen(10, wide), "single-pass-async");
  EXPECT_THROW(chosen(7, wide), not_supported);
}
// The caller's workspace suffices on any GPU.
TEST(single_pass_step, workspaces_are_enough_for_either_mover) {
  std::size_t before = 0;
  for (const std::int64_t length : {1, 5000, 5121, 6144, 6145, 100'000, 1'000'000, 1'000'001, 123'456'789}) {
    const scans::problem rows{.outer = 2, .length = length};
    const std::size_t bytes = scan_workspace(rows);
    EXPECT_GE(bytes, before);
    before = bytes;
    for (const char* policy : {"single-pass", "single-pass-async"})
      EXPECT_GE(bytes / 2, scans::workspace_bytes(scans::find_step(policy), rows))
          << policy << ", " << length;
  }
  // the CPU executor has no kernel for this
  const scans::problem doubles{.type = element::f64, .outer = 2, .length = 123'456'789};
  EXPECT_GT(scans::workspace_bytes(scans::find_step("single-pass-async"), doubles),
            scans::workspace_bytes(scans::find_step("single-pass"), doubles));
}

// Both movers use the same tiles, hence give the same bits.
TEST(single_pass_step, movers_change_no_bit) {
  const context where = context::on("cpu");
  const scans::problem p{.length = 40 * ring_tile<float> + 1001};
  EXPECT_EQ(expect_scan_right<float>(where, p, {}, "single-pass"),
            expect_scan_right<float>(where, p, {}, "single-pass-async"));
}

// A failed launch may leave totals of its epoch in place: the next one starts with a clean workspace.
TEST(single_pass_step, forgets_the_workspace_of_a_launch_that_failed) {
  device_limits small = simulated_device();
  small.shared_opt_in = small.shared_per_block = 64 * 1024;
  const auto runs = make_cpu_executor({.limits = small});
  const context where(runs);
  const std::span<std::byte> before = runs->scratch(1024, nullptr);
  device_array<float> array(where, 64);
  EXPECT_THAT(refusal_by("single-pass", where, {.in = array.data(), .out = array.data(), .length = 64}),
              AllOf(HasSubstr("scan.single-pass needs"), HasSubstr("bytes of shared memory")));
  EXPECT_NE(runs->scratch(1024, nullptr).data(), before.data());
}

TEST(scratch, is_zero_at_first_and_stays_as_it_was_left) {
  const auto runs = make_cpu_executor();
  auto* const other = reinterpret_cast<stream>(std::uintptr_t{16});
  const std::span<std::byte> mine = runs->scratch(100, nullptr);
  ASSERT_GE(mine.size(), 100u);
  for (const std::byte b : mine) ASSERT_EQ(b, std::byte{0});
  mine[7] = std::byte{42};
  EXPECT_EQ(runs->scratch(mine.size(), nullptr).data(), mine.data());
  EXPECT_EQ(runs->scratch(1, nullptr)[7], std::byte{42});
  EXPECT_NE(runs->scratch(1, other).data(), mine.data());
  const std::span<std::byte> more = runs->scratch(mine.size() + 1, nullptr);
  EXPECT_GT(more.size(), mine.size());
  EXPECT_EQ(more[7], std::byte{0});
}

}  // namespace
}  // namespace antiphase::scan_test
