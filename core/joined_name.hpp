// SPDX-License-Identifier: Apache-2.0
// Compile-time concatenation of names, such as a kernel's from its step's.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace antiphase {

// Concatenates Parts::parts, a std::array of std::string_view. Static storage, as a literal's.
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
