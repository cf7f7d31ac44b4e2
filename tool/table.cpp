// Plain text tables for standard output.
#include "tool/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace antiphase::tool {

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  const std::size_t columns = rows.front().size();
  const auto is_free_text = [&](const std::vector<std::string>& row, std::size_t i) { return row.size() < columns && i + 1 == row.size(); };
  std::vector<std::size_t> width(columns);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!is_free_text(row, i)) width[i] = std::max(width[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += "  ";
      text += is_free_text(row, i) ? row[i] : i == 0 ? fmt::format("{:<{}}", row[i], width[i]) : fmt::format("{:>{}}", row[i], width[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace antiphase::tool
