// SPDX-License-Identifier: Apache-2.0
// Preprocessed C++ as tokens, each with its place in the user's files.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::plain {

enum class token_kind { name, number, text, sign };  // text: strings and characters, whole

// A view into the source; signs are single characters, but for "::" and "->".
struct token {
  token_kind kind{};
  std::string_view is;
  std::size_t at = 0;      // offset in the source
  int file = 0, line = 0;  // of the user's source, as the line markers say
  bool operator==(std::string_view other) const { return is == other; }
};

struct token_list {
  std::vector<token> tokens;       // of the user's files only: system headers are left out
  std::vector<std::string> files;  // by number
};

// Reads what `g++ -E` has written: line markers say where things come from, and which of it is the system's.
token_list tokens_of(std::string_view preprocessed);

}  // namespace antiphase::plain
