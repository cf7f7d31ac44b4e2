// SPDX-License-Identifier: Apache-2.0
#include "tool/base/shell.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>

namespace antiphase::tool {

std::string quoted_for_shell(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,+:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

shell_output output_of_shell(const std::string& command) {
  shell_output all;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return all;
  std::array<char, 65536> piece{};
  for (std::size_t n = 0; (n = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
    all.text.append(piece.data(), n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) all.status = WEXITSTATUS(status);
  return all;
}

}  // namespace antiphase::tool
