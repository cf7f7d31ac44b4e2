// SPDX-License-Identifier: Apache-2.0
// Runs a program in plain CUDA once and gives its kernels times.
#include <fmt/format.h>

#include <algorithm>

#include "tool/base/errors.hpp"
#include "tool/commands/check/check.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

std::vector<timed_kernel> timed_program(const program_request& r, const trace_options& timed) {
  plain_program program = program_of(r);
  for (const std::string& s : program.sources)
    if (s.ends_with(".py"))
      throw bad_request(fmt::format("{} is in Python: expected a program in CUDA (.cu)", s));
  if (timed.block != 0)
    program.most_threads = program.most_accesses = 0;  // all blocks run, and it is among them
  check_options options;
  options.time = timed;
  options.schedules = 1;
  options.replay = check_run{.seed = 1, .order = schedule::forward};
  options.process_seconds = r.other_seconds();
  options.output = r.common.quiet || r.common.json ? program_output::none : program_output::first_run;
  for (const std::string& s : r.said) say(r.common, s);
  check_report report;
  try {
    report = check_plain(program, options);
  } catch (const bad_source& e) {
    throw bad_input(e.what());
  }
  const std::string& name = program.sources.front();
  if (report.unfinished > 0)
    throw not_supported(
        fmt::format("the run of {} had not ended after {} seconds, so nothing is timed: expected smaller "
                    "input, or a larger number for --seconds",
                    name, r.other_seconds()));
  if (report.errors() > 0)
    complain(fmt::format("the run has faults, so the times may be wrong: see antiphase check {}", name));
  for (const std::string& n : report.notes) say(r.common, fmt::format("note: {}", n));
  return std::move(report.timed);
}

}  // namespace antiphase::tool
