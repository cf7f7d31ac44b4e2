// SPDX-License-Identifier: Apache-2.0
// Blocks and threads that wait: which blocks are resident together, and users' own loops around loads.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>

#include "launcher.hpp"

namespace antiphase::test {
namespace {

// Every block waits for all others, twice: all must be resident.
template <residency Blocks, int Cluster = 1> struct all_meet {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 33, cluster = Cluster;
  static constexpr residency blocks = Blocks;
  void operator()(const params& p) const {
    for (unsigned round = 1; round <= 2; ++round) {
      block_barrier();
      if (thread_index() == 0) {
        atomic_add(p.out, 1u);
        poll([&] { return load_acquire(p.out) >= round * grid_extent().count(); });
      }
    }
  }
};
TEST(waiting, blocks_together_are_all_resident_whatever_is_asked_for) {
  for (const int workers : {1, 2, 3})
    for (const int resident : {0, 1, 4})
      for (const extent3 grid : {extent3{1, 1, 1}, extent3{6, 1, 1}, extent3{6, 3, 2}}) {
        const auto on = make_cpu_executor({.workers = workers, .resident_blocks = resident});
        std::uint32_t out = 0;
        launch<all_meet<residency::together>>(*on, {&out}, grid);
        EXPECT_EQ(out, 2 * grid.count());
        out = 0;
        if (grid.x > 1) launch<all_meet<residency::together, 3>>(*on, {&out}, grid);
        EXPECT_EQ(out, grid.x > 1 ? 2 * grid.count() : 0);
      }
}
TEST(waiting, blocks_that_do_not_say_so_are_as_many_as_asked_for) {
  std::uint32_t out = 0;
  EXPECT_THAT(
      failure_of<all_meet<residency::any>>(*make_cpu_executor({.workers = 1, .resident_blocks = 4}), {&out},
                                           {5, 1, 1}),
      AllOf(HasSubstr("block (0, 0, 0): thread 0 polling"), HasSubstr("block (3, 0, 0): thread 0 polling"),
            testing::Not(HasSubstr("block (4, 0, 0)"))));
  EXPECT_EQ(out, 4u);
  out = 0;
  // two on each of two multiprocessors
  launch<all_meet<residency::in_order>>(*make_cpu_executor({.workers = 1}), {&out}, {4, 1, 1});
  EXPECT_EQ(out, 8u);
}
// More threads than are picked between two turns of the pollers.
struct all_poll_for_nothing {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 160;
  void operator()(const params& p) const {
    poll([&] { return load_acquire(p.out) == 1; });
  }
};
TEST(waiting, many_threads_that_poll_for_what_nobody_sets_are_a_deadlock) {
  std::uint32_t out = 0;
  EXPECT_THAT(failure_of<all_poll_for_nothing>(*make_cpu_executor({.workers = 1}), {&out}, {1, 1, 1}),
              HasSubstr("block (0, 0, 0): threads 0-159 polling"));
}
TEST(waiting, too_many_blocks_together_are_refused_in_a_sentence) {
  std::uint32_t out = 0;
  const numbers params{&out};
  try {
    make_cpu_executor()->launch(kernel_of<all_meet<residency::together>>("meets"), {~0u, 1u << 20, 1},
                                &params, nullptr);
    ADD_FAILURE() << "it was launched";
  } catch (const not_supported& e) {
    EXPECT_THAT(e.what(), MatchesRegex("kernel meets: its blocks wait for each other, so that all [0-9]+ of "
                                       "33 threads must be resident at once; "
                                       "the CPU executor holds 262144 threads at most"));
  }
  EXPECT_EQ(out, 0u);
}

// Loops without poll()
// -----------------------------------------------------------------------------------------------------------

// Thread 0 waits for the last thread of its block, and that one for many numbers of the block before.
struct hands_on {
  using params = numbers;
  struct storage {
    std::uint32_t flag;
  };
  static constexpr int threads = 70, numbers_of_block = 40;
  static constexpr residency blocks = residency::in_order;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if (thread_index() == 0) s.flag = 0;
    block_barrier();
    const unsigned block = block_index().x;
    std::uint32_t* const mine = p.out + block * numbers_of_block;
    if (thread_index() == 0) {
      while (load_acquire<scope::block>(&s.flag) == 0) {
      }
      for (unsigned i = 0; i < numbers_of_block; ++i) store_release(mine + i, s.flag + i);
    } else if (thread_index() == threads - 1) {
      unsigned there = block == 0 ? numbers_of_block : 0;
      while (there < numbers_of_block) {
        there = 0;
        for (int i = 0; i < numbers_of_block; ++i) there += load_relaxed(mine - numbers_of_block + i) != 0;
      }
      store_release<scope::block>(&s.flag, block == 0 ? 1 : load_acquire(mine - 1) + 1);
    }
  }
};
TEST(waiting, loops_of_ones_own_let_others_run) {
  for (const schedule order :
       {schedule::random, schedule::forward, schedule::reversed, schedule::starved, schedule::priority})
    for (const int workers : {1, 2}) {
      std::vector<std::uint32_t> out(7 * hands_on::numbers_of_block);
      launch<hands_on>(*make_cpu_executor({.order = order, .workers = workers, .resident_blocks = 3}),
                       {out.data()}, {7, 1, 1});
      for (unsigned i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i + 1);
    }
}

struct waits_for_ever {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 64;
  void operator()(const params& p) const {
    if (thread_index() == 3) {
      while (load_acquire(p.out) == 0) {
      }
    }
    block_barrier();
  }
};
TEST(waiting, loops_of_ones_own_that_never_end_are_reported) {
  std::uint32_t out = 0;
  EXPECT_THAT(failure_of<waits_for_ever>(*make_cpu_executor({.workers = 1}), {&out}),
              MatchesRegex("kernel broken cannot go on; block \\(0, 0, 0\\): threads 0-2, 4-63 at the block "
                           "barrier in .*, thread 3 polling in "
                           ".*test_waiting.cpp:[0-9]+"));
}

// Loads that return the same value repeatedly between other work are not waiting.
struct looks_often {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 2;
  void operator()(const params& p) const {
    std::uint32_t sum = 0;
    for (int i = 0; i < 100'000; ++i) sum += load_relaxed(p.out);
    atomic_add(p.out + 1, sum);
  }
};
TEST(waiting, much_looking_is_no_waiting) {
  std::uint32_t out[2] = {3, 0};
  launch<looks_often>(*make_cpu_executor({.workers = 1}), {out});
  EXPECT_EQ(out[1], 600'000u);
}

}  // namespace
}  // namespace antiphase::test
