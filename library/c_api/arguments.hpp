// SPDX-License-Identifier: Apache-2.0
// Argument structs of callers that may have been compiled with another version of antiphase.h.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

namespace antiphase::c_api {

// The caller's arguments in this library's layout. Members that an older caller's struct lacks have the
// initialiser's values. Bytes of a newer caller's struct beyond ours must be 0: anything else asks for a
// feature that this library does not know.
template <class Arguments>
Arguments taken(const Arguments* given, const Arguments& initial, std::size_t least, std::string_view name) {
  if (given == nullptr) throw bad_request(fmt::format("{} is a null pointer: expected arguments", name));
  constexpr std::size_t most = 4096;
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < least || size > most)
    throw bad_request(fmt::format("{}.size is {}: expected {}, to which the initialiser sets it", name, size,
                                  sizeof(Arguments)));
  Arguments all = initial;
  std::memcpy(&all, given, std::min(size, sizeof all));
  all.size = sizeof all;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof all; i < size; ++i)
    if (bytes[i] != 0)
      throw not_supported(
          fmt::format("{} of {} bytes has something in byte {}: this library knows the first {} only", name,
                      size, i, sizeof all));
  return all;
}

// A C enumerator as its C++ counterpart, of `count`; both count from 0.
template <class To> To one_of(std::string_view name, std::int32_t value, std::size_t count) {
  if (value < 0 || static_cast<std::size_t>(value) >= count)
    throw bad_request(fmt::format("{} is {}: expected 0 to {}", name, value, count - 1));
  return static_cast<To>(value);
}
template <class To> To one_of(std::string_view name, std::int32_t value, std::initializer_list<To> all) {
  return all.begin()[one_of<int>(name, value, all.size())];
}

// A number with its noun, which has a plural in s.
inline std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

inline std::string_view policy_of(const char* policy) { return policy == nullptr ? "auto" : policy; }

// Copies as much of the text as fits, and a final 0.
inline void hand_out(std::string_view text, char* to, std::size_t room) {
  if (to == nullptr || room == 0) throw bad_request("text has no room: expected at least one byte");
  to[text.copy(to, room - 1)] = '\0';
}

template <class T> T& required(T* to, std::string_view name) {
  if (to == nullptr)
    throw bad_request(fmt::format("{} is a null pointer: expected where to write a number", name));
  return *to;
}

}  // namespace antiphase::c_api
