// SPDX-License-Identifier: Apache-2.0
// The checker for whole programs in plain CUDA: unchanged sources, without GPU or CUDA toolkit.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// A source does not compile, or uses CUDA that the dialect lacks. what() is the compiler's output, or one
// line for each place.
struct bad_source : error {
  using error::error;
};

// A change of a source's line, made in what is compiled; the file stays as it is. `former` becomes
// `replacement`; if it is empty, `replacement` is added to the line.
struct plain_edit {
  std::string file;  // as findings name it
  int line = 0;
  std::string former, replacement;
};

// A program for check_plain(): its sources, how to compile them, and what limits its runs.
struct plain_program {
  std::vector<std::string> sources;  // .cu, and .cpp that belong to it
  // Not empty: a source whose main launches the kernels of `sources`. Their own main and their bindings to
  // Python are left out then.
  std::string driver;
  std::vector<std::string> compiler_options;  // -I, -D and the like, as g++ takes them
  std::vector<std::string> arguments;         // of its main, after argv[0]
  std::string compiler;                       // empty: $CXX, or g++
  // Not empty: kernels are compiled by nvcc -ptx, with the toolkit's headers, for this architecture, such as
  // sm_90a.
  std::string nvcc = {};
  std::vector<plain_edit> edits = {};
  // antiphase's folder include/; empty: the one next to the running program, or where it was built
  std::string headers;
  // Not empty: the compiled program is kept in this file, and taken from there if it exists.
  std::string object;
  // The program tells what it computes, for check_options::time.
  bool timed = false;
  // A launch with more threads than this runs only some of its blocks: the first, the last, and others that
  // differ from run to run. 0: all run.
  std::uint64_t most_threads = 65'536;
  // Memory accesses after which no further block of a launch begins. After three times as many in the whole
  // run, each launch runs one block only. 0: no limit.
  std::uint64_t most_accesses = 12'000'000;
};

// Compiles the program and runs its main once per schedule, each time in a process of its own, which
// `options.process_seconds` limits (0: 20 seconds). After two that had to be stopped the others are not
// tried:
//
//   const check_report report = check_plain({.sources = {"sum.cu"}}, {.schedules = 50});
//   std::fputs(to_text(report).c_str(), stdout);
//   return report.clean() ? 0 : 5;
//
// Throws bad_source; bad_request if a file does not exist or no kernel was launched; not_supported without a
// g++. Where blocks were skipped, check_report::notes says so.
check_report check_plain(const plain_program& program, check_options options);

// One change of a program: an added barrier, wait or fence, or another count.
struct plain_fix {
  int group = 0;  // of the findings that it takes away: finding::group
  code_place place = {};
  std::string change = {};  // "__syncthreads(); after line 22"; empty: none was found
  std::string diff = {};    // unified
  int tried = 0;
  bool all_tried = true;  // false: the time was over
};
// For each group of errors of a report of check_plain(): one change without which they are found under the
// same options, and with which they are not, nor anything new. Runs the program with many changes, for at
// most about `seconds`.
std::vector<plain_fix> find_fixes(const plain_program& program, check_options options,
                                  const check_report& report, double seconds);

// Barriers, waits and fences of a program without which nothing is found under the same options: each alone.
struct plain_needless {
  struct order {
    code_place place = {};
    std::string statement = {};
  };
  std::vector<order> needless = {};
  int tried = 0, not_run = 0;  // not_run: no schedule came there
  bool all_tried = true;
};
plain_needless find_needless(const plain_program& program, check_options options, double seconds);

// The dialect: which names of CUDA a checked program may use.
enum class supported { yes, partly, no };
struct dialect_entry {
  supported support;
  std::string_view names;  // separated by blanks
  std::string_view about;  // what it does here; if unsupported, the nearest supported form
};
struct dialect_group {
  std::string_view name;
  std::vector<dialect_entry> entries;
};
const std::vector<dialect_group>& plain_dialect();
std::string dialect_text();                    // for a terminal
std::string dialect_table(bool of_libraries);  // Markdown, for docs/

}  // namespace antiphase
