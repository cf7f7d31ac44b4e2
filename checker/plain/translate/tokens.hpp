// SPDX-License-Identifier: Apache-2.0
// Splits preprocessed C++ into tokens, each with its position in the user's files.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::plain {

enum class token_kind { name, number, text, sign };  // text: whole string and character literals

// A view into the source. Signs are single characters, except "::" and "->".
struct token {
  token_kind kind{};
  std::string_view text;
  std::size_t offset = 0;  // in the source
  int file = 0, line = 0;  // in the user's source, by line markers
  bool operator==(std::string_view other) const { return text == other; }
};

struct token_list {
  std::vector<token> tokens;       // of user files only, without system headers
  std::vector<std::string> files;  // by number
  struct {
    int file = 0, line = 0;
  } openmp;  // the first pragma of OpenMP; line 0: there is none
};

// Reads output of `g++ -E`; its line markers give files, lines and system headers.
token_list tokens_of(std::string_view preprocessed);

// The index of the sign that closes the ( [ { at `open`; the number of tokens if there is none.
std::size_t matching_sign(const std::vector<token>& tokens, std::size_t open);

}  // namespace antiphase::plain
