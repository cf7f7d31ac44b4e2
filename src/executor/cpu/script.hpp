// SPDX-License-Identifier: Apache-2.0
// What to do with scripts: run all of them, shorten one that fails, write one as text.
#pragma once
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::cpu_detail {

using script_choices = std::vector<std::uint32_t>;

// The choices that repeat what was taken.
script_choices taken(const schedule_script& script);

// "12:3,40:1": choice 3 at decision 12, 1 at decision 40, forward (0) at all others.
std::string to_text(const script_choices& choices);
script_choices from_text(std::string_view text);  // throws bad_request

// Below, `run` runs the case once on one executor of order schedule::script that has been given `script`, and
// says whether all was well.
using scripted_run = std::function<bool()>;

struct exploration {
  std::uint64_t schedules = 0;
  bool complete = false;  // there are no others
};
// Runs every schedule of a tiny case, depth first, up to `limit` of them. Ends early where a run fails;
// `script` then says how.
exploration explore(schedule_script& script, const scripted_run& run, std::uint64_t limit);

// Takes out of a failing script as many deviations from forward order as it finds within `limit` runs: first
// the tail, then chunk by chunk (Zeller and Hildebrandt, IEEE TSE 2002). Leaves in `script` the shortest that
// failed and what it took; returns how many runs that needed.
unsigned shorten(schedule_script& script, const scripted_run& run, unsigned limit);

}  // namespace antiphase::cpu_detail
