// SPDX-License-Identifier: Apache-2.0
// Arguments of a single-pass scan, and the workspace through which its blocks communicate.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/scan/operation.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace antiphase::scans {

// The workspace: two control words, then the totals of tiles as tagged words. All zeros before its first use.
// Each launch leaves it ready for the next one, of any type and size, if launches do not overlap (one
// stream).
constexpr int epoch_word = 0, ticket_word = 1, control_words = 16;  // control_words fill 128 bytes

// The source of segment boundaries between neighbours in memory: ends of rows, differing keys, or non-zero
// flags.
enum class segment_source { rows, keys, head_flags };
struct segment_arguments {
  segment_source source;
  std::int64_t row;       // elements per row
  std::uint32_t period;   // the row, or no_row if it is at least as long as a tile
  std::uint32_t inverse;  // (2^32 - 1) / period
  const void* keys;       // or flags, one for each element
  int key_bytes;
  bool floating_keys;  // compared as floats, so that NaN differs from NaN
};
constexpr std::uint32_t no_row = 1u << 16;  // more than any tile has elements
constexpr segment_arguments rows_of(std::int64_t length, int tile) {
  const std::uint32_t period = length < tile ? static_cast<std::uint32_t>(length) : no_row;
  return {segment_source::rows, length, period, ~std::uint32_t{0} / period, nullptr, 0, false};
}

// For kernels of all types: values are stored in the first bytes of 8.
struct single_pass_arguments {
  const void* in;
  void* out;
  std::int64_t length;  // elements of all lines
  std::uint32_t tiles;
  scan_kind kind;
  scan_direction direction;
  std::uint64_t neutral;  // the neutral element, with which a tile is padded
  // the value before the first element of a line, of the type of the computation
  std::uint64_t initial;
  // the bits that are flipped in each loaded element: see element_values.cuh
  std::uint64_t flip;
  segment_arguments segments;
  std::uint64_t* control;
  std::uint64_t* states;
  std::uint64_t state_words;  // in the workspace, those of other launches included
};

AP_FN constexpr int state_words_of(std::size_t value_size) { return static_cast<int>((value_size + 3) / 4); }

// Bytes of a workspace for this many tiles.
constexpr std::size_t single_pass_bytes(std::size_t value_size, std::uint64_t tiles) {
  return (control_words + tiles * static_cast<std::uint64_t>(state_words_of(value_size))) *
         sizeof(std::uint64_t);
}

// The workspace as the host sees it.
// The parts of it that a launch gets.
struct tile_words {
  std::uint64_t* control = nullptr;
  std::uint64_t* states = nullptr;
  std::uint64_t state_words = 0;
};
// `workspace`: single_pass_bytes() or more, aligned to 8 bytes.
inline tile_words words_in(std::span<std::byte> workspace) {
  auto* const words = reinterpret_cast<std::uint64_t*>(workspace.data());
  return {words, words + control_words, workspace.size() / sizeof(std::uint64_t) - control_words};
}

}  // namespace antiphase::scans
