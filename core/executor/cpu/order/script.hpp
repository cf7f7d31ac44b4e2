// SPDX-License-Identifier: Apache-2.0
// Scripts of schedules: running all of them, shortening a failing one, and their text form.
#pragma once
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::cpu_detail {

using script_choices = std::vector<std::uint32_t>;

// The choices that reproduce the decisions taken.
script_choices taken(const schedule_script& script);

// "12:3,40:1": choice 3 at decision 12, 1 at decision 40, forward (0) at all others.
std::string to_text(const script_choices& choices);
script_choices from_text(std::string_view text);  // throws bad_request

// Runs the case once, on an executor of order schedule::script with the given `script`. True if it passed.
using scripted_run = std::function<bool()>;

struct exploration {
  std::uint64_t schedules = 0;
  bool complete = false;  // all schedules were run
};
// Runs every schedule of a tiny case, depth first, up to `limit` of them. Ends at the first failing run, with
// its decisions in `script`.
exploration explore(schedule_script& script, const scripted_run& run, std::uint64_t limit);

// Removes as many deviations from forward order as possible from a failing script, within `limit` runs: first
// the tail, then chunk by chunk (delta debugging: Zeller and Hildebrandt, IEEE TSE 2002). Leaves the shortest
// failing script and its decisions in `script`; returns the number of runs.
unsigned shorten(schedule_script& script, const scripted_run& run, unsigned limit);

}  // namespace antiphase::cpu_detail
