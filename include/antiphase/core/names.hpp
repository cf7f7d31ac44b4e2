// SPDX-License-Identifier: Apache-2.0
// Names that people type, and what to say of one that does not exist.
#pragma once
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace antiphase {

// How many letters have to be changed, added, removed or exchanged with their neighbour to make `b` of `a`
// (the optimal string alignment). No library: each one would be a dependency of every program that uses this
// one, for these ten lines.
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

// The name that was probably meant, or null: one with few other letters, or one that begins or goes on where
// `given` ends or begins (minimum for min, async-2 for gemm/async-2). Of names of two letters everything
// would be close. Dashes before an option do not count.
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

// A word of the user's, for a message: of a long one the beginning, which ends between characters of UTF-8.
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

// What to say behind "there is no ...": "did you mean tiled? Expected naive, tiled or padded", or "expected
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
