// The workspace of scans that read once, as the host sees it: where blocks tell each other their totals.
#pragma once
#include <antiphase/scan/single_pass.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace antiphase::prefix {

// What the arguments of such a launch say of its workspace.
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

}  // namespace antiphase::prefix
