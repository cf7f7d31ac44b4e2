// SPDX-License-Identifier: Apache-2.0
// The order in which the CPU executor runs threads: as the schedule says, replayable, and for random
// schedules different from seed to seed.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/warp.cuh>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/executor/cpu/order/schedule.hpp"
#include "launcher.hpp"

namespace antiphase::test {
namespace {

// Records the running threads in order: three entries per thread, between synchronisations of each kind.
struct diary {
  using params = numbers;
  struct storage {
    alignas(16) std::uint32_t value[32];
    mbarrier all;
  };
  static constexpr int threads = 64, entries = 3;
  static constexpr residency blocks = residency::in_order;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if (thread_index() == 0) s.all.init(threads);
    const auto note = [&] {
      const auto me = block_index().x * threads + static_cast<unsigned>(thread_index());
      p.out[1 + atomic_add(p.out, 1u)] = me;
    };
    note();
    block_barrier();
    note();
    warp_sync();
    s.all.arrive();
    s.all.wait(0);
    note();
  }
};
std::vector<std::uint32_t> diary_of(const executor& on, unsigned blocks = 6) {
  std::vector<std::uint32_t> out(1 + blocks * diary::threads * diary::entries);
  launch<diary>(on, {out.data()}, {blocks, 1, 1});
  EXPECT_EQ(out[0], out.size() - 1);
  return out;
}

TEST(schedules, are_the_same_for_the_same_seed) {
  for (unsigned seed : {0u, 1u, 77u, 0xFFFFFFFFu}) {
    const cpu_options options{.seed = seed, .copies = landing::mixed, .workers = 1};
    const auto first = make_cpu_executor(options);
    const auto order = diary_of(*first);
    EXPECT_EQ(diary_of(*first), order) << "a second launch, seed " << seed;
    EXPECT_EQ(diary_of(*make_cpu_executor(options)), order) << "another executor, seed " << seed;
  }
}

struct larger {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 96;
  void operator()(const params& p) const {
    block_barrier();
    if (block_index().x == 2 && thread_index() == 90) named_barrier_sync(1, 64);  // ends in a failure
    block_barrier();
    atomic_add(p.out, 1u);
  }
};
TEST(schedules, do_not_depend_on_what_ran_before) {
  const cpu_options options{.seed = 5, .workers = 1};
  const auto order = diary_of(*make_cpu_executor(options));
  const auto used = make_cpu_executor(options);
  std::uint32_t out = 0;
  EXPECT_THAT(failure_of<larger>(*used, {&out}, {9, 1, 1}),
              HasSubstr("block (2, 0, 0): threads 0-89, 91-95 at the block barrier"));
  EXPECT_EQ(diary_of(*used), order);
}

TEST(schedules, differ_from_seed_to_seed) {
  std::set<std::vector<std::uint32_t>> orders;
  for (unsigned seed = 0; seed < 30; ++seed)
    orders.insert(diary_of(*make_cpu_executor({.seed = seed, .workers = 1})));
  EXPECT_EQ(orders.size(), 30u);
}

TEST(schedules, let_any_thread_be_first_and_last) {
  std::set<std::uint32_t> first, last;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const auto order = diary_of(*make_cpu_executor({.seed = seed, .workers = 1, .resident_blocks = 1}));
    const auto end =
        std::find_if(order.begin() + 1, order.end(), [](std::uint32_t t) { return t >= diary::threads; });
    first.insert(order[1]);
    last.insert(*(end - 1));
  }
  EXPECT_GT(first.size(), 55u);  // of 64; each has 400 chances
  EXPECT_GT(last.size(), 55u);
}

TEST(schedules, of_several_workers_run_every_block_once) {
  for (int workers : {2, 3, 8})
    for (unsigned seed = 1; seed <= 5; ++seed) {
      auto order = diary_of(*make_cpu_executor({.seed = seed, .workers = workers}));
      std::sort(order.begin() + 1, order.end());
      for (unsigned i = 1; i < order.size(); ++i) ASSERT_EQ(order[i], (i - 1) / diary::entries);
    }
}

// A mask may name lanes beyond the last warp's.
struct short_warp {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 40;
  void operator()(const params& p) const {
    const auto mine = static_cast<unsigned>(thread_index()) * 7 + 3;
    warp_sync();
    const unsigned votes = ballot(mine % 2 == 0);
    p.out[thread_index()] = shuffle_up(mine, 1) + shuffle(mine, 0) * 1000 + votes * 100'000;
  }
};
TEST(schedules, a_short_warp_does_not_wait_for_lanes_it_lacks) {
  std::vector<std::uint32_t> out(40);
  launch<short_warp>(*make_cpu_executor(), {out.data()});
  const auto value = [](unsigned thread) { return thread * 7 + 3; };
  for (unsigned t = 32; t < 40; ++t)  // odd lanes of the last eight vote
    EXPECT_EQ(out[t], value(t == 32 ? t : t - 1) + value(32) * 1000 + 0xAAu * 100'000);
}

// Blocks that wait for each other in turn, only by polls: many more turns than the scheduler allows a block
// without progress.
struct turns {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 1;
  static constexpr std::uint32_t rounds = 15'000;
  static constexpr residency blocks = residency::in_order;
  void operator()(const params& p) const {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint32_t mine = round * 2 + block_index().x;
      poll([&] { return load_acquire(p.out) == mine; });
      store_release(p.out, mine + 1);
    }
  }
};
TEST(schedules, let_blocks_that_only_poll_get_on) {
  std::uint32_t out = 0;
  launch<turns>(*make_cpu_executor({.workers = 1}), {&out}, {2, 1, 1});
  EXPECT_EQ(out, 2 * turns::rounds);
}

// Needs the whole grid resident without declaring it; with fewer resident blocks it cannot end.
struct all_meet {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 32;
  static constexpr residency blocks = residency::in_order;
  void operator()(const params& p) const {
    if (thread_index() != 0) return;
    atomic_add(p.out, 1u);
    poll([&] { return load_acquire(p.out) == grid_extent().x; });
  }
};
TEST(schedules, keep_as_many_blocks_resident_as_asked) {
  std::uint32_t out = 0;
  launch<all_meet>(*make_cpu_executor({.workers = 1, .resident_blocks = 5}), {&out}, {5, 1, 1});
  EXPECT_EQ(out, 5u);
  out = 0;
  // two on each of two multiprocessors
  launch<all_meet>(*make_cpu_executor({.workers = 1}), {&out}, {4, 1, 1});
  EXPECT_EQ(out, 4u);
  out = 0;
  EXPECT_THAT(
      failure_of<all_meet>(*make_cpu_executor({.workers = 1, .resident_blocks = 4}), {&out}, {5, 1, 1}),
      AllOf(HasSubstr("block (0, 0, 0): thread 0 polling"), HasSubstr("block (3, 0, 0): thread 0 polling"),
            testing::Not(HasSubstr("block (4, 0, 0)"))));
  EXPECT_EQ(out, 4u);
}

constexpr schedule drawn_schedules[] = {schedule::random, schedule::starved, schedule::priority};
constexpr schedule all_schedules[] = {schedule::random, schedule::forward, schedule::reversed,
                                      schedule::starved, schedule::priority};

// Three blocks, two resident; the third follows when the first has ended.
std::vector<std::uint32_t> diary_in_order(std::initializer_list<unsigned> blocks,
                                          const std::vector<unsigned>& order) {
  std::vector<std::uint32_t> out{diary::threads * diary::entries * 3};
  for (const unsigned block : blocks)
    for (int entry = 0; entry < diary::entries; ++entry) {
      auto now = order;
      // the last arrival at the mbarrier need not wait
      if (entry == 2) std::rotate(now.begin(), now.end() - 1, now.end());
      for (const unsigned thread : now) out.push_back(block * diary::threads + thread);
    }
  return out;
}
const std::vector<unsigned> ascending = [] {
  std::vector<unsigned> all(diary::threads);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}();
TEST(schedules, forward_runs_the_first_that_can) {
  const auto on = make_cpu_executor({.order = schedule::forward, .workers = 1, .resident_blocks = 2});
  EXPECT_EQ(diary_of(*on, 3), diary_in_order({0, 2, 1}, ascending));
}
TEST(schedules, reversed_runs_the_last_that_can) {
  const auto on = make_cpu_executor({.order = schedule::reversed, .workers = 1, .resident_blocks = 2});
  EXPECT_EQ(diary_of(*on, 3), diary_in_order({1, 2, 0}, {ascending.rbegin(), ascending.rend()}));
}

TEST(schedules, of_every_kind_repeat_themselves) {
  for (const schedule order : all_schedules) {
    const cpu_options options{.seed = 9, .order = order, .copies = landing::mixed, .workers = 1};
    const auto used = make_cpu_executor(options);
    std::uint32_t out = 0;
    failure_of<larger>(*used, {&out}, {9, 1, 1});
    EXPECT_EQ(diary_of(*used), diary_of(*make_cpu_executor(options))) << static_cast<int>(order);
  }
}
TEST(schedules, that_draw_differ_from_seed_to_seed) {
  for (const schedule order : drawn_schedules) {
    std::set<std::vector<std::uint32_t>> orders;
    for (unsigned seed = 0; seed < 30; ++seed)
      orders.insert(diary_of(*make_cpu_executor({.seed = seed, .order = order, .workers = 1})));
    EXPECT_EQ(orders.size(), 30u) << static_cast<int>(order);
  }
}

// Independent threads that record when they run.
template <int Threads, int Steps> struct steps {
  using params = numbers;
  struct storage {};
  static constexpr int threads = Threads, size = 1 + Threads * Steps;
  void operator()(const params& p) const {
    for (int i = 0; i < Steps; ++i) {
      if (i > 0) point();
      p.out[1 + atomic_add(p.out, 1u)] = static_cast<std::uint32_t>(thread_index());
    }
  }
};
template <class K> std::vector<std::uint32_t> run_steps(const cpu_options& options) {
  std::vector<std::uint32_t> out(K::size);
  launch<K>(*make_cpu_executor(options), {out.data()});
  out.erase(out.begin());
  return out;
}

TEST(schedules, a_starved_warp_comes_last) {
  std::set<std::uint32_t> starved;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const auto order = run_steps<steps<112, 4>>({.seed = seed, .order = schedule::starved, .workers = 1});
    const std::uint32_t warp = order.back() / 32;
    const std::size_t size = 4 * (warp == 3 ? 16 : 32);
    for (std::size_t i = 0; i < order.size(); ++i)
      ASSERT_EQ(order[i] / 32 == warp, i >= order.size() - size) << "seed " << seed << ", step " << i;
    starved.insert(warp);
  }
  EXPECT_EQ(starved.size(), 4u);
}

TEST(schedules, priorities_change_three_times_at_most) {
  std::set<std::uint32_t> first;
  std::size_t changes = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto order = run_steps<steps<8, 20>>(
        {.seed = seed, .order = schedule::priority, .workers = 1, .expected_switches = 160});
    std::size_t turns = 1;
    for (std::size_t i = 1; i < order.size(); ++i) turns += order[i] != order[i - 1];
    ASSERT_GE(turns, 8u);
    ASSERT_LE(turns, 8u + 3u) << "seed " << seed;
    changes += turns - 8;
    first.insert(order[0]);
  }
  EXPECT_EQ(first.size(), 8u);
  EXPECT_GT(changes, 200u * 2);  // a change has no effect where a thread ends anyway, or is the last
}

// A bug of depth two: between one thread's read and write, late in its work, another must do all of its own.
struct lost_update {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 4, before = 30, after = 30;
  static constexpr unsigned steps = threads * (before + 2 + after);
  void operator()(const params& p) const {
    for (int i = 0; i < before; ++i) point();
    const std::uint32_t seen = load_acquire(p.out);
    point();
    store_release(p.out, seen + 1);
    for (int i = 0; i < after; ++i) point();
    atomic_add(p.out + 1, load_acquire(p.out) == threads ? 1u : 0u);
  }
};
// A bug of depth one: the slow thread must finish before the other starts. Random steps never show it.
struct overtaken {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 2, steps = 40;
  void operator()(const params& p) const {
    if (thread_index() == 0) {
      point();
      store_release(p.out, 1u);
    } else {
      for (int i = 0; i < steps; ++i) point();
      p.out[1] = load_acquire(p.out);
    }
  }
};
TEST(schedules, priorities_find_bugs_with_the_probability_of_their_depth) {
  constexpr unsigned seeds = 1000;
  for (const unsigned expected : {lost_update::steps, 0u}) {
    unsigned found = 0;
    for (unsigned seed = 0; seed < seeds; ++seed) {
      std::uint32_t out[2] = {};
      launch<lost_update>(
          *make_cpu_executor(
              {.seed = seed, .order = schedule::priority, .workers = 1, .expected_switches = expected}),
          {out});
      found += out[0] != lost_update::threads;
    }
    // 1 / (threads * steps) by the theorem; with an unknown number of steps, twenty octaves share the draws
    const unsigned share = lost_update::threads * (expected > 0 ? expected : 20 * lost_update::steps);
    EXPECT_GE(found, 1 + seeds / share);
    EXPECT_LE(found, seeds / 2) << "the changes are meant to be few";
  }
}
TEST(schedules, priorities_find_what_random_steps_do_not) {
  unsigned by_priority = 0, at_random = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    for (const schedule order : {schedule::priority, schedule::random}) {
      std::uint32_t out[2] = {5, 5};
      launch<overtaken>(*make_cpu_executor({.seed = seed, .order = order, .workers = 1}), {out});
      (order == schedule::priority ? by_priority : at_random) += out[1] != 1;
    }
  // of 200, half of which start with the slow thread; a change within its 41 steps spoils 6 of 10 of those
  EXPECT_GE(by_priority, 30u);
  EXPECT_EQ(at_random, 0u);
}

// Many threads wait for a slow one. Polling or spinning, each of them may be the one that a schedule prefers.
template <int Threads, bool Polls> struct crowd {
  struct params {
    std::uint32_t* out;
    int late;
  };
  struct storage {};
  static constexpr int threads = Threads;
  void operator()(const params& p) const {
    if (thread_index() == p.late) {
      for (int i = 0; i < 5; ++i) point();
      store_release(p.out, 1u);
    } else if constexpr (Polls) {
      poll([&] { return load_acquire(p.out) == 1; });
    } else {
      while (load_acquire(p.out) == 0) point();
    }
    atomic_add(p.out + 1, 1u);
  }
};
template <class K> void everybody_gets_on() {
  for (const schedule order : all_schedules)
    for (const int late : {0, K::threads / 2, K::threads - 1}) {
      std::uint32_t out[2] = {};
      launch<K>(*make_cpu_executor({.seed = 3, .order = order, .workers = 1}), {out, late});
      EXPECT_EQ(out[1], K::threads);
    }
}
TEST(schedules, let_everybody_get_on) {
  everybody_gets_on<crowd<1024, true>>();
  everybody_gets_on<crowd<40, false>>();
}
TEST(schedules, let_blocks_of_several_workers_get_on) {
  for (const schedule order : all_schedules) {
    std::uint32_t out = 0;
    launch<all_meet>(*make_cpu_executor({.order = order, .workers = 2, .resident_blocks = 3}), {&out},
                     {6, 1, 1});
    EXPECT_EQ(out, 6u);
  }
}

// A poller may run as soon as another thread reaches a scheduling point: here between the flag and its value.
struct early_flag {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 2;
  void operator()(const params& p) const {
    if (thread_index() == 1) {
      point();
      store_release(p.out, 1u);
      point();
      store_release(p.out + 1, 1u);
    } else {
      poll([&] { return load_acquire(p.out) == 1; });
      p.out[2] = load_acquire(p.out + 1);
    }
  }
};
TEST(schedules, show_pollers_what_lies_in_between) {
  std::uint32_t out[3] = {0, 0, 7};
  launch<early_flag>(*make_cpu_executor({.order = schedule::forward, .workers = 1}), {out});
  EXPECT_EQ(out[2], 0u);
  out[0] = out[1] = 0;
  launch<early_flag>(*make_cpu_executor({.order = schedule::reversed, .workers = 1}), {out});
  EXPECT_EQ(out[2], 1u);
}

// The same with a poll at the end of the step in between.
struct flag_and_poll {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 3;
  void operator()(const params& p) const {
    if (thread_index() == 0) {
      poll([&] { return load_acquire(p.out) > 0; });
      p.out[2] = load_acquire(p.out + 1);
    } else if (thread_index() == 1) {
      store_release(p.out, 1u);
      poll([&] { return load_acquire(p.out) > 1; });
    } else {
      store_release(p.out + 1, 1u);
      store_release(p.out, 2u);
    }
  }
};
TEST(schedules, show_pollers_what_other_pollers_did) {
  std::uint32_t out[3] = {0, 0, 7};
  launch<flag_and_poll>(*make_cpu_executor({.order = schedule::forward, .workers = 1}), {out});
  EXPECT_EQ(out[2], 0u);
}

TEST(schedules, report_who_waits_for_what) {
  for (const schedule order : all_schedules) {
    std::uint32_t out = 0;
    EXPECT_THAT(failure_of<all_meet>(*make_cpu_executor({.order = order, .workers = 1, .resident_blocks = 2}),
                                     {&out}, {3, 1, 1}),
                AllOf(HasSubstr("block (0, 0, 0): thread 0 polling"),
                      HasSubstr("block (1, 0, 0): thread 0 polling")));
    EXPECT_THAT(failure_of<larger>(*make_cpu_executor({.order = order, .workers = 1}), {&out}, {9, 1, 1}),
                HasSubstr("block (2, 0, 0): threads 0-89, 91-95 at the block barrier"));
  }
}

RC_GTEST_PROP(number_sets, count_and_find_in_order, ()) {
  const std::size_t bound = *rc::gen::inRange<std::size_t>(1, 300);
  const auto below = rc::gen::inRange<std::size_t>(0, bound);
  const auto in = *rc::gen::container<std::set<std::size_t>>(below),
             others = *rc::gen::container<std::set<std::size_t>>(below);
  cpu_detail::number_set set(bound), rest(bound), erased(bound);
  for (const auto i : others) erased.insert(i);
  for (const auto i : in) set.insert(i);
  rest.assign_difference(set, erased);
  std::size_t n = 0, left = 0;
  for (const auto i : in) {
    RC_ASSERT(set.has(i));
    RC_ASSERT(set.rank(i) == n);
    RC_ASSERT(set.nth(n++) == i);
    RC_ASSERT(rest.has(i) == (others.count(i) == 0));
    left += rest.has(i);
  }
  RC_ASSERT(set.size() == n);
  RC_ASSERT(rest.size() == left);
  for (const auto i : others) set.erase(i);
  RC_ASSERT(set.size() == left);
  set.take_all(erased);
  RC_ASSERT(set.size() == left + others.size());
  RC_ASSERT(erased.empty());
}

}  // namespace
}  // namespace antiphase::test
