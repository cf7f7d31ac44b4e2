// SPDX-License-Identifier: Apache-2.0
// Order by warp syncs, volatile accesses, release and acquire patterns, and fences. PTX ISA: memory
// consistency model.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/atomic_update.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/block_vote.cuh>
#include <antiphase/device/fences.cuh>
#include <antiphase/device/lanes.cuh>

#include "tests/checker/letter/pairs.cuh"

namespace antiphase::letter {
inline namespace AP_TARGET {

struct plain {
  using params = letter::params;
  struct storage {};
  static constexpr residency blocks = residency::together;  // threads wait for each other's flags
};
struct two_warps : plain {
  static constexpr int threads = 64;
};
enum class fault { none, there };

// bar.warp.sync: lanes that name the same mask meet, wherever in the code they are.
template <fault F> struct arms : plain {
  struct storage {
    std::uint32_t word[32];
  };
  static constexpr int threads = 32;
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int lane = lane_index();
    s.word[lane] = p.in[lane];
    if (lane < 16)
      warp_sync(F == fault::there ? 0x0000FFFFu : all_lanes);
    else
      warp_sync(F == fault::there ? 0xFFFF0000u : all_lanes);
    p.out[lane] = s.word[lane ^ 16];
  }
};

// ld.volatile, st.volatile: relaxed operations of system scope. They establish no order, and do not race with
// each other.
enum class flagged { fenced, not_fenced, read_plainly };
template <flagged F> struct by_volatile : two_warps {
  AP_DEV void operator()(const params& p) const {
    volatile std::uint32_t* flag = p.flag;
    if (thread_index() == 0) {
      p.out[0] = p.in[0];
      if constexpr (F != flagged::not_fenced) fence();
      *flag = 1;
    } else if (thread_index() == 40) {
      while (*flag == 0) {
      }
      if constexpr (F != flagged::not_fenced) fence();
      if constexpr (F == flagged::read_plainly) p.out[2] = *p.flag;
      p.out[1] = p.out[0];
    }
  }
};
// Without fences, when only the flag's own value matters.
struct counted_by_volatile : two_warps {
  AP_DEV void operator()(const params& p) const {
    volatile std::uint32_t* flag = p.flag;
    if (thread_index() == 0)
      for (unsigned i = 1; i <= 3; ++i) *flag = i;
    else if (thread_index() == 40)
      while (*flag != 3) {
      }
  }
};

// A release, then a relaxed write of the same thread to the same location: a release pattern. A relaxed write
// of another thread breaks it.
template <fault F> struct release_then_relaxed : two_warps {
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index();
    if (t == 0) {
      p.out[0] = p.in[0];
      store_release(p.flag, 1u);
      if constexpr (F == fault::none) store_relaxed(p.flag, 2u);
    } else if (t == 8 && F == fault::there) {
      poll([&] { return load_relaxed(p.flag) == 1; });
      store_relaxed(p.flag, 2u);
    } else if (t == 40) {
      poll([&] { return load_acquire(p.flag) == 2; });
      p.out[1] = p.out[0];
    }
  }
};
// A relaxed read, then an acquire of the same location: an acquire pattern. An acquire of another location
// makes none.
template <fault F> struct relaxed_then_acquire : two_warps {
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index();
    if (t == 0) {
      p.out[0] = p.in[0];
      store_release(p.flag, 1u);
    } else if (t == 8) {
      poll([&] { return load_relaxed(p.flag + 1) == 1; });
      store_relaxed(p.flag, 2u);  // so that the acquire does not read the released value
    } else if (t == 40) {
      poll([&] { return load_relaxed(p.flag) == 1; });
      store_relaxed(p.flag + 1, 1u);
      poll([&] { return load_relaxed(p.flag) == 2; });
      p.out[2] = load_acquire(F == fault::none ? p.flag : p.flag + 2);
      p.out[1] = p.out[0];
    }
  }
};

// A warpgroup's numbers, released by one of its threads after a barrier of the warpgroup.
template <fault F> struct release_for_a_warpgroup : plain {
  static constexpr int threads = 256;
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index();
    if (block_index().x == 0 && t >= 128) {
      p.out[t - 128] = p.in[t];
      if constexpr (F == fault::none) named_barrier_sync(1, 128);
      if (t == 128) store_release(p.flag, 1u);
    } else if (block_index().x == 1) {
      if (t == 0) poll([&] { return load_acquire(p.flag) == 1; });
      block_barrier();
      if (t < 128) p.out[128 + t] = p.out[127 - t];
    }
  }
};

// All threads write and fence, one signals by a relaxed operation: correct with sequentially consistent
// fences, which have a single order. Acquire-release fences order only their own thread's accesses.
template <fault F> struct fence_by_all : two_warps {
  struct storage {
    std::uint32_t before;
  };
  AP_DEV static void fence_between() {
    if constexpr (F == fault::none)
      fence();
    else
      fence_acquire_release();
  }
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    p.out[static_cast<int>(block_index().x) * threads + t] = p.in[t];
    fence_between();
    block_barrier();
    if (t == 0) s.before = atomic_add(p.flag, 1u);
    block_barrier();
    if (s.before != 1) return;
    fence_between();
    p.out[128 + t] = p.out[63 - t] + p.out[127 - t];
  }
};

// atomics
// -----------------------------------------------------------------------------------------------------------
// An update by a load and a store loses updates in between.
template <fault F> struct updates : two_warps {
  AP_DEV void operator()(const params& p) const {
    if constexpr (F == fault::none)
      atomic_add(p.out, 1u);
    else
      store_relaxed(p.out, load_relaxed(p.out) + 1);
  }
};
template <fault F> struct volatile_updates : two_warps {
  AP_DEV void operator()(const params& p) const {
    volatile std::uint32_t* count = p.out;
    if constexpr (F == fault::none)
      atomic_add(p.out, 1u);
    else
      *count = *count + 1;
  }
};
// Exactly one thread should find the flag 0.
template <fault F> struct check_then_act : two_warps {
  AP_DEV static bool first(const params& p) {
    if constexpr (F == fault::none) return atomic_compare_exchange(p.flag, 0, 1) == 0;
    if (load_relaxed(p.flag) != 0) return false;
    store_relaxed(p.flag, 1u);
    return true;
  }
  AP_DEV void operator()(const params& p) const {
    if (first(p)) atomic_add(p.out, 1u);
  }
};
enum class lock { whole, test_and_set_apart, taken_without_acquire, given_back_relaxed };
template <lock L> struct locked : two_warps {
  AP_DEV static void take(std::uint32_t* flag) {
    if constexpr (L == lock::test_and_set_apart) {
      poll([&] { return load_acquire(flag) == 0; });
      store_relaxed(flag, 1u);
    } else if constexpr (L == lock::taken_without_acquire) {
      while (atomic_compare_exchange(flag, 0, 1) != 0) {
      }
    } else {
      while (atomic_compare_exchange<scope::device, ordering::acquire>(flag, 0, 1) != 0) {
      }
    }
  }
  AP_DEV void operator()(const params& p) const {
    if (lane_index() >= 3) return;
    take(p.flag);
    p.out[0] += p.in[thread_index()];
    if constexpr (L == lock::given_back_relaxed)
      atomic_exchange(p.flag, 0);
    else
      atomic_exchange<scope::device, ordering::release>(p.flag, 0);
  }
};
// Scopes of updates: block scope does not reach another block.
template <scope S> struct joined_blocks : two_warps {
  AP_DEV void operator()(const params& p) const {
    if (thread_index() == 0) atomic_max<S>(p.out, p.in[block_index().x]);
  }
};
// A barrier that counts votes is a barrier; a warp's vote establishes no order.
template <fault F> struct counted : two_warps {
  struct storage {
    std::uint32_t word[threads];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    s.word[t] = p.in[t];
    const bool any = F == fault::none ? block_barrier_or(p.in[t] % 2 == 0) : warp_any(p.in[t] % 2 == 0);
    if (any) p.out[t] = s.word[threads - 1 - t];
  }
};

namespace {
constexpr const char* between_threads = "a block barrier, or another barrier that both take part in";
constexpr const char* one_writer = "an atomic operation, or one thread for this line";
constexpr const char* between_blocks = "a device-scope release and acquire";
constexpr const char* by_flag = "a release by the atomic operation";
bool same_numbers(const std::vector<std::uint32_t>& out) { return out[1] == input(0); }
bool is_64(const std::vector<std::uint32_t>& out) { return out[0] == 64; }
bool is_1(const std::vector<std::uint32_t>& out) { return out[0] == 1; }
}  // namespace

std::vector<mutant> order() {
  using enum finding_kind;
  return {
      right<arms<fault::none>>("sync-in-both-arms"),
      wrong<arms<fault::there>>("sync-in-both-arms-of-halves", "the arms meet among themselves", race,
                                between_threads),
      right<by_volatile<flagged::fenced>>("volatile-flag", {.right = same_numbers}),
      wrong<by_volatile<flagged::not_fenced>>("volatile-flag-not-fenced", "a volatile flag orders nothing",
                                              race, by_flag),
      wrong<by_volatile<flagged::read_plainly>>("volatile-flag-read-plainly", "one side is not volatile",
                                                race, between_threads),
      right<counted_by_volatile>("volatile-count"),
      right<release_then_relaxed<fault::none>>("release-then-relaxed", {.right = same_numbers}),
      wrong<release_then_relaxed<fault::there>>(
          "release-then-anothers-relaxed", "another thread's relaxed write ends the release", race, by_flag),
      right<relaxed_then_acquire<fault::none>>("relaxed-then-acquire", {.right = same_numbers}),
      wrong<relaxed_then_acquire<fault::there>>("relaxed-then-acquire-elsewhere", "acquires at another place",
                                                race, by_flag),
      right<release_for_a_warpgroup<fault::none>>("release-for-a-warpgroup", {.blocks = 2}),
      wrong<release_for_a_warpgroup<fault::there>>("release-without-the-warpgroup",
                                                   "no thread waits for the warpgroup", race, between_blocks,
                                                   {.blocks = 2}),
      right<fence_by_all<fault::none>>("fence-by-all", {.blocks = 2}),
      wrong<fence_by_all<fault::there>>("fence-by-all-not-sc", "the fences are in no order", race,
                                        between_blocks, {.blocks = 2}),
      right<updates<fault::none>>("updates", {.right = is_64}),
      wrong<updates<fault::there>>("lost-updates", "reads and writes in two steps", wrong_result,
                                   "wrong numbers", {.right = is_64}),
      right<volatile_updates<fault::none>>("volatile-updates", {.right = is_64}),
      wrong<volatile_updates<fault::there>>("lost-volatile-updates", "reads and writes in two steps",
                                            wrong_result, "wrong numbers", {.right = is_64}),
      right<check_then_act<fault::none>>("check-and-act", {.right = is_1}),
      wrong<check_then_act<fault::there>>("check-then-act", "another checks before this one acts",
                                          wrong_result, "wrong numbers", {.right = is_1}),
      right<locked<lock::whole>>("lock"),
      wrong<locked<lock::test_and_set_apart>>("lock-test-and-set-apart", "two threads find the lock open",
                                              race, one_writer),
      wrong<locked<lock::taken_without_acquire>>("lock-without-acquire",
                                                 "takes the lock by a relaxed operation", race, one_writer),
      wrong<locked<lock::given_back_relaxed>>("lock-without-release",
                                              "gives the lock back by a relaxed operation", race, one_writer),
      right<joined_blocks<scope::device>>("updates-of-blocks", {.blocks = 3}),
      wrong<joined_blocks<scope::block>>("updates-of-block-scope", "blocks update at block scope", race,
                                         "block scope does not reach", {.blocks = 3}),
      right<counted<fault::none>>("counting-barrier"),
      wrong<counted<fault::there>>("vote-for-barrier", "takes a warp's vote for a barrier", race,
                                   between_threads),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::letter
