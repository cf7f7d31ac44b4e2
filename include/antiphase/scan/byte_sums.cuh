// Sums of one-byte elements, four in a word.
#pragma once
#include <antiphase/device/vector.cuh>
#include <cstdint>
#include <cstring>

namespace antiphase::prefix {
inline namespace AP_TARGET {

// Element by element, 16 bytes take 16 additions and as many conversions: more than the memory leaves time for. Two halves of 16 bits, one
// for the even bytes of a word and one for the odd ones, cannot run over, and a multiplication by 2^16 + 1 adds the lower to the upper.
using sixteen_bytes = pack<std::uint8_t, 16>;
constexpr std::uint32_t even_bytes = 0x00FF00FF, both_halves = 0x00010001;

AP_DEV std::uint8_t total_of_bytes(const sixteen_bytes& v) {
  std::uint32_t word[4], halves = 0;
  memcpy(word, &v, sizeof v);
  AP_UNROLL
  for (const std::uint32_t w : word) halves += (w & even_bytes) + (w >> 8 & even_bytes);
  return static_cast<std::uint8_t>(halves + (halves >> 16));
}

// The results of 16 elements from what lies before them.
AP_DEV sixteen_bytes scan_of_bytes(std::uint8_t before, const sixteen_bytes& v, bool exclusive) {
  std::uint32_t word[4], base = before;
  memcpy(word, &v, sizeof v);
  AP_UNROLL
  for (std::uint32_t& w : word) {
    const std::uint32_t odd = w >> 8 & even_bytes;
    const std::uint32_t through_odd = ((w & even_bytes) + odd + base) * both_halves;  // the base too reaches both halves
    const std::uint32_t through_even = through_odd - odd;
    const std::uint32_t inclusive = (through_even & even_bytes) | (through_odd & even_bytes) << 8;
    w = exclusive ? inclusive << 8 | base : inclusive;
    base = inclusive >> 24;
  }
  sixteen_bytes result;
  memcpy(&result, word, sizeof result);
  return result;
}

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
