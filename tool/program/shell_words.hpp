// SPDX-License-Identifier: Apache-2.0
// The program's commands and options as data; from it, scripts that complete words in a shell, and man pages.
#pragma once
#include <string>
#include <vector>

namespace antiphase::tool {

struct described_option {
  std::vector<std::string> names;  // as users write them; of a positional argument empty
  std::string value;               // placeholder of what follows; empty: nothing does
  std::string about;
  std::vector<std::string> offered;  // known values; empty: others, such as files and numbers
};
struct described_command {
  std::string words;  // after the program's name, such as "bench gemm"; of the program itself empty
  std::string usage, about, footer;
  std::vector<described_option> options;
};
using described_program = std::vector<described_command>;  // the program itself, then all commands

std::string bash_completion(const described_program& program);
std::string zsh_completion(const described_program& program);
std::string fish_completion(const described_program& program);

// The name of a command's page: antiphase-bench-gemm.
std::string page_of(const described_command& command);
std::string man_page(const described_program& program, const described_command& command);

}  // namespace antiphase::tool
