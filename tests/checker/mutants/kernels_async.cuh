// SPDX-License-Identifier: Apache-2.0
// Faults of asynchronous copies and of rings over them (sm_80), of products and of scans.
#include <antiphase/device/copy_async.cuh>
#include <string_view>

#include "tests/channel/mutant_kernels.cuh"
#include "tests/checker/mutants/mutant.hpp"
#include "tests/gemm/mutants/products.cuh"
#include "tests/scan/mutants.cuh"

namespace antiphase::mutants {
inline namespace AP_TARGET {

// copies
// -----------------------------------------------------------------------------------------------------------
// Every thread copies four numbers of each of two groups into shared memory; all threads use them. No ring.
enum class copies {
  none,
  no_wait,
  one_group_short,
  no_commit,
  no_barrier,
  barrier_before_wait,
  never_waited,
  misaligned,
  too_many_bytes,
  past_the_end,
  source_overwritten,
  slot_written,
};
template <copies F> struct copying {
  using params = numbers;
  static constexpr int threads = mutants::threads, group = 4 * threads;
  struct storage {
    alignas(16) std::uint32_t word[2][group + 4];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if constexpr (F == copies::source_overwritten)
      for (int i = 4 * t; i < 4 * t + 4; ++i) p.out[i] = p.in[i];
    for (int g = 0; g < 2; ++g) {
      const int at = g * group + 4 * t;
      const int left = F == copies::past_the_end ? 4 : p.size - at;
      const int bytes = F == copies::too_many_bytes ? 20 : left >= 4 ? 16 : left > 0 ? left * 4 : 0;
      const std::uint32_t* from =
          F == copies::source_overwritten && g == 0 ? p.out + at : p.in + (bytes > 0 ? at : 0);
      copy_async<16>(&s.word[g][4 * t + (F == copies::misaligned ? 1 : 0)], from, bytes);
      if constexpr (F != copies::no_commit) copy_async_commit();
    }
    if constexpr (F == copies::source_overwritten) p.out[4 * t] = 0;
    if constexpr (F == copies::slot_written) s.word[1][4 * t + 1] = 0;
    if constexpr (F == copies::barrier_before_wait) block_barrier();
    if constexpr (F == copies::never_waited) {
      for (int i = t; i < p.size; i += threads) p.out[i] = p.in[p.size - 1 - i];
      return;
    }
    if constexpr (F != copies::no_wait) copy_async_wait<F == copies::one_group_short ? 1 : 0>();
    if constexpr (F != copies::no_barrier && F != copies::barrier_before_wait) block_barrier();
    for (int i = t; i < p.size; i += threads) {
      const int from = p.size - 1 - i;
      p.out[i] = s.word[from / group][from % group];
    }
  }
};
template <copies F>
mutant made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = broken,
          .found = {by, says},
          .code = kernel_of<copying<F>>(name),
          .policy = {
              .family = "asynchronous copies", .blocks = 1, .numbers_per_thread = 8, .expected = [](int i) {
                return input(size_of(1, 8) - 1 - i);
              }}};
}

// rings
// -----------------------------------------------------------------------------------------------------------
using test::broken;

// Wrong slot indices in a ring of N.
struct never_advanced {
  AP_FN static constexpr int loaded(int) { return 0; }
  AP_FN static constexpr int used(int) { return 0; }
};
template <int N> struct one_too_few {
  AP_FN static constexpr int loaded(int slot) { return slot % (N - 1); }
  AP_FN static constexpr int used(int slot) { return slot % (N - 1); }
};
template <int N> struct used_too_early {
  AP_FN static constexpr int loaded(int slot) { return slot; }
  AP_FN static constexpr int used(int slot) { return (slot + 1) % N; }
};

template <int N, broken B, class Slot = test::as_it_says>
mutant staged(const char* name, const char* what = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = what,
          .found = {by, says},
          .code = kernel_of<test::registers_through<N, test::broken_staging<B>::template ring, Slot>>(name),
          .policy = {.family = "staged copies", .program = program::ring}};
}
template <int N, broken B, class Slot = test::as_it_says>
mutant copied(const char* name, const char* what = nullptr, finding_kind by = {}, const char* says = "") {
  return {.name = name,
          .broken = what,
          .found = {by, says},
          .code = kernel_of<test::copies_through<N, test::broken_async_copies<N, B>, Slot>>(name),
          .policy = {.family = "ring of asynchronous copies", .program = program::ring}};
}

// products
// -----------------------------------------------------------------------------------------------------------
using gemm_test::fault;
using gemm_test::ring_of;

template <ring_of Ring, int N, fault F> mutant product(const char* name, const char* what = nullptr,
                                                       finding_kind by = {}, const char* says = "",
                                                       program how = program::product) {
  return {.name = name,
          .broken = what,
          .found = {by, says},
          .code = kernel_of<gemm_test::broken_product<Ring, N, F>>(name),
          .policy = {.family = "products", .program = how}};
}

// scans
// -----------------------------------------------------------------------------------------------------------
// A scan of tests/scan/mutants.cuh, selected by the name of its fault.
mutant scan(const char* name, std::string_view fault, const char* what = nullptr, finding_kind by = {},
            const char* says = "") {
  for (const scan_test::pass_mutant& m : scan_test::mutants())
    if (m.name == fault)
      return {.name = name,
              .broken = what,
              .found = {by, says},
              .code = m.code,
              .policy = {.family = "Kogge-Stone scans",
                         .program = program::scan,
                         .totals = m.policy.totals,
                         .tile = m.policy.tile}};
  return {.name = name,
          .broken = "not found in tests/scan/mutants.cuh",
          .policy = {.family = "Kogge-Stone scans"}};
}

std::vector<mutant> asynchronous() {
  using enum finding_kind;
  constexpr const char* no_barrier = "a block barrier, or another barrier that both take part in";
  constexpr const char* not_released = "the slot has not been released";
  constexpr const char* own_wait = "copy_async_wait that leaves fewer groups in flight";
  constexpr const char* wait_and_barrier =
      "copy_async_wait by the thread that copies, and a barrier after it";
  constexpr ring_of with_copies = ring_of::copies, with_registers = ring_of::registers,
                    textbook = ring_of::textbook;
  return {
      made<copies::none>("copies"),
      made<copies::no_wait>("copies-no-wait", "no thread waits for the copies", read_before_landing,
                            wait_and_barrier),
      made<copies::one_group_short>("copies-one-group-short", "waits for one group too few",
                                    read_before_landing, wait_and_barrier),
      made<copies::no_commit>("copies-no-commit",
                              "the copies belong to no group: there is nothing to wait for",
                              read_before_landing, wait_and_barrier),
      made<copies::no_barrier>("copies-no-barrier", "every thread waits for its own copies only",
                               read_before_landing, wait_and_barrier),
      made<copies::barrier_before_wait>("copies-barrier-before-wait", "the barrier comes before the wait",
                                        read_before_landing, wait_and_barrier),
      made<copies::never_waited>("copies-never-waited", "the kernel ends with copies in flight",
                                 never_waited_for, "copy_async_wait"),
      made<copies::misaligned>("copies-misaligned", "16 bytes to an address that is a multiple of 4",
                               bad_copy, "not aligned to 16 bytes"),
      made<copies::too_many_bytes>("copies-too-many-bytes", "takes 20 bytes for a copy of 16", bad_copy,
                                   "expected 0 to 16"),
      made<copies::past_the_end>("copies-past-the-end", "copies whole packets past the end of the input",
                                 outside_memory, "bytes past the end"),
      made<copies::source_overwritten>("copies-source-overwritten",
                                       "writes to the source of a copy in flight", overwritten_in_use,
                                       own_wait),
      made<copies::slot_written>("copies-slot-written", "writes where a copy has yet to land",
                                 overwritten_in_use, own_wait),

      staged<3, broken::nothing>("staged"),
      staged<1, broken::nothing>("staged-one-stage"),
      staged<3, broken::no_barrier>("staged-no-wait", "no barrier before a slot is used", race, no_barrier),
      staged<1, broken::no_barrier>("staged-one-stage-no-wait",
                                    "one stage: no barrier before the slot is used", race, no_barrier),
      staged<1, broken::no_release>("staged-no-release",
                                    "one stage: the slot is stored to while others use it",
                                    overwritten_in_use, not_released),
      staged<3, broken::no_commit>("staged-no-commit", "what was loaded is never stored", uninitialised,
                                   "a write before it"),
      staged<3, broken::next_slot>("staged-next-slot", "stores one slot too far along", overwritten_in_use,
                                   not_released),
      staged<2, broken::nothing, one_too_few<2>>("staged-one-stage-too-few", "one slot for two stages",
                                                 overwritten_in_use, not_released),
      staged<3, broken::nothing, never_advanced>("staged-slot-not-advanced", "all steps use the first slot",
                                                 overwritten_in_use, not_released),
      staged<3, broken::nothing, used_too_early<3>>(
          "staged-used-too-early", "uses the next slot instead of this one", wrong_result, ""),

      copied<3, broken::nothing>("async"),
      copied<1, broken::nothing>("async-one-stage"),
      copied<3, broken::no_wait>("async-no-wait", "no wait for the copies; the barrier is there",
                                 read_before_landing, wait_and_barrier),
      copied<3, broken::one_group_short>("async-one-group-short", "leaves one group too many in flight",
                                         read_before_landing, wait_and_barrier),
      copied<1, broken::one_group_short>("async-one-stage-group-short", "one stage: leaves a group in flight",
                                         read_before_landing, wait_and_barrier),
      copied<3, broken::no_commit>("async-no-commit", "copies belong to no group", read_before_landing,
                                   wait_and_barrier),
      copied<3, broken::no_barrier>("async-no-barrier", "waits for its own copies only", read_before_landing,
                                    wait_and_barrier),
      copied<3, broken::wait_after_barrier>("async-wait-after-barrier", "the barrier comes before the wait",
                                            read_before_landing, wait_and_barrier),
      copied<1, broken::no_release>("async-no-release", "one stage: copies into the slot that others use",
                                    overwritten_in_use, not_released),
      copied<3, broken::nothing, one_too_few<3>>("async-one-stage-too-few", "two slots for three stages",
                                                 overwritten_in_use, ""),
      copied<3, broken::nothing, never_advanced>("async-slot-not-advanced", "all steps use the first slot",
                                                 overwritten_in_use, ""),
      copied<3, broken::nothing, used_too_early<3>>("async-used-too-early",
                                                    "uses the next slot instead of this one",
                                                    read_before_landing, wait_and_barrier),

      product<with_copies, 3, fault::nothing>("product"),
      product<with_registers, 2, fault::nothing>("product-registers"),
      product<textbook, 2, fault::nothing>("product-textbook"),
      product<textbook, 2, fault::no_barrier_after_compute>("product-textbook-two-tiles", nullptr, {}, "",
                                                            // the missing barrier orders nothing here
                                                            program::product_of_two_tiles),
      product<textbook, 2, fault::no_barrier_after_compute>("product-textbook-no-second-barrier",
                                                            "no barrier after the computation",
                                                            overwritten_in_use, not_released),
      product<textbook, 2, fault::as_printed>("product-as-printed",
                                              "the texts' asynchronous kernel: no second barrier",
                                              overwritten_in_use, not_released),
      product<textbook, 2, fault::as_printed>(
          "product-as-printed-two-tiles", "the same where K is two tiles, and the numbers come out right",
          overwritten_in_use, not_released, program::product_of_two_tiles),
      product<with_copies, 2, fault::no_wait>("product-no-wait", "no wait for the copies",
                                              read_before_landing, wait_and_barrier),
      product<with_copies, 3, fault::one_group_short>(
          "product-one-group-short", "waits for one group too few", read_before_landing, wait_and_barrier),
      product<with_copies, 3, fault::no_barrier>("product-no-barrier", "waits for its own copies only",
                                                 read_before_landing, wait_and_barrier),
      product<with_copies, 3, fault::no_commit>("product-no-commit", "copies belong to no group",
                                                read_before_landing, wait_and_barrier),
      product<with_copies, 1, fault::no_barrier_after_compute>("product-one-stage-no-release",
                                                               "one stage: no barrier after the computation",
                                                               overwritten_in_use, not_released),
      product<with_registers, 2, fault::no_barrier>("product-registers-no-barrier",
                                                    "no barrier before the tiles are used", race, no_barrier),
      product<with_copies, 3, fault::one_step_short>(
          "product-one-step-short", "leaves out the tile of K that is not full", wrong_result, ""),
      product<with_copies, 3, fault::one_element_far>(
          "product-k-too-far", "takes one element too many along K", outside_memory, "bytes past the end"),
      product<with_copies, 3, fault::one_row_far>("product-row-too-far", "reads one row of A too many",
                                                  outside_memory, "bytes past the end"),
      product<with_copies, 3, fault::one_column_far>(
          "product-column-too-far", "reads one column of B too many", outside_memory, "bytes past the end"),
      product<with_copies, 3, fault::one_row_stored_far>(
          "product-row-stored-too-far", "stores one row of C too many", outside_memory, "bytes past the end"),
      product<with_copies, 3, fault::no_zero_fill>("product-no-zero-fill",
                                                   "leaves what is past the end of K as it was",
                                                   uninitialised, "a write before it"),

      scan("scan", "none"),
      scan("scan-no-barrier-after-reading", "one buffer, no barrier between reading and writing",
           "one buffer: writes while others read", overwritten_in_use, not_released),
      scan("scan-no-barrier-after-writing", "one buffer, no barrier after writing",
           "one buffer: reads while others write", race, no_barrier),
      scan("scan-no-barrier", "two buffers, no barrier", "two buffers without the barrier of a step", race,
           no_barrier),
      scan("scan-other-buffer", "the result comes from the other buffer",
           "takes the result from the other buffer", wrong_result, ""),
      scan("scan-threads-do-not-copy", "threads below the stride do not copy",
           "threads below the stride leave the other buffer as it was", uninitialised, "a write before it"),
      scan("scan-one-step-too-few", "one step too few", "one step too few", wrong_result, ""),
      scan("scan-end-too-far", "the last tile ends an element late",
           "the last tile takes an element past the end", outside_memory, "bytes past the end"),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::mutants
