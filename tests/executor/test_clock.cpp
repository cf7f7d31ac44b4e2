// SPDX-License-Identifier: Apache-2.0
// The simulation's clock: operations that cost time, and landings in the background meanwhile.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/clock.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/copy_async.cuh>

#include "launcher.hpp"
#include "src/executor/cpu/clock.hpp"

namespace antiphase::test {
namespace {

using cpu_detail::ticks::barrier, cpu_detail::ticks::latency;
constexpr std::int64_t bytes_of_tick = cpu_detail::ticks::bytes;

struct times {
  std::int64_t* out;
  const unsigned char* in;
};

// Runs a kernel under all schedules and landings, on which the clock must not depend; returns what its
// threads wrote.
template <class K> std::vector<std::int64_t> clocked(extent3 grid = {}) {
  alignas(16) static const unsigned char in[1024] = {};
  std::vector<std::int64_t> first;
  for (const landing copies : {landing::early, landing::late, landing::mixed})
    for (const unsigned seed : {1u, 2u}) {
      std::vector<std::int64_t> out(4 * static_cast<std::size_t>(K::threads) * grid.x);
      launch<K>(*make_cpu_executor({.seed = seed, .copies = copies, .workers = 1}), {out.data(), in}, grid);
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
    clock_instructions(10 * thread + 1000 * cluster_rank());
    out[0] = clock_now();
    block_barrier();
    out[1] = clock_now();
    if (thread < 32) named_barrier_sync(1, threads);
    if (thread >= 32) clock_instructions(7), named_barrier_arrive(1, threads);
    out[2] = clock_now();
    cluster_barrier();
    out[3] = clock_now();
  }
};
TEST(simulated_clock, threads_leave_a_barrier_after_the_last_has_come) {
  const std::vector<std::int64_t> out = clocked<at_barriers>({2});
  for (int block = 0; block < 2; ++block)
    for (int t = 0; t < at_barriers::threads; ++t) {
      const std::int64_t* const seen = out.data() + 4 * (t + at_barriers::threads * block);
      const std::int64_t first = 1000 * block + 630 + 1 + barrier + 1, other = 1000 + 630 + 1 + barrier + 1;
      EXPECT_EQ(seen[0], 1000 * block + 10 * t + 1);
      EXPECT_EQ(seen[1], first) << t;
      EXPECT_EQ(seen[2], first + 7 + 1 + (t < 32 ? barrier : 0)) << t;
      EXPECT_EQ(seen[3], other + 7 + barrier + 1 + barrier + 1) << t;
    }
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
    clock_instructions(100);  // takes no longer: it lands meanwhile
    copy_async_wait<1>();
    out[0] = clock_now() - begin;
    copy_async_wait<0>();
    out[1] = clock_now() - begin;

    begin = clock_now();
    clock_register_loads(16);
    clock_instructions(40);
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
  constexpr std::int64_t transfer = 16 * loads::threads / bytes_of_tick;
  for (int t = 0; t < loads::threads; ++t) {
    const std::int64_t* const took = out.data() + 4 * t;
    EXPECT_EQ(took[0], 1 + transfer + latency + 1) << t;
    EXPECT_EQ(took[1], 1 + 2 * transfer + latency + 1) << "one after the other, " << t;
    EXPECT_EQ(took[2], 4 + transfer + latency + 1) << t;
    EXPECT_EQ(took[3], 1 + 512 / bytes_of_tick + latency + 1) << t;
  }
}

}  // namespace
}  // namespace antiphase::test
