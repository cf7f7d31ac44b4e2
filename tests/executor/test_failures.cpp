// SPDX-License-Identifier: Apache-2.0
// Errors that the CPU executor reports: barriers that not all threads reach, waits that never end, copies
// that are not allowed.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/clock.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/warp.cuh>

#include "launcher.hpp"

namespace antiphase::test {
namespace {

const shared_executor one = make_cpu_executor({.workers = 1});

// The executor works normally after a failure.
struct works {
  using params = numbers;
  struct storage {
    std::uint32_t value[64];
  };
  static constexpr int threads = 64;
  void operator()(const params& p) const {
    auto& s = antiphase::shared<storage, shared_kind::fixed>();
    s.value[thread_index()] = static_cast<unsigned>(thread_index()) * 3 + 1;
    block_barrier();
    p.out[thread_index()] = s.value[63 - thread_index()];
  }
};
class failures : public testing::Test {
 protected:
  void TearDown() override {
    std::vector<std::uint32_t> out(64);
    launch<works>(*one, {out.data()});
    for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(out[i], (63 - i) * 3 + 1);
  }
};

template <int Threads = 64> struct with_storage {
  using params = numbers;
  struct storage {
    alignas(16) unsigned char bytes[256];
    mbarrier barrier;
  };
  static constexpr int threads = Threads;
  static storage& memory() { return antiphase::shared<storage, shared_kind::fixed>(); }
};

struct one_waits_elsewhere : with_storage<64> {
  void operator()(const params&) const {
    if (thread_index() == 17) return;
    if (thread_index() >= 32) named_barrier_sync(1, 64);
    block_barrier();
  }
};
TEST_F(failures, barrier_that_some_never_reach) {
  EXPECT_THAT(
      failure_of<one_waits_elsewhere>(*one, {}, {3, 1, 1}),
      MatchesRegex(
          "kernel broken cannot go on; block \\(0, 0, 0\\): threads 0-16, 18-31 at the block barrier in "
          ".*tests/executor/test_failures.cpp:[0-9]+, thread 17 finished, threads 32-63 at a named barrier "
          "in "
          ".*tests/executor/test_failures.cpp:[0-9]+; 2 of 3 blocks have not begun, .*"));
}

struct two_places : with_storage<64> {
  void operator()(const params&) const {
    if (thread_index() < 32)
      block_barrier();
    else
      block_barrier();
  }
};
TEST_F(failures, barrier_at_two_places) {
  EXPECT_THAT(failure_of<two_places>(*one, {}),
              MatchesRegex("kernel broken, block \\(0, 0, 0\\), thread [0-9]+: divergent block barrier: "
                           "other threads of the block are at the one in "
                           ".*test_failures.cpp:[0-9]+ \\(.*test_failures.cpp:[0-9]+\\)"));
}

struct named_alone : with_storage<64> {
  void operator()(const params&) const {
    if (thread_index() < 32) named_barrier_sync(2, 64);
  }
};
TEST_F(failures, named_barrier_that_half_of_them_reach) {
  EXPECT_THAT(failure_of<named_alone>(*one, {}),
              AllOf(HasSubstr("threads 0-31 at a named barrier in "), HasSubstr("threads 32-63 finished")));
}
template <int Id, int Count> struct named_wrong : with_storage<64> {
  void operator()(const params&) const { named_barrier_sync(Id, Count); }
};
struct named_disagreement : with_storage<64> {
  void operator()(const params&) const { named_barrier_sync(1, thread_index() < 32 ? 64 : 32); }
};
TEST_F(failures, named_barriers_that_do_not_exist) {
  EXPECT_THAT((failure_of<named_wrong<16, 64>>(*one, {})), HasSubstr("named barrier 16: expected 1 to 15"));
  EXPECT_THAT((failure_of<named_wrong<0, 64>>(*one, {})),
              HasSubstr("named barrier 0: expected 1 to 15 (0 is the block barrier)"));
  EXPECT_THAT((failure_of<named_wrong<1, 48>>(*one, {})),
              HasSubstr("named barrier 1: 48 threads is not a multiple of 32"));
  EXPECT_THAT(failure_of<named_disagreement>(*one, {}),
              MatchesRegex(".*named barrier 1: (64|32) threads expected here, (64|32) in .*"));
}

struct lane_missing : with_storage<64> {
  void operator()(const params&) const {
    if (lane_index() != 5)
      warp_sync();
    else
      block_barrier();
  }
};
struct lane_outside : with_storage<32> {
  void operator()(const params&) const { warp_sync(0xFFFFu); }
};
struct lanes_apart : with_storage<32> {
  void operator()(const params& p) const {
    if (lane_index() < 16)
      p.out[0] = shuffle(1u, 0);
    else
      warp_sync();
  }
};
TEST_F(failures, warps_that_do_not_meet) {
  std::uint32_t out = 0;
  EXPECT_THAT(failure_of<lane_missing>(*one, {}),
              AllOf(HasSubstr("threads 0-4, 6-36, 38-63 waiting for other lanes of the warp in "),
                    HasSubstr("threads 5, 37 at the block barrier")));
  EXPECT_THAT(failure_of<lane_outside>(*one, {}),
              MatchesRegex(".*lane (1[6-9]|2[0-9]|3[01]) is not in its own mask 0x0000ffff.*"));
  EXPECT_THAT(failure_of<lanes_apart>(*one, {&out}),
              HasSubstr("divergent warp operation: other lanes of the warp are at the one in "));
}

struct arrival_missing : with_storage<64> {
  void operator()(const params&) const {
    if (thread_index() == 0) memory().barrier.init(3);
    block_barrier();
    if (thread_index() == 0) memory().barrier.arrive(bytes{128});
    memory().barrier.wait(0);
  }
};
TEST_F(failures, mbarrier_deadlock_says_what_is_missing) {
  EXPECT_THAT(failure_of<arrival_missing>(*one, {}),
              AllOf(HasSubstr("cannot go on"), HasSubstr("threads 0-63 waiting for parity 0 of an mbarrier "
                                                         "with 2 of 3 arrivals and 128 bytes missing in ")));
}
struct not_initialised : with_storage<32> {
  void operator()(const params&) const { memory().barrier.wait(0); }
};
struct twice : with_storage<1> {
  void operator()(const params&) const {
    memory().barrier.init(1);
    memory().barrier.arrive(bytes{16});
    memory().barrier.arrive();
  }
};
struct no_parties : with_storage<1> {
  void operator()(const params&) const { memory().barrier.init(0); }
};
struct too_many_bytes : with_storage<1> {
  void operator()(const params&) const {
    memory().barrier.init(2);
    memory().barrier.arrive(bytes{1 << 20});
  }
};
struct elsewhere : with_storage<1> {
  void operator()(const params&) const {
    mbarrier local;
    local.init(1);
  }
};
TEST_F(failures, mbarriers_used_wrongly) {
  EXPECT_THAT(failure_of<not_initialised>(*one, {}),
              HasSubstr("an mbarrier is used before it is initialised"));
  EXPECT_THAT(
      failure_of<twice>(*one, {}),
      HasSubstr("one arrival more than the mbarrier's 1 parties in a phase whose bytes have not landed"));
  EXPECT_THAT(failure_of<no_parties>(*one, {}), HasSubstr("an mbarrier of 0 parties: expected 1 to 1048575"));
  EXPECT_THAT(failure_of<too_many_bytes>(*one, {}),
              HasSubstr("an mbarrier is to expect 1048576 bytes in a phase, it can count 1048575"));
  EXPECT_THAT(failure_of<elsewhere>(*one, {}), HasSubstr("an mbarrier does not lie in the block's"));
}

struct polls_for_ever : with_storage<32> {
  void operator()(const params& p) const {
    if (thread_index() == 3) poll([&] { return load_acquire(p.out) != 0; });
  }
};
TEST_F(failures, polling_for_ever) {
  std::uint32_t out = 0;
  EXPECT_THAT(failure_of<polls_for_ever>(*make_cpu_executor({.workers = 4}), {&out}),
              HasSubstr("thread 3 polling in "));  // the other threads have returned
  EXPECT_THAT(failure_of<polls_for_ever>(*one, {&out}),
              MatchesRegex("kernel broken cannot go on; block \\(0, 0, 0\\): threads 0-2, 4-31 finished, "
                           "thread 3 polling in .*test_failures.cpp:[0-9]+"));
}

struct trapped : with_storage<64> {
  void operator()(const params&) const {
    if (block_index().y == 2 && thread_index() == 33) trap("the answer is missing");
    block_barrier();
  }
};
TEST_F(failures, trap_says_why_and_where) {
  EXPECT_THAT(failure_of<trapped>(*one, {}, {1, 3, 1}),
              MatchesRegex("kernel broken, block \\(0, 2, 0\\), thread 33: the kernel gave up: the answer is "
                           "missing \\(.*test_failures.cpp:[0-9]+\\)"));
}

}  // namespace
}  // namespace antiphase::test
