// SPDX-License-Identifier: Apache-2.0
// Commands of a shell, and what they print.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::tool {

// A word, quoted for a shell if necessary.
std::string quoted_for_shell(std::string_view word);

struct shell_output {
  int status = -1;  // exit status; -1: it did not start, or ended by a signal
  std::string text;
};
// Standard output of a command.
shell_output output_of_shell(const std::string& command);

}  // namespace antiphase::tool
