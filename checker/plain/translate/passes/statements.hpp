// SPDX-License-Identifier: Apache-2.0
// Where statements of a source begin and end: as far as it takes to add one after a line or leave one out.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::plain {

struct source_line {
  std::string text;       // as it stands
  std::string code;       // the same without comments and the contents of strings, as long
  int function = -1;      // number of the function that the line's end lies in; -1: none
  int depth = 0;          // braces open at its end, counted in that function
  bool boundary = false;  // a statement may be added after it
};
struct source_function {
  int first = 0, last = 0;  // lines, from 1 on
  bool on_device = false;
};
struct source_text {
  std::vector<source_line> lines;  // lines[0] is line 1
  std::vector<source_function> functions;
};
source_text read_source(const std::string& file);  // no lines if there is no such file

// A statement within a line: from `begin` to after its semicolon.
struct statement {
  std::size_t begin = 0, end = 0;
};
// The expression statement around a position of the line's code; empty: it is not one, or not on this line
// alone.
statement statement_around(const source_line& line, std::size_t at);

// Where `what` stands in `text`, whatever blanks are in either; end == 0: nowhere.
statement find_loosely(std::string_view text, std::string_view what);

}  // namespace antiphase::plain
