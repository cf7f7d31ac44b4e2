// SPDX-License-Identifier: Apache-2.0
// Options that all subcommands have.
#include "tool/program/command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <antiphase/core/error.hpp>
#include <optional>

#include "tool/files/file_names.hpp"

void antiphase::tool::add_common_options(arguments command, common_options& options) {
  command.add_flag("--json", options.json, "Write the result to standard output as one JSON object");
  command.add_flag("-q,--quiet", options.quiet, "No messages on standard error but errors");
}

void antiphase::tool::refuse_mixed_results(const common_options& options, const std::string& output) {
  if (options.json && is_standard_output(output))
    throw bad_request(fmt::format(
        "--json and --output {} both write to standard output: give another file name to --output", output));
}

void antiphase::tool::refuse_binary_on_terminal(const std::string& output) {
  const std::optional<int> descriptor = output_descriptor(output);
  if (descriptor && isatty(*descriptor) != 0)
    throw bad_request(
        fmt::format("--output {}: a .npy file is binary, and this is a terminal: expected > FILE or | "
                    "PROGRAM after it, or a "
                    "file name",
                    output));
}
