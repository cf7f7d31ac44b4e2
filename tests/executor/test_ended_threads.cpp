// SPDX-License-Identifier: Apache-2.0
// Threads that have returned: block barriers and warp operations do not wait for them, in any order of
// events.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/warp.cuh>

#include "launcher.hpp"

namespace antiphase::test {
namespace {

constexpr schedule all_schedules[] = {schedule::random, schedule::forward, schedule::reversed,
                                      schedule::starved, schedule::priority};

// Runs under every schedule, so that threads return before the others reach the barrier, after it, and while
// they wait.
template <class K> void expect_under_all_schedules(std::size_t size, auto expected) {
  for (const schedule order : all_schedules)
    for (unsigned seed = 1; seed <= 5; ++seed) {
      const auto on = make_cpu_executor({.seed = seed, .order = order, .workers = 1, .resident_blocks = 2});
      for (int repeat = 0; repeat < 2; ++repeat) {
        std::vector<std::uint32_t> out(size);
        launch<K>(*on, {out.data()}, {3, 1, 1});
        for (std::size_t i = 0; i < size; ++i)
          ASSERT_EQ(out[i], expected(i))
              << i << ", schedule " << static_cast<int>(order) << ", seed " << seed;
      }
    }
}

// In round `round` the threads with that bit set return; in round 1 the whole second warp, too.
template <int Threads> struct ever_fewer {
  using params = numbers;
  struct storage {
    std::uint32_t sum[4];
  };
  static constexpr int threads = Threads;
  static bool leaves(int t, int round) { return round == 1 && t / 32 == 1 ? true : (t >> round & 1) != 0; }
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if (t == 0) std::fill_n(s.sum, 4, 0u);
    block_barrier();
    for (int round = 0; round < 3; ++round) {
      if (leaves(t, round)) return;
      atomic_add<scope::block>(&s.sum[round], 1u);
      block_barrier();
    }
    if (t == 0)
      for (unsigned i = 0; i < 3; ++i) p.out[block_index().x * 3 + i] = s.sum[i];
  }
};
template <int Threads> void leave_by_and_by() {
  expect_under_all_schedules<ever_fewer<Threads>>(9, [](std::size_t i) {
    std::uint32_t left = 0;
    for (int t = 0; t < Threads; ++t) {
      bool stays = true;
      for (int round = 0; round <= static_cast<int>(i % 3); ++round)
        stays &= !ever_fewer<Threads>::leaves(t, round);
      left += stays;
    }
    return left;
  });
}
TEST(ended_threads, are_not_waited_for_at_the_barrier_of_the_block) {
  leave_by_and_by<1>();
  leave_by_and_by<31>();
  leave_by_and_by<96>();
  leave_by_and_by<200>();
}

// The last missing thread does not arrive: it returns while all others wait.
struct last_one_leaves {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 64;
  void operator()(const params& p) const {
    if (thread_index() == 40) {
      for (int i = 0; i < 500; ++i) point();
      return;
    }
    block_barrier();
    p.out[block_index().x * threads + static_cast<unsigned>(thread_index())] = 1;
  }
};
TEST(ended_threads, free_those_who_wait_for_them_alone) {
  expect_under_all_schedules<last_one_leaves>(3 * 64, [](std::size_t i) { return i % 64 == 40 ? 0u : 1u; });
}

// Lanes that have returned have no vote; a sync, a vote or a shuffle whose mask names them does not wait.
struct lanes_leave {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 72;
  static constexpr bool stays(unsigned t) { return t % 3 != 1; }
  static constexpr int lane_that_stays(unsigned t) {  // of the same warp, another one if possible
    return static_cast<int>((t / 3 * 3 >= t / 32 * 32 ? t / 3 * 3 : t) % 32);
  }
  void operator()(const params& p) const {
    const auto t = static_cast<unsigned>(thread_index());
    ballot(true);  // all of them
    if (!stays(t)) {
      for (unsigned i = 0; i < t; ++i) point();
      return;
    }
    warp_sync();
    const unsigned votes = ballot(true), odd = ballot(t % 2 == 1);
    const unsigned other = shuffle(t, lane_that_stays(t));
    std::uint32_t* out = p.out + (block_index().x * threads + t) * 3;
    out[0] = votes;
    out[1] = odd;
    out[2] = other;
  }
};
TEST(ended_threads, are_not_waited_for_by_their_warp) {
  expect_under_all_schedules<lanes_leave>(3 * 72 * 3, [](std::size_t i) -> std::uint32_t {
    const auto t = static_cast<unsigned>(i / 3 % 72), first = t / 32 * 32;
    if (!lanes_leave::stays(t)) return 0;
    if (i % 3 == 2) return first + static_cast<unsigned>(lanes_leave::lane_that_stays(t));
    std::uint32_t votes = 0;
    for (unsigned l = 0; l < 32 && first + l < 72; ++l)
      if (lanes_leave::stays(first + l) && (i % 3 == 0 || (first + l) % 2 == 1)) votes |= 1u << l;
    return votes;
  });
}

// A shuffle from an ended lane gives no number.
struct asks_the_ended {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 32;
  void operator()(const params& p) const {
    shuffle(7u, 3);
    if (lane_index() == 3) return;
    p.out[0] = shuffle(1u, 3);
  }
};
TEST(ended_threads, bring_no_value) {
  std::uint32_t out = 0;
  launch<asks_the_ended>(*make_cpu_executor(), {&out});
  EXPECT_EQ(out, ~0u);
}

// Named barriers count arrivals: a returned thread is missing there, and the report says so.
struct named_alone {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 64;
  void operator()(const params&) const {
    if (thread_index() >= 32) return;
    block_barrier();
    named_barrier_sync(2, 64);
  }
};
TEST(ended_threads, are_missed_at_named_barriers) {
  EXPECT_THAT(failure_of<named_alone>(*make_cpu_executor({.workers = 1}), {}),
              AllOf(HasSubstr("threads 0-31 at a named barrier in "), HasSubstr("threads 32-63 finished")));
}

}  // namespace
}  // namespace antiphase::test
