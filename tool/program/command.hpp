// SPDX-License-Identifier: Apache-2.0
// What the subcommands share: common options, and the functions that add them to the program.
#pragma once
#include "tool/program/arguments.hpp"

namespace antiphase::tool {

struct common_options {
  bool quiet = false;  // no messages except errors
  bool json = false;   // results as one JSON object with "schema": 1
};
void add_common_options(arguments command, common_options& options);
// Throws bad_request if --json and --output would both write to standard output.
void refuse_mixed_results(const common_options& options, const std::string& output);
// Throws bad_request if a .npy file would be written to a terminal.
void refuse_binary_on_terminal(const std::string& output);

// Adds the subcommands that tool/CMakeLists.txt names: add_NAME(arguments) of each.
void add_commands(arguments program);

}  // namespace antiphase::tool
