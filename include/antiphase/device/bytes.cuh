// SPDX-License-Identifier: Apache-2.0
// Arithmetic on the four bytes of a word.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

//   weighted_bytes    plus + dot product of the four bytes of `word` and of `weights`, unsigned (dp4a)
//   weighted_halves   plus + dot product of the two 16-bit halves of `word` and the lower two bytes of
//                     `weights` (dp2a)
//   pick_bytes        byte i of the result is the byte of `lower` (0 ... 3) or `upper` (4 ... 7) that
//                     hexadecimal digit i of `which` selects (PRMT)
#if AP_ON_GPU
AP_DEV std::uint32_t weighted_bytes(std::uint32_t word, std::uint32_t weights, std::uint32_t plus) {
  return __dp4a(word, weights, plus);
}
AP_DEV std::uint32_t weighted_halves(std::uint32_t word, std::uint32_t weights, std::uint32_t plus) {
  return __dp2a_lo(word, weights, plus);
}
AP_DEV std::uint32_t pick_bytes(std::uint32_t lower, std::uint32_t upper, std::uint32_t which) {
  return __byte_perm(lower, upper, which);
}
#else
AP_DEV std::uint32_t weighted_bytes(std::uint32_t word, std::uint32_t weights, std::uint32_t plus) {
  for (int shift = 0; shift < 32; shift += 8) plus += (word >> shift & 0xFF) * (weights >> shift & 0xFF);
  return plus;
}
AP_DEV std::uint32_t weighted_halves(std::uint32_t word, std::uint32_t weights, std::uint32_t plus) {
  return plus + (word & 0xFFFF) * (weights & 0xFF) + (word >> 16) * (weights >> 8 & 0xFF);
}
AP_DEV std::uint32_t pick_bytes(std::uint32_t lower, std::uint32_t upper, std::uint32_t which) {
  const std::uint64_t both = std::uint64_t{upper} << 32 | lower;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<std::uint32_t>(both >> (which >> 4 * i & 7) * 8 & 0xFF) << 8 * i;
  return result;
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
