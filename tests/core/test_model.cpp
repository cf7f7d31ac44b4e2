// SPDX-License-Identifier: Apache-2.0
// The model under the core's tests finds the faults that it exists to find.
#include <gtest/gtest.h>

#include "tests/core/model.hpp"

using namespace antiphase::model;

namespace {

TEST(model, counts_the_interleavings_of_independent_agents) {
  world w;
  const int barrier = w.add_barrier(1);
  for (int steps : {3, 4}) {
    agent me = w.add_agent();
    for (int i = 0; i < steps; ++i) me.arrive(barrier);
  }
  const outcome result = w.explore();
  EXPECT_EQ(result.found, verdict::fine);
  EXPECT_EQ(result.states, 4u * 5u);
}

TEST(model, finds_two_agents_that_wait_for_each_other) {
  world w;
  const int left = w.add_barrier(1), right = w.add_barrier(1);
  agent one = w.add_agent(), two = w.add_agent();
  one.wait(left, 0), one.arrive(right);
  two.wait(right, 0), two.arrive(left);
  EXPECT_EQ(w.explore().found, verdict::deadlock);
}

TEST(model, passes_a_wait_for_the_parity_before_the_first_phase) {
  world w;
  const int barrier = w.add_barrier(1);
  agent me = w.add_agent();
  me.wait(barrier, 1);
  EXPECT_EQ(w.explore().found, verdict::fine);
}

TEST(model, cannot_tell_two_phases_of_one_parity_apart) {
  world w;
  const int barrier = w.add_barrier(1);
  agent ahead = w.add_agent(), late = w.add_agent();
  for (int phase = 0; phase < 2; ++phase) ahead.arrive(barrier);
  late.wait(barrier, 0);  // misses the first phase when the second has ended too
  EXPECT_EQ(w.explore().found, verdict::deadlock);
}

TEST(model, counts_phases_exactly_in_a_meeting) {
  world w;
  const int barrier = w.add_barrier(1);
  agent ahead = w.add_agent(), late = w.add_agent();
  for (int phase = 0; phase < 2; ++phase) ahead.arrive(barrier);
  late.meet(barrier, 1);
  EXPECT_EQ(w.explore().found, verdict::fine);
}

// A writer and a reader of one slot; the reader may start after `seen` of the writer's steps.
outcome write_then_read(int seen) {
  world w;
  const int anything = w.add_barrier(1);
  agent writer = w.add_agent(), reader = w.add_agent();
  writer.arrive(anything);
  const int writing = writer.begin(0, 0);
  writer.arrive(anything);
  writer.end(writing);
  writer.arrive(anything);
  reader.follow(writer, seen);
  reader.end(reader.begin(0, 1));
  return w.explore();
}

TEST(model, finds_a_use_that_overlaps_an_earlier_one) {
  EXPECT_EQ(write_then_read(3).found, verdict::fine);
  for (int seen : {0, 1, 2}) EXPECT_EQ(write_then_read(seen).found, verdict::misuse) << "seen " << seen;
}

TEST(model, finds_a_use_whose_end_nobody_can_see) {
  world w;
  agent writer = w.add_agent(), reader = w.add_agent();
  writer.end(writer.begin(0, 0));
  reader.end(reader.begin(0, 1));
  EXPECT_EQ(w.explore().found, verdict::misuse);
}

TEST(model, lets_uses_of_one_turn_overlap) {
  world w;
  for (int i = 0; i < 3; ++i) {
    agent me = w.add_agent();
    me.end(me.begin(0, 7));
  }
  EXPECT_EQ(w.explore().found, verdict::fine);
}

TEST(model, refuses_scripts_that_make_no_sense) {
  world w;
  EXPECT_THROW(w.add_barrier(0), misplaced);
  agent me = w.add_agent();
  me.begin(0, 0);
  me.begin(0, 1);
  EXPECT_THROW(w.explore(), misplaced);
  for (int i = 1; i < world::most_agents; ++i) w.add_agent();
  EXPECT_THROW(w.add_agent(), misplaced);
}

}  // namespace
