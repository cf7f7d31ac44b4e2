// SPDX-License-Identifier: Apache-2.0
// Properties of a channel: cases for the core's tests and, in a small selection, for its mutants.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/chain.hpp"

namespace antiphase::model {

// Called for every explored case: description, expected verdict, outcome.
using report = std::function<void(const std::string&, verdict expected, const outcome&)>;

enum class effort { selection, full };

template <class F, int... Stages> void for_stages(std::integer_sequence<int, Stages...>, F&& f) {
  (f.template operator()<Stages + 1>(), ...);
}

// Zero steps, one, one round minus one, one, two and three rounds, and a few more.
inline std::set<int> step_counts(int stages, effort much) {
  if (much == effort::selection) return {0, 1, 3 * stages + 1};
  return {0, 1, stages - 1, stages, stages + 1, 2 * stages + 1, 3 * stages, 3 * stages + 2};
}

template <int N, int... Parties> std::string named(const chain_plan& plan) {
  std::string text = "stages " + std::to_string(N) + ", parties";
  for (int p : {Parties...}) text += " " + std::to_string(p);
  text += ", steps";
  for (int steps : plan.runs) text += " " + std::to_string(steps);
  return text + ", late " + std::to_string(plan.late);
}

template <int N, int... Parties>
void expect_chain(const report& tell, verdict expected, const chain_plan& plan) {
  tell(named<N, Parties...>(plan), expected, explore_chain<N, Parties...>(plan));
}

// One chain: immediate and late release, one run and two.
template <int N, int... Parties> void expect_chain_fine(const report& tell, effort much) {
  for (int steps : step_counts(N, much)) {
    expect_chain<N, Parties...>(tell, verdict::fine, {.runs = {steps}});
    for (int again : {0, 1, N + 1}) {
      expect_chain<N, Parties...>(tell, verdict::fine, {.runs = {steps, again}});
      expect_chain<N, Parties...>(tell, verdict::fine,
                                  {.runs = {steps, again}, .finish = tail::after_each_run});
    }
  }
  for (int late = 1; late < N; ++late) {
    expect_chain<N, Parties...>(tell, verdict::fine, {.runs = {2 * N + 1, N}, .late = late});
    if (much == effort::full)
      expect_chain<N, Parties...>(tell, verdict::fine, {.runs = {3 * N}, .late = late});
  }
}

// A late release of all slots starves the first owner; an owner without acquire overwrites. Both must be
// found.
template <int N, int... Parties> void expect_chain_faults(const report& tell) {
  for (int steps : {N + 1, 2 * N + 1}) {
    expect_chain<N, Parties...>(tell, verdict::deadlock, {.runs = {steps}, .late = N});
    expect_chain<N, Parties...>(tell, verdict::misuse, {.runs = {steps}, .broken = flaw::no_acquire});
  }
}

}  // namespace antiphase::model
