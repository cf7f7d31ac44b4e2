// SPDX-License-Identifier: Apache-2.0
// A run in a process of its own: what it leaves behind in memory is gone with it, and a crash is a result
// like others.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <exception>
#include <functional>
#include <memory>

#include "src/executor/cpu/script.hpp"

namespace antiphase::checker_detail {

struct outcome {
  std::vector<finding> findings;
  std::vector<std::string> notes;
  std::uint64_t accesses = 0, tracked = 0, kept = 0;
  std::exception_ptr refused;  // a request that no schedule changes
  bool unfinished = false;     // stopped when its time was over
};

// How one run is to go.
struct run_request {
  check_run how;
  std::shared_ptr<schedule_script> script;  // to follow, or null; brought up to date
  program_output shown = program_output::none;
  bool draw = false;  // keep the schedules of what is found
};

// Runs of one program in processes of their own. What its host does before the first launch is the same in
// all of them, so one process does it, and forks where a schedule begins to matter. A program that has files
// open there, or other threads, starts from the beginning for every run.
class run_processes {
 public:
  // Called in the process that goes first, where a schedule begins to matter: returns, once in each process,
  // the run to be.
  using fork_point = std::function<run_request()>;
  // `run` makes one run, as it is asked for first, and calls the fork point on its way. A run may take so
  // many seconds.
  run_processes(std::function<outcome(const run_request&, const fork_point&)> run, double seconds)
      : run_(std::move(run)), seconds_(seconds) {}
  run_processes(const run_processes&) = delete;
  run_processes& operator=(const run_processes&) = delete;
  ~run_processes();

  // A process that crashes has a finding that says so; one that does not end in time is unfinished, with a
  // note.
  outcome run(const run_request& asked);

 private:
  void start(const run_request& asked);
  [[noreturn]] void be_first(run_request asked, int requests, int answers);
  int end();  // of the process that goes first: its status

  std::function<outcome(const run_request&, const fork_point&)> run_;
  double seconds_;
  int first_ = -1, requests_ = -1, answers_ = -1;
  bool* begun_ = nullptr;  // whether the process that goes first has come to the fork point; it shares this
};

// What becomes of a program that ends with an error there: behind a sentence about its end.
constexpr const char* before_launches =
    "before it had launched a kernel, so nothing is known of it. Its arguments stand behind --, and files "
    "are looked for in the current "
    "folder";

// In a run whose results are not judged any more, a crash of the program is no finding.
void forgive_crashes();

}  // namespace antiphase::checker_detail
