// SPDX-License-Identifier: Apache-2.0
// A run in a process of its own: what it leaves behind in memory is gone with it, and a crash is a result like others.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <exception>
#include <functional>

namespace antiphase::checker_detail {

struct outcome {
  std::vector<finding> findings;
  std::vector<std::string> notes;
  std::uint64_t accesses = 0, tracked = 0, kept = 0;
  std::exception_ptr refused;  // a request that no schedule changes
  bool unfinished = false;     // stopped when its time was over
};

// What `run` returns, computed in a child of this process. `script`, if there is one, is brought up to date. Output of the program goes
// to standard error where `shown` says so, else nowhere. A child that crashes has a finding that says so; one that does not end within
// `seconds` is unfinished, with a note.
outcome run_in_child(const std::function<outcome()>& run, schedule_script* script, const check_run& how, program_output shown,
                     double seconds);

}  // namespace antiphase::checker_detail
