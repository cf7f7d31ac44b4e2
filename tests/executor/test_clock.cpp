// SPDX-License-Identifier: Apache-2.0
// The simulation's clock: operations that cost time, and landings in the background meanwhile.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/clock.cuh>
#include <antiphase/device/clock_work.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/executor/pipeline_cost.hpp>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/executor/cpu/order/clock.hpp"
#include "launcher.hpp"

namespace antiphase::test {
namespace {

const machine_profile& h200() { return shipped_profile("H200"); }
cpu_detail::clock_costs costs() { return cpu_detail::costs_on(h200(), false); }
double ticks(double moments) { return moments / cpu_detail::one_tick; }

struct times {
  std::int64_t* out;
  const unsigned char* in;
};

// Runs a kernel in the time of an H200, to which seed, order, landings and workers make no difference;
// returns what its threads wrote.
template <class K> std::vector<std::int64_t> clocked(extent3 grid = {}, int blocks = 0) {
  alignas(16) static const unsigned char in[1024] = {};
  std::vector<std::int64_t> first;
  for (const landing copies : {landing::early, landing::late, landing::mixed})
    for (const unsigned seed : {1u, 2u}) {
      std::vector<std::int64_t> out(4 * static_cast<std::size_t>(K::threads) * grid.x);
      launch<K>(*make_cpu_executor({.seed = seed,
                                    .order = seed == 1 ? schedule::random : schedule::reversed,
                                    .copies = copies,
                                    .workers = static_cast<int>(seed),
                                    .timed = std::make_shared<const timed_machine>(
                                        timed_machine{.profile = h200(), .blocks = blocks})}),
                {out.data(), in}, grid);
      if (first.empty()) first = out;
      EXPECT_EQ(out, first) << "seed " << seed;
    }
  return first;
}

struct at_barriers {
  using params = times;
  struct storage {};
  static constexpr int threads = 64, cluster = 2;
  void operator()(const params& p) const {
    const int thread = thread_index();
    std::int64_t* const out = p.out + 4 * (thread + threads * static_cast<int>(block_index().x));
    clock_latency(10 * thread + 1000 * cluster_rank());
    out[0] = clock_now();
    block_barrier();
    out[1] = clock_now();
    clock_instructions(4);
    block_barrier();
    clock_instructions(4);
    out[2] = clock_now();
    cluster_barrier();
    out[3] = clock_now();
  }
};
// What comes after a barrier begins once the units' pipelines have filled again, if warps have computed.
TEST(simulated_clock, threads_leave_a_barrier_after_the_last_has_come) {
  const std::vector<std::int64_t> out = clocked<at_barriers>({2});
  const double refilled = 2 * ticks(static_cast<double>(costs().barrier_of_warp)),
               barrier = ticks(static_cast<double>(costs().barrier));
  for (int block = 0; block < 2; ++block)
    for (int t = 0; t < at_barriers::threads; ++t) {
      const std::int64_t* const seen = out.data() + 4 * (t + at_barriers::threads * block);
      EXPECT_NEAR(static_cast<double>(seen[0]), 1000 * block + 10 * t, 2);
      EXPECT_NEAR(static_cast<double>(seen[1]), 1000 * block + 630 + barrier, 4) << t;
      EXPECT_NEAR(static_cast<double>(seen[2]), 1000 * block + 630 + barrier + 5 + refilled + 5, 6) << t;
      EXPECT_GE(seen[3], 1630 + static_cast<std::int64_t>(refilled)) << t;
    }
}

// The next tile waits in registers over the computation: with a barrier after it, or without.
template <bool Needless> struct turns_of_a_slot {
  using params = times;
  struct storage {};
  static constexpr int threads = 128;
  void operator()(const params& p) const {
    const std::int64_t begin = clock_now();
    clock_register_loads(16);
    for (int step = 0; step < 8; ++step) {
      clock_registers_needed();
      block_barrier();
      clock_register_loads(16);
      clock_instructions(10);
      if (Needless) block_barrier();
    }
    p.out[4 * thread_index()] = clock_now() - begin;
  }
};
TEST(simulated_clock, a_barrier_more_shortens_nothing) {
  const auto last = [](const std::vector<std::int64_t>& out) { return *std::ranges::max_element(out); };
  const auto needed = static_cast<double>(last(clocked<turns_of_a_slot<false>>())),
             more = static_cast<double>(last(clocked<turns_of_a_slot<true>>()));
  const double refilled = 4 * ticks(static_cast<double>(costs().barrier_of_warp));
  EXPECT_GE(more, needed);
  EXPECT_LE(more, needed + refilled) << "one computation is paid for once";
  EXPECT_GE(needed, 8 * ticks(static_cast<double>(costs().latency)) + 7 * refilled) << "after the wait";
}

struct loads {
  using params = times;
  struct storage {
    alignas(16) unsigned char value[1024];
    mbarrier landed;
  };
  static constexpr int threads = 32;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int thread = thread_index();
    std::int64_t* const out = p.out + 4 * thread;
    std::int64_t begin = clock_now();
    copy_async<16>(s.value + 16 * thread, p.in, 16);
    copy_async_commit();
    copy_async<16>(s.value + 16 * thread, p.in, 16);
    copy_async_commit();
    clock_latency(100);  // takes no longer: it lands meanwhile
    copy_async_wait<1>();
    out[0] = clock_now() - begin;
    copy_async_wait<0>();
    out[1] = clock_now() - begin;

    begin = clock_now();
    clock_register_loads(16);
    clock_latency(40);
    clock_registers_needed();
    out[2] = clock_now() - begin;

    if (thread == 0) s.landed.init(1);
    fence_async();
    block_barrier();
    begin = clock_now();
    if (thread == 0) {
      s.landed.arrive(bytes{512});
      bulk_load(s.value, p.in, 512, s.landed);
    }
    s.landed.wait(0);
    out[3] = clock_now() - begin;
  }
};
TEST(simulated_clock, loads_land_in_the_background) {
  const std::vector<std::int64_t> out = clocked<loads>();
  const double latency = ticks(static_cast<double>(costs().latency)), transfer = 512 * ticks(costs().bytes);
  const double copy = fitted::copy_instructions, staged = 4 * fitted::staged_instructions;
  const auto latest = [&](int which) {  // of the warp's lanes, which load one after the other
    std::int64_t last = 0;
    for (int t = 0; t < loads::threads; ++t) {
      const std::int64_t took = out[static_cast<std::size_t>(4 * t + which)];
      EXPECT_GE(static_cast<double>(took), latency) << t;
      last = std::max(last, took);
    }
    return static_cast<double>(last);
  };
  EXPECT_NEAR(latest(0), copy + transfer + latency, 30);
  EXPECT_NEAR(latest(1), copy + 2 * transfer + latency, 30) << "one after the other";
  EXPECT_NEAR(latest(2), staged + latency, 30);
  EXPECT_NEAR(latest(3), transfer + latency, 4);
}

// Two warps of each scheduler share its Tensor Core: the first to come is served first.
struct multiplies_on_tensor_cores {
  using params = times;
  struct storage {};
  static constexpr int threads = 256;
  void operator()(const params& p) const {
    if (thread_index() >= 128) clock_instructions(10);
    clock_tensor_cores(1000);
    p.out[4 * thread_index()] = clock_now();
  }
};
TEST(simulated_clock, warps_take_turns_at_a_tensor_core) {
  const std::vector<std::int64_t> out = clocked<multiplies_on_tensor_cores>();
  const auto last = [&](int first) {
    std::int64_t end = 0;
    for (int t = first; t < first + 128; ++t) end = std::max(end, out[static_cast<std::size_t>(4 * t)]);
    return static_cast<double>(end);
  };
  const double one = 32 * 1000 * ticks(costs().tensor_multiply_add);
  EXPECT_NEAR(last(0), one, 4);
  EXPECT_NEAR(last(128), 2 * one, 4);
}

// Four warps of a scheduler each, of two blocks or of one on a multiprocessor.
struct computes {
  using params = times;
  struct storage {};
  static constexpr int threads = 512;
  void operator()(const params& p) const {
    clock_multiplies(1000, 0, true);
    p.out[4 * (thread_index() + threads * static_cast<int>(block_index().x))] = clock_now();
  }
};
TEST(simulated_clock, blocks_of_a_multiprocessor_share_its_units) {
  const auto last = [](int blocks) {
    const std::vector<std::int64_t> out = clocked<computes>({2}, blocks);
    std::int64_t first_block = 0;
    for (int t = 0; t < computes::threads; ++t)
      first_block = std::max(first_block, out[static_cast<std::size_t>(4 * t)]);
    return static_cast<double>(first_block);
  };
  EXPECT_NEAR(last(1), 4000 * (1 + fitted::waits_reading_ahead / 4), 40);
  EXPECT_NEAR(last(2), 8000 * (1 + fitted::waits_reading_ahead / 8), 80);
}

// Without a machine, no thread sees another: the same times under all schedules.
TEST(simulated_clock, is_the_same_under_all_schedules) {
  alignas(16) static const unsigned char in[1024] = {};
  std::vector<std::int64_t> first;
  for (const landing copies : {landing::early, landing::late, landing::mixed})
    for (const unsigned seed : {1u, 2u}) {
      std::vector<std::int64_t> out(4 * loads::threads);
      launch<loads>(*make_cpu_executor({.seed = seed, .copies = copies, .workers = 1}), {out.data(), in}, {});
      if (first.empty()) first = out;
      EXPECT_EQ(out, first) << "seed " << seed;
    }
}

}  // namespace
}  // namespace antiphase::test
