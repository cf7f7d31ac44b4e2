// SPDX-License-Identifier: Apache-2.0
// Runs in processes of their own: nothing is left after in memory, and a crash is a result like others.
#pragma once
#include <sys/types.h>
#include <antiphase/checker.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "checker/findings/outcome.hpp"

namespace antiphase::checker_detail {

// Findings are the same if they are of one kind, in one kernel, at the same places.
bool is_same(const finding& a, const finding& b);

// A run that is asked for.
struct run_request {
  check_run run;
  std::shared_ptr<schedule_script> script;  // to follow, or null; its choices taken are written back
  program_output shown = program_output::none;
  bool draw = false;  // record the schedules of findings
};

// Runs of one program in child processes. What the host does before the first launch is the same in each, so
// one process does it and forks where the schedule begins to matter. A program that has files open there,
// more threads, or children, starts from the beginning for every run. A process of ours above that one ends
// what takes too long, and what the program has left running.
class run_processes {
 public:
  // Called by the first process where the schedule begins to matter. Returns in each forked process, with the
  // run it is to make.
  using fork_point = std::function<run_request()>;
  // Called by the process of a run with each finding, once it is known; and by run() with all so far.
  using finding_seen = std::function<void(const finding&)>;
  using findings_seen = std::function<void(const std::vector<finding>&)>;
  using run_function = std::function<outcome(const run_request&, const fork_point&, const finding_seen&)>;
  // `run` makes one run, as asked for, and calls the fork point on its way. `seconds`: time limit of a run
  // from its first launch on.
  run_processes(run_function run, double seconds) : run_(std::move(run)), seconds_(seconds) {}
  run_processes(const run_processes&) = delete;
  run_processes& operator=(const run_processes&) = delete;
  ~run_processes();

  // A crash of the process gives a finding; a run past its time limit is unfinished, with a note. What either
  // had found before is reported too.
  outcome run(const run_request& asked, const findings_seen& seen = {});

 private:
  struct progress;
  void start(const run_request& asked);
  [[noreturn]] void supervise(const run_request& asked, int requests, int answers, pid_t parent);
  [[noreturn]] void be_first(run_request asked, int requests, int answers);
  void stop(pid_t run);  // at its time limit
  static void write_place(progress& to);
  void end();  // ends the processes

  run_function run_;
  double seconds_;
  int supervisor_ = -1, requests_ = -1, answers_ = -1;
  progress* shared_ = nullptr;
};

// End of a message on a program whose host code failed before any launch.
constexpr const char* before_launches =
    "before it launched a kernel, so it was not checked. Its arguments come after --, and files are looked "
    "for "
    "in the current folder";

// False in a child that the program has forked.
bool is_run_process();
// So many accesses of this run have been followed: known even if its process crashes or is killed.
void count_followed(std::uint64_t accesses);
// Ends the process of this run, which cannot be checked, at once; any of its threads may call it.
[[noreturn]] void refuse_run(const std::string& why);

// Ends this process, with that exit code, if the program has forked it: it makes no run.
void end_if_forked(int code);

// Crashes of the program from here on are no findings: some of its blocks were left out.
void forgive_crashes();

}  // namespace antiphase::checker_detail
