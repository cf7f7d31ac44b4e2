// SPDX-License-Identifier: Apache-2.0
// Runs in processes of their own: nothing is left behind in memory, and a crash is a result like others.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "src/executor/cpu/script.hpp"

namespace antiphase::checker_detail {

struct outcome {
  std::vector<finding> findings;
  std::vector<std::string> notes;
  std::uint64_t accesses = 0, tracked = 0, kept = 0;
  std::exception_ptr refused;  // a bad request, which no schedule changes
  bool unfinished = false;     // nothing is known of it
  bool timed_out = false;      // for it was stopped at the time limit, or has a deadlock by a bound
  std::vector<line_count> counts = {};
  std::vector<timed_kernel> timed = {};
};

// A run that is asked for.
struct run_request {
  check_run how;
  std::shared_ptr<schedule_script> script;  // to follow, or null; its choices taken are written back
  program_output shown = program_output::none;
  bool draw = false;  // record the schedules of findings
};

// Runs of one program in child processes. What the host does before the first launch is the same in each, so
// one process does it and forks where the schedule begins to matter. A program that has files open there, or
// more threads, starts from the beginning for every run.
class run_processes {
 public:
  // Called by the first process where the schedule begins to matter. Returns in each forked process, with the
  // run it is to make.
  using fork_point = std::function<run_request()>;
  // `run` makes one run, as asked for, and calls the fork point on its way. `seconds`: time limit of a run.
  run_processes(std::function<outcome(const run_request&, const fork_point&)> run, double seconds)
      : run_(std::move(run)), seconds_(seconds) {}
  run_processes(const run_processes&) = delete;
  run_processes& operator=(const run_processes&) = delete;
  ~run_processes();

  // A crash of the process gives a finding; a run past its time limit is unfinished, with a note.
  outcome run(const run_request& asked);

 private:
  void start(const run_request& asked);
  [[noreturn]] void be_first(run_request asked, int requests, int answers);
  int end();  // ends the first process: its status

  std::function<outcome(const run_request&, const fork_point&)> run_;
  double seconds_;
  int first_ = -1, requests_ = -1, answers_ = -1;
  bool* begun_ = nullptr;  // in shared memory: the first process has reached the fork point
};

// End of a message on a program whose host code failed before any launch.
constexpr const char* before_launches =
    "before it had launched a kernel, so nothing is known of it. Its arguments stand behind --, and files "
    "are looked for in the current "
    "folder";

// False in a child that the program has forked.
bool is_run_process();
// Ends the process of this run, which cannot be checked, at once; any of its threads may call it.
[[noreturn]] void refuse_run(const std::string& why);

// Crashes of the program from here on are no findings: some of its blocks were left out.
void forgive_crashes();

}  // namespace antiphase::checker_detail
