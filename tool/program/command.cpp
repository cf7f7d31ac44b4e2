// SPDX-License-Identifier: Apache-2.0
// Options that all subcommands have.
#include "tool/program/command.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>

#include "tool/files/file_names.hpp"

void antiphase::tool::add_common_options(arguments command, common_options& options) {
  command.add_flag("--json", options.json, "Write the result to standard output as one JSON object");
  command.add_flag("-q,--quiet", options.quiet, "No messages on standard error but errors");
}

void antiphase::tool::refuse_mixed_results(const common_options& options, const std::string& output) {
  if (options.json && is_standard_output(output))
    throw bad_request(fmt::format("--json and --output {} both write to standard output: give another file name to --output", output));
}
