// SPDX-License-Identifier: Apache-2.0
// Messages for unknown names: the closest known one, and the list of all.
#pragma once
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace antiphase {

// Edit distance from `a` to `b`: letters changed, added, removed or swapped with their neighbour (optimal
// string alignment). Written here, since a library would become a dependency of every program, for ten lines.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> above(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], above[j - 2] + 1);
    }
    above = std::exchange(row, std::exchange(next, above));
  }
  return row[b.size()];
}

// The known name that was probably meant, or null: a small edit distance, or one name is a prefix of the
// other (min, minimum) or its part after a slash (async-2, gemm/async-2). Names of up to two letters have no
// close ones, since everything would be close. Leading dashes of options do not count.
inline const std::string* closest_name(std::string_view given, const std::vector<std::string>& known) {
  const auto bare = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('-'), text.size()));
  };
  const std::string_view name = bare(given);
  const std::size_t most = name.size() <= 2 ? 0 : name.size() <= 4 ? 1 : 2;
  const std::string* closest = nullptr;
  std::size_t least = most + 1;
  for (const std::string& candidate : known) {
    const std::string_view other = bare(candidate);
    std::size_t distance = edit_distance(name, other);
    const bool is_end =
        other.size() > name.size() && other.ends_with(name) && other[other.size() - name.size() - 1] == '/';
    const bool is_part = name.size() > 2 && (other.starts_with(name) || is_end);
    if (is_part || (other.size() > 2 && name.starts_with(other))) distance = std::min(distance, most);
    if (distance < least) {
      least = distance;
      closest = &candidate;
    }
  }
  return closest;
}

// A word of the user's, for a message: cut to 60 bytes at a UTF-8 character boundary.
inline std::string shortened(std::string_view word) {
  std::size_t end = 60;
  if (word.size() <= end) return std::string(word);
  while (end > 0 && (static_cast<unsigned char>(word[end]) & 0xc0) == 0x80) --end;
  return std::string(word.substr(0, end)).append("...");
}

// "a, b or c"
inline std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 < names.size() ? ", " : " or ").append(names[i]);
  return text;
}

// The text after "there is no ...": "did you mean tiled? Expected naive, tiled or padded", or "expected
// naive, tiled or padded".
inline std::string suggestion(std::string_view given, const std::vector<std::string>& known) {
  const std::string* const closest = closest_name(given, known);
  std::string text;
  if (closest != nullptr) text.append("did you mean ").append(*closest).append("? ");
  return text.append(closest != nullptr ? "Expected " : "expected ").append(listed(known));
}

// The names of a list of things with names.
template <class List> std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.emplace_back(item.name);
  return names;
}

}  // namespace antiphase
