// SPDX-License-Identifier: Apache-2.0
// Properties of a pipeline: cases for the core's tests and, in a small selection, for its mutants.
#pragma once
#include <antiphase/core/pipeline.hpp>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/channel_cases.hpp"
#include "tests/core/threads.hpp"

namespace antiphase::model {

template <class Channel, int Threads>
void expect_threads(const report& tell, verdict expected, const std::vector<int>& runs) {
  std::string what =
      "stages " + std::to_string(Channel::stages) + ", threads " + std::to_string(Threads) + ", steps";
  for (int steps : runs) what += " " + std::to_string(steps);
  tell(what, expected, explore_threads<Channel, Threads>(runs));
}

template <class Channel, int Threads> void expect_threads_fine(const report& tell, effort much) {
  constexpr int N = Channel::stages;
  for (int steps : step_counts(N, much)) {
    expect_threads<Channel, Threads>(tell, verdict::fine, {steps});
    for (int again : {0, 1, N + 1}) expect_threads<Channel, Threads>(tell, verdict::fine, {steps, again});
  }
  expect_threads<Channel, Threads>(tell, verdict::fine, {1, 0, N, 2});
}

// Copies that move values: a channel that counts groups and lands them at issue or at the wait.
enum class landing { at_issue, at_wait };

template <int N> struct moving_groups {
  static constexpr int stages = N;
  struct copy {
    int group, slot, value;
  };
  model::landing landing;
  std::array<int, N> slot{};
  std::vector<copy> open{};
  int closed = 0;

  void load(int to, int value) {
    if (landing == landing::at_issue) slot.at(static_cast<std::size_t>(to)) = value;
    if (landing == landing::at_wait) open.push_back({closed, to, value});
  }
  void acquire(cursor<N>) {}
  void commit(cursor<N>) { ++closed; }
  void wait(cursor<N>) {
    const int landed = closed - (N > 2 ? N - 2 : 0);
    std::erase_if(open, [&](const copy& c) {
      if (c.group >= landed) return false;
      slot.at(static_cast<std::size_t>(c.slot)) = c.value;
      return true;
    });
  }
  void release(cursor<N>) {}
};

// Runs a pipeline over values 1, 2, 3 ... and returns what the computation saw.
template <int N> std::vector<int> moved(landing when, const std::vector<int>& runs) {
  moving_groups<N> channel{.landing = when};
  pipeline<moving_groups<N>> lane{channel};
  std::vector<int> seen;
  int before = 0;
  for (int steps : runs) {
    lane.run(
        steps, [&](int i, int slot) { channel.load(slot, before + i + 1); },
        [&](int, int slot) { seen.push_back(channel.slot.at(static_cast<std::size_t>(slot))); });
    before += steps;
  }
  return seen;
}

}  // namespace antiphase::model
