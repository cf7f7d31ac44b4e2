// In which order the CPU executor runs threads: drawn from the seed, replayable, different from seed to seed.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/warp.cuh>

#include <algorithm>
#include <set>

#include "launcher.hpp"

namespace antiphase::test {
namespace {

// Writes down who runs, in the order of running: three times per thread, between rendezvous of each kind.
struct diary {
  using params = numbers;
  struct storage {
    alignas(16) std::uint32_t value[32];
    mbarrier all;
  };
  static constexpr int threads = 64, entries = 3;
  static constexpr residency blocks = residency::together;
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
constexpr unsigned diary_blocks = 6, diary_size = 1 + diary_blocks * diary::threads * diary::entries;

std::vector<std::uint32_t> diary_of(const executor& on) {
  std::vector<std::uint32_t> out(diary_size);
  launch<diary>(on, {out.data()}, {diary_blocks, 1, 1});
  EXPECT_EQ(out[0], diary_size - 1);
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
    if (block_index().x == 2 && thread_index() == 90) return;  // ends in a failure
    block_barrier();
    atomic_add(p.out, 1u);
  }
};
TEST(schedules, do_not_depend_on_what_ran_before) {
  const cpu_options options{.seed = 5, .workers = 1};
  const auto order = diary_of(*make_cpu_executor(options));
  const auto used = make_cpu_executor(options);
  std::uint32_t out = 0;
  EXPECT_THAT(failure_of<larger>(*used, {&out}, {9, 1, 1}), HasSubstr("block (2, 0, 0): threads 0-89, 91-95 at the block barrier"));
  EXPECT_EQ(diary_of(*used), order);
}

TEST(schedules, differ_from_seed_to_seed) {
  std::set<std::vector<std::uint32_t>> orders;
  for (unsigned seed = 0; seed < 30; ++seed) orders.insert(diary_of(*make_cpu_executor({.seed = seed, .workers = 1})));
  EXPECT_EQ(orders.size(), 30u);
}

TEST(schedules, let_any_thread_be_first_and_last) {
  std::set<std::uint32_t> first, last;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const auto order = diary_of(*make_cpu_executor({.seed = seed, .workers = 1, .resident_blocks = 1}));
    const auto end = std::find_if(order.begin() + 1, order.end(), [](std::uint32_t t) { return t >= diary::threads; });
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

// A mask may name lanes that the last warp does not have.
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
  for (unsigned t = 32; t < 40; ++t)  // of the eight lanes, the odd ones vote
    EXPECT_EQ(out[t], value(t == 32 ? t : t - 1) + value(32) * 1000 + 0xAAu * 100'000);
}

// Blocks that wait for each other in turns, with nothing but polls: far more turns than the scheduler is patient with blocks that get
// nowhere.
struct turns {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 1;
  static constexpr std::uint32_t rounds = 15'000;
  static constexpr residency blocks = residency::together;
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

// Needs as many resident blocks as the grid has; with fewer it cannot end, and says so.
struct all_meet {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 32;
  static constexpr residency blocks = residency::together;
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
  launch<all_meet>(*make_cpu_executor({.workers = 1}), {&out}, {4, 1, 1});  // two for each of two multiprocessors
  EXPECT_EQ(out, 4u);
  out = 0;
  EXPECT_THAT(failure_of<all_meet>(*make_cpu_executor({.workers = 1, .resident_blocks = 4}), {&out}, {5, 1, 1}),
              AllOf(HasSubstr("block (0, 0, 0): thread 0 polling"), HasSubstr("block (3, 0, 0): thread 0 polling"),
                    testing::Not(HasSubstr("block (4, 0, 0)"))));
  EXPECT_EQ(out, 4u);
}

}  // namespace
}  // namespace antiphase::test
