// SPDX-License-Identifier: Apache-2.0
// Text for a terminal, in lines that fit.
#include "tool/base/wrap.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace antiphase::tool {
namespace {

// Rightmost start of a second column that continues below itself. Beyond it, the second column moves to the
// next line.
constexpr std::size_t rightmost_column = 40;

// Appends `words` to `text`, whose last line has `used` columns; lines that follow begin at column `indent`.
void append_words(std::string& text, std::string_view words, std::size_t used, std::size_t indent,
                  std::size_t columns) {
  bool first = true;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string_view word = words.substr(at, end - at);
    at = std::min(words.find_first_not_of(' ', end), words.size());
    if (!first && used + 1 + width_of(word) > columns) {
      text += '\n';
      text.append(indent, ' ');
      used = indent;
      first = true;
    }
    if (!first) text += ' ';
    text += word;
    used += width_of(word) + (first ? 0 : 1);
    first = false;
  }
}

std::string wrapped_line(std::string_view line, std::size_t columns) {
  const std::size_t lead = line.find_first_not_of(' ');
  if (width_of(line) <= columns || lead == std::string_view::npos)
    return std::string(line.substr(0, line.find_last_not_of(' ') + 1));
  const std::size_t gap = line.find("  ", lead);
  const std::size_t second = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  std::string text;
  if (second == std::string_view::npos) {  // a paragraph or a list item
    const std::size_t indent = lead + (line.substr(lead).starts_with("- ") ? 2 : 0);
    text.append(lead, ' ');
    append_words(text, line.substr(lead), lead, indent, columns);
  } else if (second <= rightmost_column) {
    text = line.substr(0, second);
    append_words(text, line.substr(second), second, second, columns);
  } else {
    const std::size_t below = lead + 4;
    text = line.substr(0, gap);
    text += '\n';
    text.append(below, ' ');
    append_words(text, line.substr(second), below, below, columns);
  }
  return text;
}

}  // namespace

std::size_t terminal_columns(int descriptor) {
  constexpr std::size_t least = 40, usual = 80;
  std::size_t columns = 0;
  if (const char* const said = std::getenv("COLUMNS"))
    std::from_chars(said, said + std::strlen(said), columns);
  winsize window{};
  if (columns == 0 && ioctl(descriptor, TIOCGWINSZ, &window) == 0) columns = window.ws_col;
  return columns == 0 ? usual : std::max(columns, least);
}

std::size_t width_of(std::string_view line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    result += wrapped_line(text.substr(at, end - at), columns);
    if (end < text.size()) result += '\n';
    at = end + 1;
  }
  return result;
}

}  // namespace antiphase::tool
