// Options that all subcommands have.
#include "tool/command.hpp"

void antiphase::tool::add_common_options(arguments command, common_options& options) {
  command.add_flag("--json", options.json, "Write the result to standard output as one JSON object");
  command.add_flag("-q,--quiet", options.quiet, "No messages on standard error but errors");
}
