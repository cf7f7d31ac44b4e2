// Broken rings are caught on the CPU executor: by wrong numbers or a report, and under which landing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>

#include "tests/channel/mutant_kernels.cuh"

namespace antiphase::test {
namespace {

enum class outcome { right, wrong_numbers, reported, caught };  // caught: wrong numbers or reported, depending on the seed

struct mutant {
  std::string name;
  kernel what;
  outcome early, late;    // under either landing of copies, for every seed
  std::string says = "";  // a part of every report
};
void PrintTo(const mutant& m, std::ostream* out) { *out << m.name; }

template <int N, broken B> mutant async(const char* name, outcome early, outcome late) {
  return {"async_" + std::to_string(N) + "_" + name, kernel_of<copies_through<N, broken_async_copies<N, B>>>("mutant"), early, late};
}
template <int N, broken B> mutant staged(const char* name, outcome both) {
  return {"staged_" + std::to_string(N) + "_" + name, kernel_of<registers_through<N, broken_staging<B>::template ring>>("mutant"), both,
          both};
}
template <int N, slip S> mutant bulk(const char* name, outcome early, outcome late, std::string says = "") {
  return {"bulk_" + std::to_string(N) + "_" + name, kernel_of<bulk_ring<N, S>>("mutant"), early, late, std::move(says)};
}

template <int N> void add_rings(std::vector<mutant>& all) {
  using enum outcome;
  all.push_back(async<N, broken::nothing>("nothing", right, right));
  all.push_back(async<N, broken::no_wait>("no_wait", right, wrong_numbers));  // a copy that has landed needs no wait
  all.push_back(async<N, broken::one_group_short>("one_group_short", right, wrong_numbers));
  all.push_back(async<N, broken::no_barrier>("no_barrier", wrong_numbers, wrong_numbers));
  all.push_back(async<N, broken::no_release>("no_release", N == 1 ? wrong_numbers : right, N == 1 ? wrong_numbers : right));
  all.push_back(staged<N, broken::nothing>("nothing", right));
  all.push_back(staged<N, broken::no_barrier>("no_barrier", wrong_numbers));
  all.push_back(staged<N, broken::no_release>("no_release", N == 1 ? wrong_numbers : right));
}
template <int N> void add_bulk_rings(std::vector<mutant>& all) {
  using enum outcome;
  all.push_back(bulk<N, slip::nothing>("nothing", right, right));
  all.push_back(bulk<N, slip::loader_takes_without_acquire>("loader_takes_without_acquire", reported, reported));
  all.push_back(bulk<N, slip::loader_starts_in_the_other_round>(
      "loader_starts_in_the_other_round", reported, reported,
      "thread 0 waiting for parity 0 of an mbarrier with 2 of 2 arrivals and 0 bytes missing"));
  all.push_back(bulk<N, slip::computer_does_not_wait>("computer_does_not_wait", caught, reported));
  all.push_back(bulk<N, slip::computer_starts_in_the_other_round>("computer_starts_in_the_other_round", reported, reported));
  all.push_back(bulk<N, slip::release_before_compute>("release_before_compute", wrong_numbers, right));  // only a landed copy overwrites
  all.push_back(bulk<N, slip::release_without_the_warp>("release_without_the_warp", reported, right, "cannot go on"));
  all.push_back(bulk<N, slip::release_forgotten>("release_forgotten", reported, reported,
                                                 "thread 0 waiting for parity 0 of an mbarrier with 2 of 2 arrivals and 0 bytes missing"));
  all.push_back(
      bulk<N, slip::commit_before_acquire>("commit_before_acquire", right, reported, "one arrival more than the mbarrier's 1 parties"));
  all.push_back(bulk<N, slip::bytes_too_few>("bytes_too_few", reported, reported, "0 of 1 arrivals and -16 bytes missing"));
  all.push_back(bulk<N, slip::bytes_too_many>("bytes_too_many", reported, reported, "0 of 1 arrivals and 16 bytes missing"));
}
std::vector<mutant> mutants() {
  std::vector<mutant> all;
  add_rings<1>(all);
  add_rings<2>(all);
  add_rings<3>(all);
  add_rings<4>(all);
  add_bulk_rings<1>(all);
  add_bulk_rings<2>(all);
  add_bulk_rings<3>(all);
  return all;
}

class mutants_of_rings : public testing::TestWithParam<mutant> {
 protected:
  static outcome run(const mutant& m, landing copies, unsigned seed) {
    const context where(make_cpu_executor({.seed = seed, .copies = copies, .workers = 1}));
    std::vector<std::uint32_t> input(all_units * ring_threads);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = ring_input(static_cast<int>(i));
    const device_array<std::uint32_t> in(where, std::span<const std::uint32_t>(input));
    device_array<std::uint32_t> out(where, ring_threads);
    const ring_params params{in.data(), out.data()};
    try {
      where.runs_on().launch(m.what, {}, &params, nullptr);
    } catch (const device_error& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(m.says));
      return outcome::reported;
    }
    const auto result = out.to_host();
    for (int t = 0; t < ring_threads; ++t)
      if (result[static_cast<std::size_t>(t)] != expected_of_ring(t, all_units)) return outcome::wrong_numbers;
    return outcome::right;
  }
};
TEST_P(mutants_of_rings, are_caught) {
  const mutant& m = GetParam();
  for (const landing copies : {landing::early, landing::late})
    for (unsigned seed = 1; seed <= 10; ++seed) {
      const outcome expected = copies == landing::early ? m.early : m.late, seen = run(m, copies, seed);
      SCOPED_TRACE("seed " + std::to_string(seed) + (copies == landing::early ? ", early" : ", late"));
      if (expected == outcome::caught)
        EXPECT_NE(seen, outcome::right);
      else
        EXPECT_EQ(seen, expected);
    }
}
std::string name_of(const testing::TestParamInfo<mutant>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(all, mutants_of_rings, testing::ValuesIn(mutants()), name_of);

}  // namespace
}  // namespace antiphase::test
