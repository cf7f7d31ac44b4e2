// SPDX-License-Identifier: Apache-2.0
// Plain text tables for standard output.
#include "tool/program/text/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/base/wrap.hpp"

namespace antiphase::tool {

std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t most) {
  const std::size_t columns = rows.front().size();
  const auto is_free_text = [&](const std::vector<std::string>& row, std::size_t i) {
    return row.size() < columns && i + 1 == row.size();
  };
  std::vector<std::size_t> width(columns);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!is_free_text(row, i)) width[i] = std::max(width[i], row[i].size());

  std::string text;
  for (std::size_t first = 1, last = 1; last < columns || first == 1; first = last) {
    std::size_t used = width[0];
    for (; last < columns && (last == first || used + 2 + width[last] <= most); ++last)
      used += 2 + width[last];
    if (first > 1) text += '\n';
    for (const auto& row : rows) {
      if (row.size() < columns && first > 1) continue;  // its text is in the first part
      std::string line = fmt::format("{:<{}}", row[0], width[0]);
      for (std::size_t i = first; i < std::min(last, row.size()); ++i)
        line += is_free_text(row, i) ? "  " + row[i] : fmt::format("  {:>{}}", row[i], width[i]);
      text += (row.size() < columns ? wrapped(line, most) : line) + '\n';
    }
    if (last == columns) break;
  }
  return text;
}

}  // namespace antiphase::tool
