// What a single-pass scan is told, and the workspace through which its blocks talk.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstddef>
#include <cstdint>

namespace antiphase::prefix {

// The workspace: two control words, then the totals of tiles as tagged words. All zeros before its first use; from then on every launch
// leaves it ready for the next, of whatever type and size, as long as they come one after the other (one stream).
constexpr int epoch_word = 0, ticket_word = 1, control_words = 16;  // the latter fill 128 bytes

template <class T> struct single_pass_arguments {
  const T* in;
  T* out;
  std::int64_t length;
  std::uint32_t tiles;
  scan_kind kind;
  scan_direction direction;
  T initial;  // exclusive scans start from it
  std::uint64_t* control;
  std::uint64_t* states;
  std::uint64_t state_words;  // that there are, those of other launches included
};

constexpr int state_words_of(std::size_t element_size) { return element_size <= 4 ? 1 : 2; }

// Bytes of a workspace for so many tiles.
constexpr std::size_t single_pass_bytes(std::size_t element_size, std::uint64_t tiles) {
  return (control_words + tiles * static_cast<std::uint64_t>(state_words_of(element_size))) * sizeof(std::uint64_t);
}

}  // namespace antiphase::prefix
