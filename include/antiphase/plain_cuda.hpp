// SPDX-License-Identifier: Apache-2.0
// Whole programs in plain CUDA under the checker: no GPU, no toolkit, and not a line of them changed.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// A source that cannot be compiled, or holds what the dialect does not have. what() is what the compiler
// said, or a line for each place.
struct bad_source : error {
  using error::error;
};

struct plain_program {
  std::vector<std::string> sources;  // .cu, and .cpp that belong to it
  // not empty: a source with a main that launches the kernels of `sources`, whose own main is left out, as is
  // what
  std::string driver;
  // binds them to Python
  std::vector<std::string> compiler_options;  // -I, -D and the like, as g++ takes them
  std::vector<std::string> arguments;         // of its main, behind the name
  std::string compiler;                       // empty: $CXX, or g++
  // the folder include/ of antiphase; empty: beside the program that runs, or where it was built
  std::string headers;
  // Of a launch with more threads than this, only some blocks run: the first, the last, and others that
  // differ from run to run. 0: all run.
  std::uint64_t most_threads = 65'536;
  // After so many accesses to memory no more blocks of a launch begin, and after three times as many of the
  // whole run one block of a launch is enough. 0: never.
  std::uint64_t most_accesses = 12'000'000;
};

// Compiles the program and runs its main once per schedule, each time in a process of its own;
// `options.process_seconds` bounds each (0: 60). Throws bad_source; bad_request if a file is not there or no
// kernel was launched; not_supported if there is no g++.
check_report check_plain(const plain_program& program, check_options options);

// What plain CUDA may use here.
enum class supported { yes, partly, no };
struct dialect_entry {
  supported how;
  std::string_view names;  // separated by blanks
  std::string_view about;  // what it does here; if it is not supported, the nearest form that is
};
struct dialect_group {
  std::string_view name;
  std::vector<dialect_entry> entries;
};
const std::vector<dialect_group>& plain_dialect();
std::string dialect_text();   // for a terminal
std::string dialect_table();  // for docs/: Markdown

}  // namespace antiphase
