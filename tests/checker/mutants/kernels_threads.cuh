// SPDX-License-Identifier: Apache-2.0
// Faults of the threads of a block: barriers, warps, roles, indices, counters.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/warp.cuh>

#include "tests/checker/mutants/on_numbers.cuh"

namespace antiphase::mutants {
inline namespace AP_TARGET {

// exchange
// -----------------------------------------------------------------------------------------------------------
// Threads pass values through shared memory three times: every thread writes its own and reads its partner's.
enum class exchange {
  none,
  no_barrier_after_write,
  no_barrier_after_read,
  warp_sync_for_barrier,
  shuffle_for_barrier,
  barrier_in_branch,
  two_barriers,
  threads_return,
  returns_after_write,
  two_kinds_of_barriers,
  named_too_few,
  named_too_many,
  named_not_warps,
  named_different_counts,
  named_number,
};
// Threads past the end of the numbers return before the first barrier.
template <exchange F> constexpr bool returns =
    F == exchange::threads_return || F == exchange::returns_after_write;
template <exchange F> struct exchanging : on_numbers {
  struct storage {
    std::uint32_t word[threads];
  };
  AP_DEV static void meet() {
    const int t = thread_index();
    if constexpr (F == exchange::warp_sync_for_barrier) {
      warp_sync();
    } else if constexpr (F == exchange::shuffle_for_barrier) {
      shuffle(t, 0);
    } else if constexpr (F == exchange::barrier_in_branch) {
      if (t < 32) block_barrier();
    } else if constexpr (F == exchange::two_barriers) {
      if (t < 32)
        block_barrier();
      else
        block_barrier();
    } else if constexpr (F == exchange::named_too_few) {
      named_barrier_sync(1, 32);
    } else if constexpr (F == exchange::named_too_many) {
      named_barrier_sync(1, 96);
    } else if constexpr (F == exchange::named_not_warps) {
      named_barrier_sync(1, 48);
    } else if constexpr (F == exchange::named_different_counts) {
      named_barrier_sync(1, t < 32 ? 64 : 96);
    } else if constexpr (F == exchange::named_number) {
      named_barrier_sync(16 + (t & 0), 64);
    } else {
      block_barrier();
    }
  }
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    const int partner = place() - t + threads - 1 - t;
    std::uint32_t mine = load(p, place());
    if (F == exchange::returns_after_write && place() >= p.size) s.word[t] = mine;
    if (returns<F> && place() >= p.size) return;
    for (int turn = 0; turn < 3; ++turn) {
      s.word[t] = mine;
      if constexpr (F != exchange::no_barrier_after_write) meet();
      const std::uint32_t other =
          F == exchange::threads_return && partner >= p.size ? 0 : s.word[threads - 1 - t];
      if constexpr (F != exchange::no_barrier_after_read) block_barrier();
      mine = mixed(mine, other);
    }
    if constexpr (F == exchange::two_kinds_of_barriers) {
      if (t < 32)
        block_barrier();
      else
        named_barrier_sync(1, threads);
    }
    store(p, place(), mine);
  }
};
template <exchange F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<exchanging<F>>(name),
          .policy = {.family = "block barriers", .blocks = 2, .expected = [](int i) {
                       const int partner = i / threads * threads + threads - 1 - i % threads;
                       std::uint32_t mine = input_or_zero(i, size_of(2)),
                                     other = input_or_zero(partner, size_of(2));
                       for (int turn = 0; turn < 3; ++turn) {
                         const std::uint32_t before = mine;
                         mine = mixed(mine, other);
                         if (!returns<F> || partner < size_of(2)) other = mixed(other, before);
                       }
                       return mine;
                     }}};
}

// warps
// -----------------------------------------------------------------------------------------------------------
// The same exchange between neighbouring lanes, with warp syncs.
enum class lanes {
  none,
  no_sync_after_write,
  no_sync_after_read,
  shuffle_for_sync,
  ballot_for_sync,
  half_a_mask,
  sync_in_branch,
  shuffle_in_branch,
  lanes_return,
  returns_after_write
};
// The last of eight lanes takes no part.
template <lanes F> AP_FN constexpr bool is_left_alone(int i) {
  return (F == lanes::lanes_return || F == lanes::returns_after_write) && i % 8 == 7;
}
template <lanes F> struct neighbours : on_numbers {
  struct storage {
    std::uint32_t word[threads];
  };
  AP_DEV static void meet() {
    const int lane = lane_index();
    if constexpr (F == lanes::shuffle_for_sync) {
      shuffle(lane, 0);
    } else if constexpr (F == lanes::ballot_for_sync) {
      ballot(true);
    } else if constexpr (F == lanes::half_a_mask) {
      warp_sync(lane % 2 == 0 ? 0x55555555u : 0xAAAAAAAAu);
    } else if constexpr (F == lanes::sync_in_branch) {
      if (lane < 16) warp_sync();
    } else if constexpr (F == lanes::shuffle_in_branch) {
      if (lane < 16) shuffle(lane, 0);
      warp_sync();
    } else {
      warp_sync();
    }
  }
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    std::uint32_t mine = load(p, place());
    if (is_left_alone<F>(t)) {
      if constexpr (F == lanes::returns_after_write) s.word[t] = 0;
      store(p, place(), mine);
      return;
    }
    for (int turn = 0; turn < 3; ++turn) {
      s.word[t] = mine;
      if constexpr (F != lanes::no_sync_after_write) meet();
      const std::uint32_t other = F == lanes::lanes_return && is_left_alone<F>(t ^ 1) ? 0 : s.word[t ^ 1];
      if constexpr (F != lanes::no_sync_after_read) warp_sync();
      mine = mixed(mine, other);
    }
    store(p, place(), mine);
  }
};
template <lanes F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<neighbours<F>>(name),
          .policy = {.family = "warps", .blocks = 2, .expected = [](int i) {
                       const bool alone = is_left_alone<F>(i ^ 1);
                       std::uint32_t mine = input_or_zero(i, size_of(2)),
                                     other = alone ? 0 : input_or_zero(i ^ 1, size_of(2));
                       for (int turn = 0; turn < 3 && !is_left_alone<F>(i); ++turn) {
                         const std::uint32_t before = mine;
                         mine = mixed(mine, other);
                         if (!alone) other = mixed(other, before);
                       }
                       return mine;
                     }}};
}

// roles
// -----------------------------------------------------------------------------------------------------------
// The first warp writes, the second reads; named barrier 1 signals a full word, 2 an empty one.
enum class role {
  none,
  full_before_write,
  empty_before_read,
  no_wait_for_full,
  no_wait_for_empty,
  full_not_arrived,
  same_barrier
};
template <role F> struct two_roles : on_numbers {
  struct storage {
    std::uint32_t word[32];
  };
  static constexpr int full = 1, empty = F == role::same_barrier ? 1 : 2;
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int lane = lane_index(), first = static_cast<int>(block_index().x) * threads;
    for (int unit = 0; unit < 2; ++unit) {
      const int at = first + unit * 32;
      if (thread_index() < 32) {
        if constexpr (F != role::no_wait_for_empty)
          if (unit > 0) named_barrier_sync(empty, threads);
        if constexpr (F == role::full_before_write) named_barrier_arrive(full, threads);
        s.word[lane] = load(p, at + lane);
        if constexpr (F != role::full_before_write && F != role::full_not_arrived)
          named_barrier_arrive(full, threads);
      } else {
        if constexpr (F != role::no_wait_for_full) named_barrier_sync(full, threads);
        if constexpr (F == role::empty_before_read)
          if (unit == 0) named_barrier_arrive(empty, threads);
        const std::uint32_t value = s.word[31 - lane];
        if constexpr (F != role::empty_before_read)
          if (unit == 0) named_barrier_arrive(empty, threads);
        store(p, at + lane, mixed(value, value));
      }
    }
  }
};
template <role F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<two_roles<F>>(name),
          .policy = {.family = "named barriers", .expected = [](int i) {
                       const std::uint32_t value = input_or_zero(i / 32 * 32 + 31 - i % 32, size_of(1));
                       return mixed(value, value);
                     }}};
}

// bounds
// -----------------------------------------------------------------------------------------------------------
// Each number plus its neighbours, through shared memory with a halo.
enum class bound {
  none,
  halo_not_zeroed,
  shared_write_too_far,
  shared_read_too_far,
  read_too_far,
  read_before_first,
  write_too_far,
  write_far_away,
  result_in_place,
};
template <bound F> struct stencil : on_numbers {
  struct storage {
    std::uint32_t word[threads + 2];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int t = thread_index(), at = place();
    if constexpr (F == bound::read_too_far)
      s.word[t + 1] = at <= p.size ? p.in[at] : 0;
    else
      s.word[t + 1] = load(p, at);
    if (t == 0 && F != bound::halo_not_zeroed)
      s.word[0] = F == bound::read_before_first ? p.in[at - 1] : load(p, at - 1);
    if (t == threads - 1)
      s.word[threads + 1 + (F == bound::shared_write_too_far && p.size > 0)] = load(p, at + 1);
    block_barrier();
    const std::uint32_t left = s.word[t], right = s.word[t + (F == bound::shared_read_too_far ? 3 : 2)];
    if constexpr (F == bound::result_in_place) {
      s.word[t + 1] = mixed(left, right);
      store(p, at, s.word[t + 1]);
    } else if constexpr (F == bound::write_too_far) {
      if (at <= p.size) p.out[at] = mixed(left, right);
    } else if constexpr (F == bound::write_far_away) {
      p.out[at < p.size ? at : at << 20] = mixed(left, right);
    } else {
      store(p, at, mixed(left, right));
    }
  }
};
template <bound F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<stencil<F>>(name),
          .policy = {.family = "bounds", .blocks = 2, .expected = [](int i) {
                       return mixed(input_or_zero(i - 1, size_of(2)), input_or_zero(i + 1, size_of(2)));
                     }}};
}

// trees
// -----------------------------------------------------------------------------------------------------------
// The sum of a block by a tree of halves; every thread gets it.
enum class tree {
  none,
  no_barrier_between_steps,
  last_warp_without_sync,
  no_barrier_before_result,
  no_barrier_after_result
};
template <tree F> struct summing : on_numbers {
  struct storage {
    std::uint32_t word[threads];
  };
  AP_DEV static std::uint32_t sum(storage& s, std::uint32_t mine) {
    const int t = thread_index();
    s.word[t] = mine;
    block_barrier();
    for (int by = threads / 2; by > 0; by /= 2) {
      if (t < by) s.word[t] += s.word[t + by];
      const bool last = by == 1, one_warp = by < 32;
      if (last ? F != tree::no_barrier_before_result
               : F != tree::no_barrier_between_steps && !(F == tree::last_warp_without_sync && one_warp))
        block_barrier();
    }
    const std::uint32_t all = s.word[0];
    if constexpr (F != tree::no_barrier_after_result) block_barrier();
    return all;
  }
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const std::uint32_t once = sum(s, load(p, place())),
                        twice = sum(s, once + static_cast<std::uint32_t>(thread_index()));
    store(p, place(), twice);
  }
};
template <tree F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<summing<F>>(name),
          .policy = {.family = "sums by halves", .blocks = 2, .expected = [](int i) {
                       std::uint32_t sum = 0;
                       for (int t = 0; t < threads; ++t)
                         sum += input_or_zero(i / threads * threads + t, size_of(2));
                       return sum * threads + threads * (threads - 1) / 2;
                     }}};
}

// counters
// -----------------------------------------------------------------------------------------------------------
// A histogram in shared memory: every thread gets the count of its bin.
enum class count { none, not_atomic, not_zeroed, no_barrier_after_zeroing, no_barrier_after_counting };
template <count F> struct counting : on_numbers {
  struct storage {
    std::uint32_t bin[8];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    std::uint32_t& mine = s.bin[(load(p, place()) >> 4) % 8];
    if (t < 8 && F != count::not_zeroed) s.bin[t] = 0;
    if constexpr (F != count::no_barrier_after_zeroing) block_barrier();
    if constexpr (F == count::not_atomic)
      ++mine;
    else
      atomic_add<scope::block>(&mine, 1);
    if constexpr (F != count::no_barrier_after_counting) block_barrier();
    store(p, place(), mine);
  }
};
template <count F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<counting<F>>(name),
          .policy = {.family = "counters", .blocks = 2, .expected = [](int i) {
                       std::uint32_t same = 0;
                       for (int t = 0; t < threads; ++t)
                         same += (input_or_zero(i / threads * threads + t, size_of(2)) >> 4) % 8 ==
                                 (input(i) >> 4) % 8;
                       return same;
                     }}};
}

std::vector<mutant> threads_of_a_block() {
  using enum finding_kind;
  constexpr const char* no_barrier = "a block barrier, or another barrier that both take part in";
  constexpr const char* not_released = "the slot has not been released";
  return {
      made<exchange::none>("exchange"),
      made<exchange::no_barrier_after_write>("exchange-no-barrier-after-write",
                                             "reads its partner's word with no barrier in between", race,
                                             no_barrier),
      made<exchange::no_barrier_after_read>("exchange-no-barrier-after-read",
                                            "writes its word again while the partner may read it",
                                            overwritten_in_use, not_released),
      made<exchange::warp_sync_for_barrier>("exchange-warp-sync", "warps meet where the block has to", race,
                                            no_barrier),
      made<exchange::shuffle_for_barrier>("exchange-shuffle", "a shuffle where the block has to meet", race,
                                          no_barrier),
      made<exchange::barrier_in_branch>("exchange-barrier-in-branch",
                                        "one warp skips a barrier and comes to the next", divergent_barrier,
                                        "other threads of the block are at the one"),
      made<exchange::two_barriers>("exchange-two-barriers", "the two warps meet at different barriers",
                                   divergent_barrier, "other threads of the block are at the one"),
      made<exchange::threads_return>("exchange-threads-return"),
      made<exchange::returns_after_write>("exchange-returns-after-write",
                                          "threads write a word, which others read, and return", race,
                                          no_barrier),
      made<exchange::two_kinds_of_barriers>(
          "exchange-two-kinds-of-barriers",
          "one warp waits at the barrier of the block, the other at a named one for both", deadlock,
          "at the block barrier"),
      made<exchange::named_too_few>("exchange-named-too-few", "a named barrier for 32 of the 64 threads",
                                    race, no_barrier),
      made<exchange::named_too_many>("exchange-named-too-many",
                                     "a named barrier for 96 threads, there are 64", deadlock,
                                     "at a named barrier"),
      made<exchange::named_not_warps>("exchange-named-48", "a named barrier for 48 threads", barrier_misuse,
                                      "not a multiple of 32"),
      made<exchange::named_different_counts>("exchange-named-counts",
                                             "warps that expect different numbers at one named barrier",
                                             barrier_misuse, "threads expected here"),
      made<exchange::named_number>("exchange-named-16", "named barrier 16: there are 15", barrier_misuse,
                                   "expected 1 to 15"),

      made<lanes::none>("lanes"),
      made<lanes::no_sync_after_write>("lanes-no-sync-after-write",
                                       "reads its neighbour's word without a warp sync", race, no_barrier),
      made<lanes::no_sync_after_read>("lanes-no-sync-after-read", "writes again while the neighbour may read",
                                      overwritten_in_use, not_released),
      made<lanes::shuffle_for_sync>("lanes-shuffle", "takes a shuffle for a memory fence", race, no_barrier),
      made<lanes::ballot_for_sync>("lanes-ballot", "takes a vote for a memory fence", race, no_barrier),
      made<lanes::half_a_mask>("lanes-half-a-mask", "even and odd lanes meet apart", race, no_barrier),
      made<lanes::sync_in_branch>("lanes-sync-in-branch",
                                  "half of the lanes skip a warp sync and come to the next", race,
                                  no_barrier),
      made<lanes::shuffle_in_branch>("lanes-shuffle-in-branch",
                                     "half of the lanes skip a shuffle and come to a sync", divergent_barrier,
                                     "other lanes of the warp are at the one"),
      made<lanes::lanes_return>("lanes-return"),
      made<lanes::returns_after_write>("lanes-return-after-write",
                                       "lanes write a word, which others read, and return", race, no_barrier),

      made<role::none>("roles"),
      made<role::full_before_write>("roles-full-before-write",
                                    "says that the words are there before it writes them", race, no_barrier),
      made<role::empty_before_read>("roles-empty-before-read", "gives the words back before it reads them",
                                    overwritten_in_use, not_released),
      made<role::no_wait_for_full>("roles-no-wait-for-full", "does not wait for the words", race, no_barrier),
      made<role::no_wait_for_empty>("roles-no-wait-for-empty", "does not wait for the words to be given back",
                                    overwritten_in_use, not_released),
      made<role::full_not_arrived>("roles-full-not-arrived", "never says that the words are there", deadlock,
                                   "at a named barrier"),
      made<role::same_barrier>("roles-same-barrier", "one named barrier for both events", deadlock,
                               "at a named barrier"),

      made<bound::none>("stencil"),
      made<bound::halo_not_zeroed>("stencil-halo-not-zeroed", "no thread writes the first word of the halo",
                                   uninitialised, "a write before it"),
      made<bound::shared_write_too_far>("stencil-shared-write-too-far",
                                        "writes one word past the end of the shared array", outside_memory,
                                        "shared memory, 0 bytes past its end"),
      made<bound::shared_read_too_far>("stencil-shared-read-too-far",
                                       "reads one word past the end of the shared array", outside_memory,
                                       "shared memory, 0 bytes past its end"),
      made<bound::read_too_far>("stencil-read-too-far", "reads one number past the end of the input",
                                outside_memory, "global memory, 0 bytes past"),
      made<bound::read_before_first>("stencil-read-before-first", "reads the number before the first",
                                     outside_memory, "global memory, 4 bytes before"),
      made<bound::write_too_far>("stencil-write-too-far", "writes one number past the end of the output",
                                 outside_memory, "global memory, 0 bytes past"),
      made<bound::write_far_away>("stencil-write-far-away", "writes far outside the output", outside_memory,
                                  ""),
      made<bound::result_in_place>("stencil-in-place", "writes its result where neighbours still read",
                                   overwritten_in_use, not_released),

      made<tree::none>("sum"),
      made<tree::no_barrier_between_steps>("sum-no-barrier", "no barrier between the steps", race,
                                           no_barrier),
      made<tree::last_warp_without_sync>("sum-last-warp", "no barrier once a single warp is left", race,
                                         no_barrier),
      made<tree::no_barrier_before_result>("sum-no-barrier-before-result",
                                           "reads the sum before the last step's barrier", race, no_barrier),
      made<tree::no_barrier_after_result>("sum-no-barrier-after-result",
                                          "the next sum begins while this one is read", overwritten_in_use,
                                          not_released),

      made<count::none>("histogram"),
      made<count::not_atomic>("histogram-not-atomic", "counts with a plain addition", race,
                              "an atomic operation, or one thread for this line"),
      made<count::not_zeroed>("histogram-not-zeroed", "counts in memory that was never zeroed", uninitialised,
                              "a write before it"),
      made<count::no_barrier_after_zeroing>("histogram-no-barrier-after-zeroing", "counts while others zero",
                                            race, no_barrier),
      made<count::no_barrier_after_counting>("histogram-no-barrier-after-counting",
                                             "reads counts while others count", race, no_barrier),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::mutants
