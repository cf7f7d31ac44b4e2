// SPDX-License-Identifier: Apache-2.0
// Requests and entry points of the subcommands that run programs under the checker.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/plain_cuda.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/program/command.hpp"

namespace antiphase::tool {

// A program in plain CUDA, or kernels of the library, to run on the checker's executor.
struct program_request {
  std::vector<std::string> kernels;           // sources and arguments of a program; or all, a family, kernels
  std::vector<std::string> arguments;         // of a program, after --
  std::vector<std::string> compiler_options;  // for plain CUDA
  std::string blocks;                         // all, or how many threads of a launch suffice
  std::string driver;                         // for kernels without a usable main
  std::string launch;                         // the same, a description in JSON
  bool nvcc = false;                          // compiles kernels
  std::string architecture = "sm_90a";        // for it
  int seconds = 0;      // limit for one run of a program, or for what else is bounded; 0: the usual ones
  std::string picture;  // of count: an output file; empty: a table is printed
  std::vector<std::string> said;  // notes on options that act differently here
  common_options common;

  int run_seconds() const { return seconds > 0 ? seconds : 20; }
  int other_seconds() const {
    return seconds > 0 ? seconds : 60;
  }  // a capture, fixes, what is needless, a count, a trace
};
// The compiler's options, words after -- and --kernels. `own`: names of nvcc's options, in blanks, that are
// the command's own here.
void add_compiler_options(arguments command, const std::shared_ptr<program_request>& r, std::string own = {});
// Besides these --blocks, --seconds and the common ones. `of_seconds`: what --seconds says.
void add_program_options(arguments command, const std::shared_ptr<program_request>& r, const char* of_seconds,
                         std::string own = {});
// The sources are r.kernels up to the first word that is no source; the words after them are the program's
// arguments. Throws bad_input if a file is not there.
plain_program program_of(const program_request& r);

struct check_request : program_request {
  std::vector<std::pair<std::string, std::string>> settings;  // options of the check and their values
  std::string sarif;                                          // output file; empty: none
  // picture file for the findings; empty: none
  std::string trace;
  // --tool; suppressions and baseline: files
  std::string tool, suppress, baseline, write_baseline;
  bool list = false, dialect = false, lines = false;
  bool fix = false, needless = false;
  bool strict = false;  // pedantic findings count too
  bool leaks = false;   // memory that is never freed is an error
  bool fails(const check_report& report) const { return strict ? !report.clean() : report.errors() > 0; }
};
// If a source is among the words: the words without nvcc's options, some translated to ours, except for those
// in `own`. Appends notes to `said`. Throws bad_request.
std::vector<std::string> without_nvcc_options(const std::vector<std::string>& words,
                                              std::vector<std::string>& said, std::string_view own = {});
// Whether a name is a plain CUDA source rather than a kernel of the library.
bool is_source(const std::string& name);
// Throws not_supported if this build has no checker.
void run_check(const check_request& r);
void run_check_plain(const check_request& r);
void run_count(const program_request& r);
// A lab of the course: `file` is the student's, `tests` the driver that checks it.
struct lab_request {
  std::string file, tests;
  int schedules = 20;
};
struct lab_verdict {
  bool passed = false;
  std::vector<std::string> missing;  // sentences of the lab's tests
  std::vector<std::string> refused;  // why it was not checked: it does not compile, or lacks the kernel
  int runs = 0;
  // The checker's findings: their number, the first in a sentence, all as text (empty without errors) and
  // as a report in JSON.
  std::size_t errors = 0;
  std::string first_error, text, json;
};
lab_verdict check_one_lab(const lab_request& r);
// The kernels of a program's run, timed. Throws bad_input if it does not compile, not_supported if it does
// not end in time; says what was not followed.
std::vector<timed_kernel> timed_program(const program_request& r, const trace_options& options);
// Checks the kernels of a Python program. `told`: a line for each extension, for a terminal.
check_report check_python(const check_request& r, const plain_program& program, const check_options& options,
                          std::string& told);
// Findings of a report then use the words of that language; empty: as they are.
void say_in(const std::string& language, check_report& report);
// Refusals from an error that check_plain() threw; `source` is used where the place is unknown.
std::vector<check_refusal> refusals_of(const error& e, const std::string& source);
void show_dialect(const check_request& r);

}  // namespace antiphase::tool
