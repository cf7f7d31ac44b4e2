// SPDX-License-Identifier: Apache-2.0
// Names put together while compiling: those of kernels, from their step's.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace antiphase {

// Parts::parts, a std::array of std::string_view, one after the other. The text lives as long as the program,
// as a literal does.
template <class Parts> struct joined_name {
  static constexpr std::size_t size = [] {
    std::size_t all = 0;
    for (const std::string_view part : Parts::parts) all += part.size();
    return all;
  }();
  static constexpr std::array<char, size + 1> text = [] {
    std::array<char, size + 1> joined{};
    std::size_t at = 0;
    for (const std::string_view part : Parts::parts)
      for (const char letter : part) joined[at++] = letter;
    return joined;
  }();
};
template <class Parts> constexpr const char* joined = joined_name<Parts>::text.data();

}  // namespace antiphase
