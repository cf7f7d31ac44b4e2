// SPDX-License-Identifier: Apache-2.0
// The unified pipeline: one agent in both roles, then several threads under every interleaving.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/core/pipeline_cases.hpp"

using namespace antiphase::model;

namespace {

template <int Most> using up_to = std::make_integer_sequence<int, Most>;

const report check = [](const std::string& what, verdict expected, const outcome& result) {
  EXPECT_EQ(result.found, expected) << what << "; steps made by each agent:" << result.steps;
};

TEST(pipeline_model, one_agent_moves_every_value_once_and_in_order) {
  for_stages(up_to<8>{}, []<int N>() {
    for (landing when : {landing::at_issue, landing::at_wait})
      for (int first = 0; first <= 2 * N + 3; ++first)
        for (int second = 0; second <= 2 * N + 3; ++second) {
          std::vector<int> expected(static_cast<std::size_t>(first + second + 2));
          std::iota(expected.begin(), expected.end(), 1);
          EXPECT_EQ(moved<N>(when, {first, second, 2}), expected)
              << "stages " << N << ", steps " << first << " and " << second;
        }
  });
}

TEST(pipeline_model, one_agent_over_parity_barriers) {
  for_stages(up_to<8>{}, []<int N>() {
    for (int first = 0; first <= 2 * N + 3; ++first)
      for (int second = 0; second <= 2 * N + 3; ++second)
        expect_threads<over_parity_barriers<N, 1>, 1>(check, verdict::fine, {first, second});
  });
}

TEST(pipeline_model, threads_over_parity_barriers_with_an_elected_loader) {
  for_stages(up_to<8>{}, []<int N>() {
    expect_threads_fine<over_parity_barriers<N, 2>, 2>(check, effort::full);
    expect_threads_fine<over_parity_barriers<N, 3>, 3>(check, effort::full);
  });
}

TEST(pipeline_model, threads_over_staged_registers) {
  for_stages(up_to<8>{}, []<int N>() {
    expect_threads_fine<over_staged_registers<N, 1>, 1>(check, effort::full);
    expect_threads_fine<over_staged_registers<N, 2>, 2>(check, effort::full);
    expect_threads_fine<over_staged_registers<N, 3>, 3>(check, effort::full);
  });
}

// Three threads, each with an agent that lands its copies, up to five stages. More stages make no new case,
// as no copy may stay open for longer than the ring is deep, but ten times the states.
TEST(pipeline_model, threads_over_copy_groups) {
  for_stages(up_to<8>{}, []<int N>() {
    expect_threads_fine<over_copy_groups<N, 1>, 1>(check, effort::full);
    expect_threads_fine<over_copy_groups<N, 2>, 2>(check, effort::full);
  });
  for_stages(up_to<5>{},
             []<int N>() { expect_threads_fine<over_copy_groups<N, 3>, 3>(check, effort::full); });
}

TEST(pipeline_model, finds_a_channel_that_waits_too_little) {
  for_stages(up_to<4>{}, []<int N>() {
    const std::vector<int> runs{2 * N + 1};
    expect_threads<over_staged_registers<N, 2, shortcut::no_barrier>, 2>(check, verdict::misuse, runs);
    expect_threads<over_copy_groups<N, 2, shortcut::no_barrier>, 2>(check, verdict::misuse, runs);
    expect_threads<over_copy_groups<N, 2, shortcut::one_group_short>, 2>(check, verdict::misuse, runs);
  });
}

TEST(pipeline_model, the_cursor_goes_on_where_the_ring_stands) {
  for_stages(up_to<8>{}, []<int N>() {
    moving_groups<N> channel{.landing = landing::at_issue};
    antiphase::pipeline<moving_groups<N>> lane{channel};
    antiphase::cursor<N> expected;
    for (int steps : {0, 1, N, 2 * N + 3}) {
      lane.run(
          steps, [](int, int) {}, [](int, int) {});
      for (int i = 0; i < steps + N - 1; ++i) ++expected;  // the empty units past the end count too
      EXPECT_EQ(lane.position.index, expected.index);
      EXPECT_EQ(lane.position.parity, expected.parity);
    }
  });
}

// The device functions and calls of one run, in order.
struct diary {
  static constexpr int stages = 3;
  std::string text{};
  void acquire(antiphase::cursor<3>) { text += 'a'; }
  void commit(antiphase::cursor<3>) { text += 'c'; }
  void wait(antiphase::cursor<3>) { text += 'w'; }
  void release(antiphase::cursor<3>) { text += "r "; }
};

TEST(pipeline_model, commits_after_the_computation) {
  diary channel;
  antiphase::pipeline lane{channel};
  lane.run(
      3, [&](int i, int) { channel.text += "L" + std::to_string(i); },
      [&](int i, int) { channel.text += "C" + std::to_string(i); });
  EXPECT_EQ(channel.text, "aL0caL1cwaL2C0cr waC1cr waC2cr wr wr ");
}

}  // namespace
