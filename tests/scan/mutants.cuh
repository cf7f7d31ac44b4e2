// SPDX-License-Identifier: Apache-2.0
// Scan kernels with one fault each, which the tests must find.
#include <antiphase/scan/detail/device_wide.cuh>
#include "library/scan/wave/one_wave.cuh"

#include "tests/scan/kernels.hpp"
#include "tests/scan/types.hpp"

namespace antiphase::scan_test {
inline namespace AP_TARGET {

using scans::policy;

enum class broken {
  nothing,  // the control: no fault
  no_barrier_after_reading,
  no_barrier_after_writing,
  no_barrier_in_double_buffer,
  result_from_the_other_buffer,
  threads_below_the_stride_do_not_copy,
  one_step_too_few,
  operands_exchanged,
  last_element_missing_in_the_total,
};

// Both Kogge-Stone scans in one kernel, with a fault.
template <class T, class Op, policy P, broken Fault> struct faulty_kogge_stone {
  static constexpr bool one_buffer =
      Fault == broken::no_barrier_after_reading || Fault == broken::no_barrier_after_writing;
  struct storage {
    scans::shared_values<T, P.threads> value[2];
  };

  AP_DEV static T prefixes(storage& s, scans::values<T, 1>& chunk, int count, Op op) {
    const int thread = thread_index();
    cursor<2> from, to{one_buffer ? 0 : 1, 0};
    s.value[from.index][thread] = chunk.elements[0];
    block_barrier();
    for (int by = 1; by < (Fault == broken::one_step_too_few ? P.threads / 2 : P.threads); by *= 2) {
      T mine = s.value[from.index][thread];
      if (thread >= by && thread < count) {
        const T other = s.value[from.index][thread - by];
        mine = Fault == broken::operands_exchanged ? op(mine, other) : op(other, mine);
      }
      if constexpr (one_buffer && Fault != broken::no_barrier_after_reading) block_barrier();
      if (Fault != broken::threads_below_the_stride_do_not_copy || thread >= by)
        s.value[to.index][thread] = mine;
      if constexpr (!one_buffer) ++from, ++to;
      if constexpr (Fault != broken::no_barrier_after_writing && Fault != broken::no_barrier_in_double_buffer)
        block_barrier();
    }
    block_barrier();
    const cursor<2> result = Fault == broken::result_from_the_other_buffer ? to : from;
    if (thread > 0) chunk.elements[0] = s.value[result.index][thread - 1];
    const int last = count - 1 - (Fault == broken::last_element_missing_in_the_total && count > 1);
    return s.value[result.index][last];
  }
};

// A tile whose end is off by one element.
template <class Kernel, int Off> struct shifted_end {
  using params = typename Kernel::params;
  using storage = typename Kernel::storage;
  static constexpr int threads = Kernel::threads;
  AP_DEV void operator()(const params& p) const {
    params wrong = p;
    wrong.over.length += Off;
    Kernel{}(wrong);
  }
};

constexpr policy mutant_policy{.method = scans::method::double_buffer, .threads = 96};
constexpr const char* whole = "none";
constexpr test::found_by by_numbers{.early = test::outcome::sometimes_wrong,
                                    .late = test::outcome::sometimes_wrong};
template <class Scan> pass_mutant made(const char* fault, kernel scan) {
  const bool is_whole = fault == whole;
  return {fault,
          is_whole ? nullptr : fault,
          is_whole ? test::found_by{} : by_numbers,
          scan,
          {kernel_of<scans::tile_totals<brackets, concatenated, mutant_policy, Scan>>("totals"),
           mutant_policy.threads}};
}
template <broken Fault> pass_mutant with_fault(const char* fault) {
  using scan = faulty_kogge_stone<brackets, concatenated, mutant_policy, Fault>;
  return made<scan>(fault, kernel_of<scans::tile_scan<brackets, concatenated, mutant_policy, scan>>(fault));
}
template <int Off> pass_mutant with_shifted_end(const char* fault) {
  using scan = faulty_kogge_stone<brackets, concatenated, mutant_policy, broken::nothing>;
  return made<scan>(
      fault,
      kernel_of<shifted_end<scans::tile_scan<brackets, concatenated, mutant_policy, scan>, Off>>(fault));
}

std::vector<pass_mutant> mutants() {
  return {with_fault<broken::nothing>(whole),
          with_fault<broken::no_barrier_after_reading>("one buffer, no barrier between reading and writing"),
          with_fault<broken::no_barrier_after_writing>("one buffer, no barrier after writing"),
          with_fault<broken::no_barrier_in_double_buffer>("two buffers, no barrier"),
          with_fault<broken::result_from_the_other_buffer>("the result comes from the other buffer"),
          with_fault<broken::threads_below_the_stride_do_not_copy>("threads below the stride do not copy"),
          with_fault<broken::one_step_too_few>("one step too few"),
          with_fault<broken::operands_exchanged>("operands exchanged"),
          with_fault<broken::last_element_missing_in_the_total>("the total lacks the last element"),
          with_shifted_end<1>("the last tile ends an element late"),
          with_shifted_end<-1>("the last tile ends an element early")};
}

// A launch in which no tile counts as the last: it never advances the launch count, so the next launch takes
// its totals for new ones.
template <class Kernel> struct never_counted {
  using params = typename Kernel::params;
  using storage = typename Kernel::storage;
  static constexpr int threads = Kernel::threads;
  static constexpr residency blocks = Kernel::blocks;
  static constexpr bool overlaps_previous = Kernel::overlaps_previous;
  AP_DEV void operator()(const params& p) const {
    params wrong = p;
    ++wrong.tiles;
    Kernel{}(wrong);
  }
};

std::vector<wave_mutant> wave_mutants() {
  using scan = scans::one_wave<std::uint32_t, scans::sum, scans::wave_choices[0].policy>;
  constexpr const char* fault = "the launch is never counted";
  return {{whole, nullptr, {}, kernel_of<scan>("scan.one-wave"), {scan::tile}},
          {fault, fault, by_numbers, kernel_of<never_counted<scan>>("never counted"), {scan::tile}}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::scan_test
