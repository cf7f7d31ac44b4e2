// SPDX-License-Identifier: Apache-2.0
// Channels under every interleaving of their agents, over barriers that distinguish only parities.
//
// Not explored, because the number of states grows exponentially with the agents: five events with two
// parties each (ten agents; the model takes eight), three or four events of two parties beyond four stages,
// and five events of one or two parties beyond six stages except in single runs. More stages only lengthen
// the way until one owner catches up with another, which is explored with fewer agents.
#include <gtest/gtest.h>

#include "tests/core/channel_cases.hpp"

using namespace antiphase::model;

namespace {

template <int Most> using up_to = std::make_integer_sequence<int, Most>;

const report check = [](const std::string& what, verdict expected, const outcome& result) {
  EXPECT_EQ(result.found, expected) << what << "; steps made by each agent:" << result.steps;
};

TEST(channel_model, two_events) {
  for_stages(up_to<8>{}, []<int N>() {
    expect_chain_fine<N, 1, 1>(check, effort::full);
    expect_chain_fine<N, 1, 2>(check, effort::full);
    expect_chain_fine<N, 2, 1>(check, effort::full);
    expect_chain_fine<N, 2, 2>(check, effort::full);
  });
}

TEST(channel_model, three_events) {
  for_stages(up_to<8>{}, []<int N>() {
    expect_chain_fine<N, 1, 1, 1>(check, effort::full);
    expect_chain_fine<N, 1, 2, 1>(check, effort::full);
    expect_chain_fine<N, 1, 1, 2>(check, effort::full);
  });
  for_stages(up_to<4>{}, []<int N>() { expect_chain_fine<N, 2, 2, 2>(check, effort::full); });
}

TEST(channel_model, four_events) {
  for_stages(up_to<8>{}, []<int N>() { expect_chain_fine<N, 1, 1, 1, 1>(check, effort::full); });
  for_stages(up_to<5>{}, []<int N>() { expect_chain_fine<N, 1, 2, 1, 2>(check, effort::full); });
  for_stages(up_to<4>{}, []<int N>() { expect_chain_fine<N, 2, 2, 2, 2>(check, effort::selection); });
}

TEST(channel_model, five_events) {
  for_stages(up_to<6>{}, []<int N>() {
    expect_chain_fine<N, 1, 1, 1, 1, 1>(check, effort::full);
    expect_chain_fine<N, 1, 1, 1, 1, 2>(check, effort::selection);
  });
  for_stages(up_to<4>{}, []<int N>() { expect_chain_fine<N, 1, 2, 1, 2, 1>(check, effort::selection); });
  for_stages(up_to<8>{}, []<int N>() {
    for (int steps : {0, 1, N, 2 * N, 3 * N + 1})
      expect_chain<N, 1, 1, 1, 1, 2>(check, verdict::fine, {.runs = {steps}});
  });
}

TEST(channel_model, a_chain_with_a_second_way_to_the_last_event) {
  for_stages(up_to<8>{}, []<int N>() {
    for (int steps : {0, 1, N - 1, N, 2 * N + 1})
      check("scan with " + std::to_string(N) + " stages, steps " + std::to_string(steps), verdict::fine,
            explore_scan_chain<N>(steps));
  });
}

// One slot whose owners take turns in a fixed order. No priming arrival: the first turn passes because the
// first N acquires do not wait.
TEST(channel_model, ordered_turns) {
  for (int rounds : {0, 1, 2, 5, 8}) {
    const chain_plan plan{.runs = {rounds, rounds / 2}};
    expect_chain<1, 1, 1>(check, verdict::fine, plan);
    expect_chain<1, 2, 2>(check, verdict::fine, plan);
    expect_chain<1, 1, 1, 1>(check, verdict::fine, plan);
    expect_chain<1, 2, 2, 2>(check, verdict::fine, plan);
    expect_chain<1, 1, 1, 1, 1>(check, verdict::fine, plan);
    expect_chain<1, 2, 2, 2, 2>(check, verdict::fine, plan);
    expect_chain<1, 1, 1, 1, 1, 1>(check, verdict::fine, plan);
  }
}

TEST(channel_model, finds_slots_held_too_long_and_slots_taken_unasked) {
  for_stages(up_to<8>{}, []<int N>() {
    expect_chain_faults<N, 1, 1>(check);
    expect_chain_faults<N, 1, 2>(check);
    expect_chain_faults<N, 1, 1, 1>(check);
  });
}

// At most `limit` loads in flight: the loader has a second cursor, for the loads that have landed.
template <int N> outcome explore_limited_loads(int steps, int limit) {
  constexpr int loaded = 0;
  world w;
  recorded_channel<N, 1, 1> recorded(w);
  auto& ring = recorded.ring;
  agent loader = w.add_agent(), copies = w.add_agent(), computer = w.add_agent();
  antiphase::cursor<N> at, landed;
  for (int i = 0; i < steps; ++i, ++at) {
    if (i >= limit) ring.wait(landed++, loaded, loader);
    ring.acquire(at, loaded, loader);
    const int turn = 2 * (i / N);
    const int copy = loader.begin(at.index, turn), flying = loader.begin(N + i % limit, i);
    copies.follow(loader, loader.steps());
    copies.end(copy), copies.end(flying);
    ring.commit(at, loaded, copies);
    ring.wait(at, loaded, computer);
    computer.end(computer.begin(at.index, turn + 1));
    ring.release(at, computer);
  }
  ring.finish(at, loader);
  return w.explore();
}

TEST(channel_model, loads_in_flight_are_limited_by_a_second_cursor) {
  for_stages(up_to<6>{}, []<int N>() {
    for (int limit = 1; limit <= N; ++limit)
      for (int steps : {0, 1, N, 3 * N + 1}) {
        const outcome result = explore_limited_loads<N>(steps, limit);
        check("stages " + std::to_string(N) + ", limit " + std::to_string(limit), verdict::fine, result);
      }
  });
}

}  // namespace
