// SPDX-License-Identifier: Apache-2.0
// Faults of blocks and launches: flags, blocks that meet, tickets, streams, memory.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>

#include "tests/checker/mutants/on_numbers.cuh"

namespace antiphase::mutants {
inline namespace AP_TARGET {

// flags
// -----------------------------------------------------------------------------------------------------------
// Block 0 passes its numbers to block 1 through global memory and a flag.
enum class handing {
  none,
  relaxed_with_fences,  // as correct as release and acquire
  release_of_block_scope,
  acquire_of_block_scope,
  flag_before_value,
  relaxed_flag,
  relaxed_poll,
  no_fence_before_flag,
  no_fence_after_flag,
  fence_of_block_scope,
  plain_flag,
  no_barrier_before_flag,
  no_barrier_after_flag,
  nobody_sets_flag,
  each_waits_for_the_other,
};
template <handing F> struct handing_over : on_numbers {
  static constexpr residency blocks = residency::together;
  static constexpr bool fences = F == handing::relaxed_with_fences || F == handing::no_fence_before_flag ||
                                 F == handing::no_fence_after_flag || F == handing::fence_of_block_scope;
  AP_DEV static void set(std::uint32_t* flag) {
    if constexpr (fences) {
      if constexpr (F != handing::no_fence_before_flag)
        fence<F == handing::fence_of_block_scope ? scope::block : scope::device>();
      store_relaxed(flag, 1);
    } else if constexpr (F == handing::relaxed_flag) {
      store_relaxed(flag, 1);
    } else if constexpr (F == handing::plain_flag) {
      *flag = 1;
    } else {
      store_release<F == handing::release_of_block_scope ? scope::block : scope::device>(flag, 1);
    }
  }
  AP_DEV static void wait(const std::uint32_t* flag) {
    if constexpr (fences || F == handing::relaxed_poll) {
      poll([&] { return load_relaxed(flag) != 0; });
      if constexpr (fences && F != handing::no_fence_after_flag) device_fence();
    } else {
      poll([&] {
        return load_acquire < F == handing::acquire_of_block_scope ? scope::block
                                                                   : scope::device > (flag) != 0;
      });
    }
  }
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index();
    if (block_index().x == 0) {
      if (F == handing::each_waits_for_the_other && t == 0) wait(p.flag + 1);
      if (F == handing::flag_before_value && t == 0) set(p.flag);
      p.out[t] = mixed(p.in[t], 0);
      if constexpr (F != handing::no_barrier_before_flag) block_barrier();
      if (t == 0 && F != handing::nobody_sets_flag && F != handing::flag_before_value) set(p.flag);
    } else {
      if (t == 0) wait(p.flag);
      if constexpr (F != handing::no_barrier_after_flag) block_barrier();
      const std::uint32_t taken = p.out[threads - 1 - t];
      store(p, threads + t, mixed(taken, 1));
      if (F == handing::each_waits_for_the_other && t == 0) set(p.flag + 1);
    }
  }
};
template <handing F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<handing_over<F>>(name),
          .policy = {.family = "flags between blocks", .blocks = 2, .expected = [](int i) {
                       return i < threads ? mixed(input(i), 0)
                                          : mixed(mixed(input(2 * threads - 1 - i), 0), 1);
                     }}};
}

// All blocks meet twice: before they read what others have written, and before they write it again.
enum class gathering { none, own_loop, one_too_few, one_too_many, own_loop_one_too_many, not_together };
template <gathering F> struct all_blocks_meet : on_numbers {
  static constexpr residency blocks = F == gathering::not_together ? residency::any : residency::together;
  static constexpr int all = 3;
  AP_DEV static void wait_for(const std::uint32_t* arrived, std::uint32_t count) {
    if constexpr (F == gathering::own_loop || F == gathering::own_loop_one_too_many) {
      while (load_acquire(arrived) < count) {
      }
    } else {
      poll([&] { return load_acquire(arrived) >= count; });
    }
  }
  AP_DEV static void meet(const params& p, std::uint32_t time) {
    constexpr bool more = F == gathering::one_too_many || F == gathering::own_loop_one_too_many;
    block_barrier();
    if (thread_index() == 0) {
      device_fence();
      atomic_add(p.flag, 1);
      wait_for(p.flag, time * all - (F == gathering::one_too_few) + more);
    }
    block_barrier();
  }
  AP_DEV void operator()(const params& p) const {
    const int at = place();
    store(p, at, mixed(load(p, at), 3));
    meet(p, 1);
    const std::uint32_t other = at < p.size ? p.out[p.size - 1 - at] : 0;
    meet(p, 2);
    store(p, at, mixed(other, 4));
  }
};
template <gathering F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<all_blocks_meet<F>>(name),
          .policy = {.family = "blocks that meet", .blocks = all_blocks_meet<F>::all, .expected = [](int i) {
                       return mixed(mixed(input(size_of(all_blocks_meet<F>::all) - 1 - i), 3), 4);
                     }}};
}

// Every block writes a sum and takes a ticket; the one with the last ticket adds them up.
enum class ticket { none, no_fence_before, no_fence_after, of_block_scope, not_atomic, no_barrier_before };
template <ticket F> struct last_block : on_numbers {
  struct storage {
    std::uint32_t is_last;
  };
  static constexpr int all = 4;
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    constexpr scope reach = F == ticket::of_block_scope ? scope::block : scope::device;
    const int t = thread_index();
    store(p, place(), mixed(load(p, place()), 2));
    if constexpr (F != ticket::no_barrier_before) block_barrier();
    if (t == 0) {
      if constexpr (F != ticket::no_fence_before) fence<reach>();
      std::uint32_t mine = 0;
      if constexpr (F == ticket::not_atomic)
        mine = (*p.flag)++;
      else
        mine = atomic_add<reach>(p.flag, 1);
      if constexpr (F != ticket::no_fence_after) fence<reach>();
      s.is_last = mine == all - 1;
    }
    block_barrier();
    if (s.is_last == 0 || t > 0) return;
    std::uint32_t sum = 0;
    for (int i = 1; i < p.size; ++i) sum += p.out[i];
    p.out[0] = sum;
  }
};
template <ticket F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<last_block<F>>(name),
          .policy = {.family = "last block", .blocks = last_block<F>::all, .expected = [](int i) {
                       if (i > 0) return mixed(input(i), 2);
                       std::uint32_t sum = 0;
                       for (int j = 1; j < size_of(last_block<F>::all); ++j) sum += mixed(input(j), 2);
                       return sum;
                     }}};
}

// launches
// -----------------------------------------------------------------------------------------------------------
struct adding_one : on_numbers {
  AP_DEV void operator()(const params& p) const {
    if (place() < p.size) p.out[place()] = p.in[place()] + 1;
  }
};
mutant launched(program how, const char* name, const char* broken = nullptr, finding_kind by = {},
                const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<adding_one>(name),
          .policy = {.family = "launches and memory", .program = how, .blocks = 2, .expected = [](int i) {
                       return input(i) + 1;
                     }}};
}

std::vector<mutant> blocks_and_launches() {
  using enum finding_kind;
  constexpr const char* between_blocks = "a device-scope release and acquire";
  constexpr const char* by_flag = "a release by the atomic operation";
  return {
      made<handing::none>("flag"),
      made<handing::relaxed_with_fences>("flag-with-fences"),
      made<handing::release_of_block_scope>("flag-release-of-block-scope",
                                            "a release at block scope, for another block", race,
                                            "block scope does not reach another block"),
      made<handing::acquire_of_block_scope>("flag-acquire-of-block-scope",
                                            "an acquire at block scope, from another block", race,
                                            "block scope does not reach another block"),
      made<handing::flag_before_value>("flag-before-value", "sets the flag before it writes the values", race,
                                       between_blocks),
      made<handing::relaxed_flag>("flag-relaxed", "sets the flag without a release", race, by_flag),
      made<handing::relaxed_poll>("flag-relaxed-poll", "polls without an acquire", race, by_flag),
      made<handing::no_fence_before_flag>("flag-no-fence-before", "a relaxed flag with no fence before it",
                                          race, by_flag),
      made<handing::no_fence_after_flag>("flag-no-fence-after", "a relaxed poll with no fence after it", race,
                                         by_flag),
      made<handing::fence_of_block_scope>("flag-fence-of-block-scope",
                                          "the fence before the flag has block scope", race, by_flag),
      made<handing::plain_flag>("flag-plain", "sets the flag with a plain store", race, between_blocks),
      made<handing::no_barrier_before_flag>("flag-no-barrier-before",
                                            "one thread sets the flag while others still write", race,
                                            between_blocks),
      made<handing::no_barrier_after_flag>(
          "flag-no-barrier-after", "one thread polls, the others do not wait for it", race, between_blocks),
      made<handing::nobody_sets_flag>("flag-nobody-sets", "polls for a flag that is never set", deadlock,
                                      "polling"),
      made<handing::each_waits_for_the_other>("flag-circle", "two blocks wait for each other", deadlock,
                                              "polling"),

      made<gathering::none>("gathering"),
      made<gathering::own_loop>("gathering-own-loop"),
      made<gathering::one_too_few>("gathering-one-too-few", "goes on when one block has yet to come", race,
                                   between_blocks),
      made<gathering::one_too_many>("gathering-one-too-many", "waits for more blocks than there are",
                                    deadlock, "polling"),
      made<gathering::own_loop_one_too_many>("gathering-own-loop-one-too-many",
                                             "does so in a loop of its own", deadlock, "polling"),
      made<gathering::not_together>("gathering-not-together",
                                    "does not say that its blocks must be resident together", deadlock,
                                    "polling"),

      made<ticket::none>("last-block"),
      made<ticket::no_fence_before>("last-block-no-fence-before",
                                    "takes a ticket with no fence after its numbers", race, between_blocks),
      made<ticket::no_fence_after>("last-block-no-fence-after",
                                   "no fence between the ticket and the others' numbers", race,
                                   between_blocks),
      made<ticket::of_block_scope>("last-block-block-scope", "fences and tickets of block scope", race, ""),
      made<ticket::not_atomic>("last-block-not-atomic", "counts tickets with a plain addition", race,
                               between_blocks),
      made<ticket::no_barrier_before>("last-block-no-barrier",
                                      "one thread takes the ticket while others still write", race,
                                      between_blocks),

      launched(program::numbers, "launch"),
      launched(program::two_streams, "launch-two-streams"),
      launched(program::two_streams_unordered, "launch-two-streams-unordered",
               "two launches on two streams, no thread waits in between", race,
               "they are on different streams"),
      launched(program::read_back_unordered, "launch-read-back",
               "the host copies the output on another stream, without waiting", race,
               "they are on different streams"),
      launched(program::host_pointer, "launch-host-pointer", "the input lies in memory of the host",
               outside_memory, "host memory"),
      launched(program::input_given_back, "launch-input-given-back", "the input has been deallocated",
               outside_memory, "an allocation that has not been freed"),
      launched(program::output_too_small, "launch-output-too-small",
               "the output has room for one number too few", outside_memory, "global memory, 0 bytes past"),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::mutants
