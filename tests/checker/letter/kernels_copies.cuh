// SPDX-License-Identifier: Apache-2.0
// Arrivals with copies, stored boxes, bulk reductions and multicast by TMA. PTX ISA:
// cp.async.mbarrier.arrive, cp.async.bulk.tensor, cp.reduce.async.bulk, .multicast::cluster.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk_reduce.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/mbarrier_arrivals.cuh>
#include <antiphase/device/multicast.cuh>
#include <antiphase/device/tensor_store.cuh>

#include "tests/checker/letter/pairs.cuh"
#include "tests/support/landed.cuh"

namespace antiphase::letter {
inline namespace AP_TARGET {

// Every thread copies a word and arrives when it has landed; another thread reads it.
enum class with_copies {
  arrives,        // by copy_async_arrive
  tracks,         // copy_async_track and a separate arrival
  also_waits,     // for its group; the mbarrier's wait is missing
  arrives_first,  // and copies afterwards
  second_copy,    // issued after the arrival, in the same group
  second_left,    // the same, without a wait for it
  group_before,   // is waited for: the copy is in no committed group yet
  plain_arrival,  // without waiting for the copies
  tracks_only,
  plain_write,  // which an arrival with copies does not release
  two_arrivals,
  nobody_waits
};
template <with_copies F> struct copied {
  using params = letter::params;
  struct storage {
    std::uint32_t word[64], second[64], plain[64];
    mbarrier landed;
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), other = 63 - t;
    if (t == 0) s.landed.init(threads);
    block_barrier();
    if constexpr (F == with_copies::arrives_first) copy_async_arrive(s.landed);
    if constexpr (F == with_copies::group_before) {
      copy_async<4>(&s.second[t], &p.in[t], 4);
      copy_async_commit();
    }
    copy_async<4>(&s.word[t], &p.in[t], 4);
    if constexpr (F == with_copies::plain_write) s.plain[t] = p.in[t];
    if constexpr (F == with_copies::tracks || F == with_copies::tracks_only) copy_async_track(s.landed);
    if constexpr (F == with_copies::tracks || F == with_copies::plain_arrival)
      s.landed.arrive();
    else if constexpr (F != with_copies::arrives_first && F != with_copies::tracks_only)
      copy_async_arrive(s.landed);
    if constexpr (F == with_copies::two_arrivals) copy_async_arrive(s.landed);
    if constexpr (F == with_copies::second_copy || F == with_copies::second_left)
      copy_async<4>(&s.second[t], &p.in[t], 4);
    if constexpr (F == with_copies::second_copy || F == with_copies::also_waits) copy_async_commit();
    if constexpr (F == with_copies::also_waits || F == with_copies::group_before) {
      copy_async_wait<0>();
      block_barrier();
    } else if constexpr (F == with_copies::nobody_waits) {
      return;
    } else {
      s.landed.wait(0);
    }
    p.out[t] = s.word[other];
    if constexpr (F == with_copies::plain_write) p.out[64 + t] = s.plain[other];
    if constexpr (F == with_copies::second_copy) {
      p.out[64 + t] = s.second[other];
      copy_async_wait<0>();
    }
  }
};
inline bool is_reversed(const std::vector<std::uint32_t>& out) {
  for (int i = 0; i < 64; ++i)
    if (out[static_cast<std::size_t>(i)] != input(63 - i)) return false;
  return true;
}

// A box of 8 x 8 is stored to a corner of the tensor, partly outside.
enum class box_stored { whole, unfenced, overwritten, never_waited, unaligned };
constexpr int box_x = 12, box_y = 10;
template <box_stored F> struct stored_box {
  using params = letter::params;
  struct storage {
    alignas(128) std::uint32_t word[64 + 4];
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (int i = t; i < 68; i += threads) s.word[i] = p.in[i];
    if constexpr (F != box_stored::unfenced) fence_async();
    block_barrier();
    if (t != 0) return;
    tensor_store(p.map, s.word + (F == box_stored::unaligned ? 4 : 0), box_x, box_y);
    bulk_commit();
    if constexpr (F == box_stored::never_waited) return;
    if constexpr (F != box_stored::overwritten) bulk_wait_read<0>();
    s.word[9] = 0;
    bulk_wait<0>();
  }
};
inline bool is_in_the_corner(const std::vector<std::uint32_t>& out) {
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 16; ++x) {
      const bool inside = x >= box_x && y >= box_y;
      if (out[static_cast<std::size_t>(16 * y + x)] != (inside ? input(8 * (y - box_y) + x - box_x) : 0))
        return false;
    }
  return true;
}

// Two blocks add to the same numbers by bulk reductions; a third one adds to some of them by atomics.
enum class reduced { whole, stored, unfenced, overwritten, read_too_early, never_waited };
template <reduced F> struct sums {
  using params = letter::params;
  struct storage {
    alignas(16) std::uint32_t word[64];
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if (block_index().x == 2) {
      if constexpr (F == reduced::whole) atomic_add(&p.out[t], 5u);
      return;
    }
    s.word[t] = p.in[t] + block_index().x;
    if constexpr (F != reduced::unfenced) fence_async();
    block_barrier();
    if (t != 0) return;
    if constexpr (F == reduced::stored)
      bulk_store(p.out, s.word, sizeof s.word);
    else
      bulk_reduce<bulk_update::add>(p.out, s.word, sizeof s.word);
    bulk_commit();
    if constexpr (F == reduced::never_waited) return;
    if constexpr (F == reduced::read_too_early)
      p.out[128 + block_index().x] = load_relaxed(&p.out[3]) + *p.out;
    if constexpr (F != reduced::overwritten) bulk_wait_read<0>();
    s.word[9] = 0;
    bulk_wait<0>();
  }
};
inline bool is_sum_of_blocks(const std::vector<std::uint32_t>& out) {
  for (int i = 0; i < 64; ++i)
    if (out[static_cast<std::size_t>(i)] != 2 * input(i) + 1 + 5) return false;
  return true;
}

// The first block of a cluster loads for both, twice into the same shared memory.
enum class cast {
  whole,
  one_does_not_wait,
  for_one,
  before_the_barrier,
  not_released,
  unexpected,
  too_many_ranks
};
template <cast F> struct both_loaded {
  using params = letter::params;
  struct storage {
    alignas(16) std::uint32_t word[32];
    mbarrier landed;
  };
  static constexpr int threads = 32, cluster = 2;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), rank = cluster_rank();
    test::first_thread_prepares(s.landed);
    if constexpr (F == cast::before_the_barrier)
      block_barrier();
    else
      cluster_barrier();
    for (unsigned round = 0; round < 2; ++round) {
      if (t == 0) s.landed.arrive(bytes{F == cast::unexpected && rank == 1 ? 0 : 128});
      if (t == 0 && rank == 0)
        bulk_load_multicast(s.word, p.in + 32 * round, sizeof s.word, s.landed,
                            F == cast::for_one          ? 1u
                            : F == cast::too_many_ranks ? 7u
                                                        : 3u);
      if (F != cast::one_does_not_wait || rank == 0) s.landed.wait(round);
      p.out[64 * round + static_cast<unsigned>(rank * threads + t)] = s.word[31 - t];
      if constexpr (F != cast::not_released) cluster_barrier();  // all have read
    }
    cluster_barrier();
  }
};
inline bool is_loaded_twice(const std::vector<std::uint32_t>& out) {
  for (int i = 0; i < 128; ++i)
    if (out[static_cast<std::size_t>(i)] != input(32 * (i / 64) + 31 - i % 32)) return false;
  return true;
}

std::vector<mutant> copies() {
  using enum finding_kind;
  constexpr const char* phase = "a wait for the end of the mbarrier's phase";
  return {
      right<copied<with_copies::arrives>>("copies-arrive", {.right = is_reversed}),
      right<copied<with_copies::tracks>>("copies-tracked", {.right = is_reversed}),
      right<copied<with_copies::also_waits>>("copies-also-waited-for", {.right = is_reversed}),
      wrong<copied<with_copies::arrives_first>>("copies-behind-the-arrival", "arrives before it copies",
                                                read_before_landing,
                                                "copy_async_wait by the thread that copies"),
      wrong<copied<with_copies::second_copy>>(
          "copies-behind-the-arrival-in-its-group", "copies more into the group that it arrived with",
          read_before_landing, "copy_async_wait by the thread that copies"),
      wrong<copied<with_copies::second_left>>("copies-behind-the-arrival-left",
                                              "waits for the copies before the arrival only",
                                              never_waited_for, "copy_async_wait for its group"),
      wrong<copied<with_copies::group_before>>("copies-of-the-group-before",
                                               "waits for the group before the copy", read_before_landing,
                                               "the mbarrier's phase that counts the copy"),
      wrong<copied<with_copies::plain_arrival>>("copies-plain-arrival", "arrives without its copies",
                                                read_before_landing, "copy_async_arrive"),
      wrong<copied<with_copies::tracks_only>>(
          "copies-tracked-only", "lets the mbarrier wait, and no thread arrives", deadlock, "of 64 arrivals"),
      wrong<copied<with_copies::plain_write>>("copies-tell-of-no-write",
                                              "takes an arrival with copies for one that tells of writes",
                                              race, "a block barrier, or"),
      wrong<copied<with_copies::two_arrivals>>("copies-arrive-twice", "twice as many arrivals as parties",
                                               barrier_misuse, "one arrival more"),
      wrong<copied<with_copies::nobody_waits>>("copies-arrive-unwaited", "no thread waits for the mbarrier",
                                               never_waited_for, phase, {.in_every_schedule = true}),
      right<stored_box<box_stored::whole>>("box-stored", {.right = is_in_the_corner}),
      wrong<stored_box<box_stored::unfenced>>("box-unfenced", "no proxy fence before the store",
                                              missing_proxy_fence, "fence_async by",
                                              {.in_every_schedule = true}),
      wrong<stored_box<box_stored::overwritten>>(
          "box-overwritten", "writes to the source of a store in flight", overwritten_in_use,
          "bulk_wait_read", {.in_every_schedule = true}),
      wrong<stored_box<box_stored::never_waited>>("box-never-waited", "ends with the store in flight",
                                                  never_waited_for, "bulk_wait before",
                                                  {.in_every_schedule = true}),
      wrong<stored_box<box_stored::unaligned>>("box-unaligned", "a box at byte 16", bad_copy,
                                               "a multiple of 128", {.in_every_schedule = true}),
      right<sums<reduced::whole>>("reduction", {.blocks = 3, .right = is_sum_of_blocks}),
      wrong<sums<reduced::stored>>("reduction-stored", "stores where it has to add", overwritten_in_use,
                                   "bulk_wait instead of bulk_wait_read", {.blocks = 2}),
      wrong<sums<reduced::unfenced>>("reduction-unfenced", "no proxy fence before the reduction",
                                     missing_proxy_fence, "fence_async by",
                                     {.blocks = 2, .in_every_schedule = true}),
      wrong<sums<reduced::overwritten>>("reduction-overwritten",
                                        "writes to the source of a reduction in flight", overwritten_in_use,
                                        "bulk_wait_read", {.blocks = 2, .in_every_schedule = true}),
      wrong<sums<reduced::read_too_early>>("reduction-read-too-early", "reads a sum that is on its way",
                                           read_before_landing, "bulk_wait", {.in_every_schedule = true}),
      wrong<sums<reduced::never_waited>>("reduction-never-waited", "ends with the reduction in flight",
                                         never_waited_for, "bulk_wait before", {.in_every_schedule = true}),
      right<both_loaded<cast::whole>>("multicast", {.blocks = 2, .right = is_loaded_twice}),
      wrong<both_loaded<cast::one_does_not_wait>>("multicast-one-does-not-wait",
                                                  "the other block does not wait", read_before_landing, phase,
                                                  {.blocks = 2}),
      wrong<both_loaded<cast::for_one>>("multicast-for-one", "loads for one block only", deadlock,
                                        "128 bytes missing", {.blocks = 2}),
      wrong<both_loaded<cast::before_the_barrier>>("multicast-before-the-barrier",
                                                   "loads into a block that may not have begun", race,
                                                   "a cluster barrier, or", {.blocks = 2}),
      wrong<both_loaded<cast::not_released>>("multicast-not-released",
                                             "loads again while the other block reads", overwritten_in_use,
                                             "", {.blocks = 2}),
      wrong<both_loaded<cast::unexpected>>("multicast-unexpected", "the other block expects no bytes",
                                           read_before_landing, phase, {.blocks = 2}),
      wrong<both_loaded<cast::too_many_ranks>>(
          "multicast-too-many-ranks", "names a block that the cluster does not have", bad_copy,
          "a cluster of 2 blocks", {.blocks = 2, .in_every_schedule = true}),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::letter
