// SPDX-License-Identifier: Apache-2.0
// The outcome of a run, and the same as text, which passes between processes.
#pragma once
#include <antiphase/checker.hpp>
#include <exception>
#include <string>
#include <vector>

#include "core/executor/cpu/order/script.hpp"

namespace antiphase::checker_detail {

struct outcome {
  std::vector<finding> findings;
  std::vector<std::string> notes;
  std::uint64_t accesses = 0, tracked = 0, kept = 0;
  std::exception_ptr refused;  // a bad request, which no schedule changes
  bool unfinished = false;     // the run was stopped: what it would have shown later is not known
  bool timed_out = false;      // for it was stopped at the time limit, or has a deadlock by a bound
  bool tried_change = false;   // see check_report
  bool unlaunched = false;     // and had launched no kernel, which no schedule changes
  std::string ended_at = {};   // what has ended main early
  std::vector<line_count> counts = {};
  std::vector<timed_kernel> timed = {};
};

// `script`, or null: its choices taken are part of the text, and are written back.
std::string to_text(const outcome& o, const schedule_script* script);
outcome outcome_of(const std::string& text, schedule_script* script, const check_run& how);
std::string to_text(const finding& f);
finding finding_of(const std::string& text, const check_run& how);

}  // namespace antiphase::checker_detail
