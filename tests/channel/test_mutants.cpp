// SPDX-License-Identifier: Apache-2.0
// Broken rings are caught on the CPU executor: by wrong numbers or a report, and under which landing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>

#include "tests/channel/mutant_kernels.cuh"
#include "tests/support/mutant_runners.hpp"

namespace antiphase::test {
namespace {

template <int N, broken B> mutant<> async(const char* name, outcome early, outcome late) {
  return {"async_" + std::to_string(N) + "_" + name,
          B == broken::nothing ? nullptr : name,
          {.early = early, .late = late},
          kernel_of<copies_through<N, broken_async_copies<N, B>>>("mutant")};
}
template <int N, broken B> mutant<> staged(const char* name, outcome both) {
  return {"staged_" + std::to_string(N) + "_" + name,
          B == broken::nothing ? nullptr : name,
          {.early = both, .late = both},
          kernel_of<registers_through<N, broken_staging<B>::template ring>>("mutant")};
}
template <int N, slip S> mutant<> bulk(const char* name, outcome early, outcome late, const char* says = "") {
  return {"bulk_" + std::to_string(N) + "_" + name,
          S == slip::nothing ? nullptr : name,
          {.says = says, .early = early, .late = late},
          kernel_of<bulk_ring<N, S>>("mutant")};
}

template <int N> void add_rings(std::vector<mutant<>>& all) {
  using enum outcome;
  all.push_back(async<N, broken::nothing>("nothing", right, right));
  // a copy that has landed needs no wait
  all.push_back(async<N, broken::no_wait>("no_wait", right, wrong_numbers));
  all.push_back(async<N, broken::one_group_short>("one_group_short", right, wrong_numbers));
  all.push_back(async<N, broken::no_barrier>("no_barrier", wrong_numbers, wrong_numbers));
  all.push_back(async<N, broken::no_release>("no_release", N == 1 ? wrong_numbers : right,
                                             N == 1 ? wrong_numbers : right));
  all.push_back(staged<N, broken::nothing>("nothing", right));
  all.push_back(staged<N, broken::no_barrier>("no_barrier", wrong_numbers));
  all.push_back(staged<N, broken::no_release>("no_release", N == 1 ? wrong_numbers : right));
}
template <int N> void add_bulk_rings(std::vector<mutant<>>& all) {
  using enum outcome;
  all.push_back(bulk<N, slip::nothing>("nothing", right, right));
  all.push_back(
      bulk<N, slip::loader_takes_without_acquire>("loader_takes_without_acquire", reported, reported));
  all.push_back(bulk<N, slip::loader_starts_in_the_other_round>(
      "loader_starts_in_the_other_round", reported, reported,
      "thread 0 waiting until slot 0 is released: 0 of 2 arrivals came"));
  all.push_back(bulk<N, slip::computer_does_not_wait>("computer_does_not_wait", caught, reported));
  all.push_back(bulk<N, slip::computer_starts_in_the_other_round>("computer_starts_in_the_other_round",
                                                                  reported, reported));
  // only a landed copy overwrites
  all.push_back(bulk<N, slip::release_before_compute>("release_before_compute", wrong_numbers, right));
  all.push_back(
      bulk<N, slip::release_without_the_warp>("release_without_the_warp", reported, right, "cannot go on"));
  all.push_back(
      bulk<N, slip::release_forgotten>("release_forgotten", reported, reported,
                                       "thread 0 waiting until slot 0 is released: 0 of 2 arrivals came"));
  all.push_back(bulk<N, slip::commit_before_acquire>("commit_before_acquire", right, reported,
                                                     "one arrival more than the mbarrier's 1 parties"));
  all.push_back(bulk<N, slip::bytes_too_few>("bytes_too_few", reported, reported,
                                             "0 of 1 arrivals and -16 bytes missing"));
  all.push_back(bulk<N, slip::bytes_too_many>("bytes_too_many", reported, reported,
                                              "0 of 1 arrivals and 16 bytes missing"));
}
std::vector<mutant<>> mutants() {
  std::vector<mutant<>> all;
  add_rings<1>(all);
  add_rings<2>(all);
  add_rings<3>(all);
  add_rings<4>(all);
  add_bulk_rings<1>(all);
  add_bulk_rings<2>(all);
  add_bulk_rings<3>(all);
  return all;
}

bool is_right(const mutant<>& m, landing copies, unsigned seed) {
  const context where(make_cpu_executor({.seed = seed, .copies = copies, .workers = 1}));
  std::vector<std::uint32_t> input(all_units * ring_threads);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = ring_input(static_cast<int>(i));
  const device_array<std::uint32_t> in(where, std::span<const std::uint32_t>(input));
  device_array<std::uint32_t> out(where, ring_threads);
  const ring_params params{in.data(), out.data()};
  where.runs_on().launch(m.code, {}, &params, nullptr);
  const auto result = out.to_host();
  for (int t = 0; t < ring_threads; ++t)
    if (result[static_cast<std::size_t>(t)] != expected_of_ring(t, all_units)) return false;
  return true;
}

class mutants_of_rings : public testing::TestWithParam<mutant<>> {};
TEST_P(mutants_of_rings, are_caught) {
  expect_outcomes(GetParam(), 10,
                  [&](landing copies, unsigned seed) { return is_right(GetParam(), copies, seed); });
}
INSTANTIATE_TEST_SUITE_P(all, mutants_of_rings, testing::ValuesIn(mutants()), name_of<as_its_test_says>);

}  // namespace
}  // namespace antiphase::test
