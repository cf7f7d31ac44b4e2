// SPDX-License-Identifier: Apache-2.0
// Guarantees of a launch for any kernel: fresh shared memory, unwound threads, use from many host threads,
// counts.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/clock.cuh>
#include <antiphase/device/warp.cuh>

#include <atomic>
#include <cmath>
#include <thread>

#include "launcher.hpp"

namespace antiphase::test {
namespace {

// Counts the bytes that are not poison when a block starts, then overwrites them.
template <int Bytes, shared_kind Kind> struct finds_poison {
  using params = numbers;
  struct storage {
    unsigned char bytes[Bytes];
  };
  static constexpr int threads = 32;
  static constexpr shared_kind shared = Kind;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, Kind>();
    for (int i = thread_index(); i < Bytes; i += threads)
      if (s.bytes[i] != 0xFF) atomic_add(p.out + block_index().x, 1u);
    block_barrier();
    for (int i = thread_index(); i < Bytes; i += threads) s.bytes[i] = static_cast<unsigned char>(i);
  }
};
TEST(launches, start_every_block_with_poisoned_shared_memory) {
  const auto on = make_cpu_executor({.workers = 1, .resident_blocks = 2});
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<std::uint32_t> out(20);
    launch<finds_poison<1000, shared_kind::fixed>>(*on, {out.data()}, {20, 1, 1});
    launch<finds_poison<100'001, shared_kind::dynamic>>(*on, {out.data()}, {20, 1, 1});
    EXPECT_THAT(out, testing::Each(0u));
  }
}
struct reads_floats {
  using params = numbers;
  struct storage {
    float single;
    double wide;
  };
  static constexpr int threads = 1;
  void operator()(const params& p) const {
    const storage& s = antiphase::shared<storage, shared_kind::fixed>();
    p.out[0] = std::isnan(s.single) && std::isnan(s.wide) ? 1 : 0;
  }
};
TEST(launches, poison_is_not_a_number) {
  std::uint32_t out = 0;
  launch<reads_floats>(*make_cpu_executor(), {&out});
  EXPECT_EQ(out, 1u);
}

// Every thread owns memory when one of them fails: some have not begun, some wait, some have ended.
std::atomic<int> alive, born;
struct owner {
  std::vector<int> memory = std::vector<int>(100, 7);  // leaks if its destructor does not run
  owner() { ++alive, ++born; }
  ~owner() { --alive; }
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;
};
enum class ending { traps, throws, stalls };
template <ending How> struct owns {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 96;
  void operator()(const params& p) const {
    const owner outer;
    if (thread_index() == 5) return;
    warp_work(p);
    const owner inner;
    if (How != ending::stalls && thread_index() % 8 == 0) block_barrier();
    if (How == ending::stalls && thread_index() == 70) named_barrier_sync(1, 64);
    if constexpr (How == ending::traps)
      if (thread_index() == 70) trap("on purpose");
    if constexpr (How == ending::throws)
      if (thread_index() == 70) throw std::runtime_error("thrown by a kernel");
    block_barrier();
  }
  static void warp_work(const params& p) {
    const owner third;
    if (thread_index() >= 32) warp_sync();
    atomic_add(p.out, static_cast<unsigned>(third.memory.size()));
  }
};
template <ending How> std::string run_owners(const executor& on) {
  std::uint32_t out = 0;
  const numbers params{&out};
  try {
    on.launch(kernel_of<owns<How>>("owner"), {5, 1, 1}, &params, nullptr);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no failure";
}
TEST(launches, unwind_every_thread_after_a_failure) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto on = make_cpu_executor({.seed = seed, .workers = 1, .resident_blocks = 2});
    for (int repeat = 0; repeat < 3; ++repeat) {
      EXPECT_THAT(run_owners<ending::traps>(*on),
                  testing::AnyOf(HasSubstr("on purpose"), HasSubstr("divergent block barrier")));
      EXPECT_EQ(alive, 0);
      EXPECT_THAT(run_owners<ending::throws>(*on),
                  testing::AnyOf(HasSubstr("thrown by a kernel"), HasSubstr("divergent block barrier")));
      EXPECT_EQ(alive, 0);
      EXPECT_THAT(run_owners<ending::stalls>(*on),
                  AllOf(HasSubstr("thread 5 finished"), HasSubstr("thread 70 at a named barrier")));
      EXPECT_EQ(alive, 0);
    }
  }
  EXPECT_GT(born, 1000);
}

template <int Threads> struct counts_itself {
  using params = numbers;
  struct storage {
    std::uint32_t sum;
  };
  static constexpr int threads = Threads;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if (thread_index() == 0) s.sum = 0;
    block_barrier();
    atomic_add(&s.sum, static_cast<unsigned>(thread_index()) + 1);
    block_barrier();
    if (thread_index() == 0) p.out[block_index().x] = s.sum + block_index().x;
  }
};
template <int Threads> void count(const executor& on, unsigned blocks) {
  std::vector<std::uint32_t> out(blocks);
  launch<counts_itself<Threads>>(on, {out.data()}, {blocks, 1, 1});
  for (unsigned b = 0; b < blocks; ++b)
    ASSERT_EQ(out[b], Threads * (Threads + 1) / 2 + b) << Threads << " threads, block " << b;
}
TEST(launches, in_a_row_with_changing_shapes) {
  const auto on = make_cpu_executor({.workers = 2});
  for (unsigned i = 0; i < 300; ++i) {
    count<33>(*on, 1 + i % 7);
    if (i % 3 == 0) count<1>(*on, 5);
    if (i % 10 == 0) count<1024>(*on, 3);
    if (i % 4 == 0) count<31>(*on, 2);
  }
}
TEST(launches, from_eight_host_threads_on_one_executor) {
  const auto on = make_cpu_executor({.workers = 2});
  std::vector<std::thread> hosts;
  std::atomic<int> failed{0};
  for (unsigned h = 0; h < 8; ++h)
    hosts.emplace_back([&, h] {
      for (unsigned i = 0; i < 40; ++i) {
        count<33>(*on, 1 + (h + i) % 9);
        if (i % 8 == h) count<1024>(*on, 2);
        if (i % 5 == 0 && run_owners<ending::stalls>(*on) != "no failure") ++failed;
      }
    });
  for (auto& host : hosts) host.join();
  EXPECT_EQ(failed, 64);
  EXPECT_EQ(alive, 0);
}
TEST(launches, that_fail_on_several_workers_at_once) {
  const auto on = make_cpu_executor({.workers = 8});
  for (int repeat = 0; repeat < 200; ++repeat) {
    EXPECT_NE(run_owners<ending::traps>(*on), "no failure");
    ASSERT_EQ(alive, 0);
  }
  count<33>(*on, 20);
}

// Fails immediately, while other workers still prepare the shared memory of their first blocks.
struct fails_early {
  using params = numbers;
  struct storage {
    unsigned char bytes[200 * 1024];
  };
  static constexpr int threads = 1;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr residency blocks = residency::together;
  void operator()(const params&) const { trap("at once"); }
};
TEST(launches, that_fail_before_other_workers_have_begun) {
  const auto on = make_cpu_executor({.workers = 8});
  for (int repeat = 0; repeat < 300; ++repeat)
    ASSERT_THAT(failure_of<fails_early>(*on, {nullptr}, {64, 1, 1}),
                HasSubstr("the kernel gave up: at once"));
  count<33>(*on, 20);
}

#if defined(__SANITIZE_ADDRESS__)
// With AddressSanitizer the end of a block's storage is the end of its allocation.
struct writes_past_the_end {
  using params = numbers;
  struct storage {
    unsigned char bytes[1000];
  };
  static constexpr int threads = 32;
  void operator()(const params& p) const {
    auto* first = reinterpret_cast<unsigned char*>(&antiphase::shared<storage, shared_kind::fixed>());
    first[999 + *p.out] = 1;
  }
};
TEST(launches, that_write_past_their_storage_are_stopped) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto on = make_cpu_executor({.workers = 1});
  std::uint32_t past = 0;
  EXPECT_EQ(launch<writes_past_the_end>(*on, {&past}).copies, 0u);
  past = 1;
  EXPECT_DEATH(launch<writes_past_the_end>(*on, {&past}), "use-after-poison");
}
#endif

TEST(launches, count_what_they_did) {
  const auto on = make_cpu_executor({.workers = 1});
  std::vector<std::uint32_t> out(3);
  const launch_counts counts = launch<counts_itself<64>>(*on, {out.data()}, {3, 1, 1});
  EXPECT_EQ(counts.barriers, 6u);
  EXPECT_EQ(counts.warp_operations, 0u);
  EXPECT_EQ(counts.copies, 0u);
  EXPECT_GT(counts.switches, 3u * 64 * 2);
  EXPECT_LT(counts.switches, 3u * 64 * 4);
}
TEST(launches, of_an_empty_grid_do_nothing) {
  const auto on = make_cpu_executor();
  for (const extent3 grid : {extent3{0, 1, 1}, extent3{4, 0, 1}, extent3{4, 4, 0}})
    EXPECT_EQ(launch<counts_itself<32>>(*on, {nullptr}, grid).switches, 0u);
}
TEST(launches, need_a_kernel_for_this_executor) {
  const kernel none{.name = "gpu-only", .threads = 32};
  const numbers params{nullptr};
  const auto on = make_cpu_executor();
  EXPECT_THROW(on->launch(none, {}, &params, nullptr), bad_request);
}
TEST(launches, refuse_options_that_make_no_sense) {
  EXPECT_THROW(make_cpu_executor({.workers = -1}), bad_request);
  EXPECT_THROW(make_cpu_executor({.resident_blocks = -2}), bad_request);
}

}  // namespace
}  // namespace antiphase::test
