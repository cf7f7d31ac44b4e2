// SPDX-License-Identifier: Apache-2.0
// What a single-pass scan is told, and the workspace through which its blocks talk.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/scan/operation.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace antiphase::scans {

// The workspace: two control words, then the totals of tiles as tagged words. All zeros before its first use;
// from then on every launch leaves it ready for the next, of whatever type and size, as long as they come one
// after the other (one stream).
constexpr int epoch_word = 0, ticket_word = 1, control_words = 16;  // the latter fill 128 bytes

// Where segments begin, between neighbours in memory: where a row ends, where keys differ, or at elements
// whose flag is not zero.
enum class segment_source { rows, keys, head_flags };
struct segment_arguments {
  segment_source from;
  std::int64_t row;       // elements of a row
  std::uint32_t period;   // the row, or no_row where it is as long as a tile or longer
  std::uint32_t inverse;  // (2^32 - 1) / period
  const void* keys;       // or flags, one for every element
  int key_bytes;
  bool floating_keys;  // compared as floats, so that NaN differs from NaN
};
constexpr std::uint32_t no_row = 1u << 16;  // more than any tile has elements
constexpr segment_arguments rows_of(std::int64_t length, int tile) {
  const std::uint32_t period = length < tile ? static_cast<std::uint32_t>(length) : no_row;
  return {segment_source::rows, length, period, ~std::uint32_t{0} / period, nullptr, 0, false};
}

// For kernels of all types: values lie in 8 bytes, the first of which are theirs.
struct single_pass_arguments {
  const void* in;
  void* out;
  std::int64_t length;  // elements of all lines
  std::uint32_t tiles;
  scan_kind kind;
  scan_direction direction;
  std::uint64_t neutral;  // an element that changes nothing: a tile is filled up with it
  // what stands before the first element of a line, of the type the kernel computes with
  std::uint64_t initial;
  // bits of an element that are flipped before anything else is done with it: see element_values.cuh
  std::uint64_t flip;
  segment_arguments segments;
  std::uint64_t* control;
  std::uint64_t* states;
  std::uint64_t state_words;  // that there are, those of other launches included
};

AP_FN constexpr int state_words_of(std::size_t value_size) { return static_cast<int>((value_size + 3) / 4); }

// Bytes of a workspace for so many tiles.
constexpr std::size_t single_pass_bytes(std::size_t value_size, std::uint64_t tiles) {
  return (control_words + tiles * static_cast<std::uint64_t>(state_words_of(value_size))) *
         sizeof(std::uint64_t);
}

// The workspace as the host sees it.
// What a launch is told of it.
struct tile_words {
  std::uint64_t* control = nullptr;
  std::uint64_t* states = nullptr;
  std::uint64_t state_words = 0;
};
// Of a workspace of single_pass_bytes() or more, at a multiple of 8.
inline tile_words words_in(std::span<std::byte> workspace) {
  auto* const words = reinterpret_cast<std::uint64_t*>(workspace.data());
  return {words, words + control_words, workspace.size() / sizeof(std::uint64_t) - control_words};
}

}  // namespace antiphase::scans
