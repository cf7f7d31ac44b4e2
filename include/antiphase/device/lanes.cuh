// SPDX-License-Identifier: Apache-2.0
// More warp operations: votes, matches, butterfly shuffles.
#pragma once
#include <antiphase/device/call_site.cuh>
#include <antiphase/device/warp.cuh>
#include <cstdint>
#include <type_traits>

namespace antiphase {
inline namespace AP_TARGET {

// Names begin with warp_ where CUDA's headers have a function of the shorter name. Among the lanes in `mask`
// that have not ended:
//   shuffle_xor            the value of lane (own lane xor `by`)
//   warp_ballot            a bit for each lane whose condition holds
//   warp_any, warp_all     whether the condition holds for any or for all
//   warp_match             a bit for each lane with the same value
//   warp_match_all         the bits of all lanes if all have the same value, else 0
//   bit_count              number of set bits of a word
// They order no memory accesses. T of a match: 4 or 8 bytes, compared as bits.
template <class T> using matched_word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

#if AP_ON_GPU
AP_DEV int bit_count(std::uint32_t bits) { return __popc(bits); }
AP_DEV int bit_count(std::uint64_t bits) { return __popcll(bits); }
AP_DEV unsigned warp_ballot(bool condition, unsigned mask = all_lanes) {
  return __ballot_sync(mask, condition);
}
AP_DEV bool warp_any(bool condition, unsigned mask = all_lanes) { return __any_sync(mask, condition) != 0; }
AP_DEV bool warp_all(bool condition, unsigned mask = all_lanes) { return __all_sync(mask, condition) != 0; }
template <class T> AP_DEV T shuffle_xor(T value, int by, unsigned mask = all_lanes) {
  return shuffle_words(value, [&](unsigned word) { return __shfl_xor_sync(mask, word, by); });
}
template <class T> AP_DEV unsigned warp_match(T value, unsigned mask = all_lanes) {
  return __match_any_sync(mask, bit_cast<matched_word<T>>(value));
}
template <class T> AP_DEV unsigned warp_match_all(T value, unsigned mask = all_lanes) {
  int all;
  return __match_all_sync(mask, bit_cast<matched_word<T>>(value), &all);
}
#else
AP_DEV int bit_count(std::uint32_t bits) { return __builtin_popcount(bits); }
AP_DEV int bit_count(std::uint64_t bits) { return __builtin_popcountll(bits); }

// The lanes in `mask` whose value `holds`. Each value is followed by a byte that marks a live lane: all bytes
// of an ended lane differ.
template <class Holds>
AP_DEV unsigned lanes_where(std::uint64_t mine, unsigned mask, call_site where, Holds holds) {
  unsigned char brought[9];
  std::memcpy(brought, &mine, 8);
  brought[8] = 1;
  const machine::exchange_slot* all = machine::warp_exchange(mask, brought, sizeof brought, where);
  unsigned lanes = 0;
  for (int lane = 0; lane < warp_size; ++lane) {
    std::uint64_t theirs;
    std::memcpy(&theirs, all[lane].bytes, 8);
    if ((mask >> lane & 1u) != 0 && all[lane].bytes[8] == 1 && holds(theirs)) lanes |= 1u << lane;
  }
  return lanes;
}
AP_DEV unsigned warp_ballot(bool condition, unsigned mask = all_lanes,
                            call_site where = call_site::current()) {
  return lanes_where(condition, mask, where, [](std::uint64_t theirs) { return theirs != 0; });
}
AP_DEV bool warp_any(bool condition, unsigned mask = all_lanes, call_site where = call_site::current()) {
  return warp_ballot(condition, mask, where) != 0;
}
AP_DEV bool warp_all(bool condition, unsigned mask = all_lanes, call_site where = call_site::current()) {
  return warp_ballot(!condition, mask, where) == 0;
}
template <class T>
AP_DEV T shuffle_xor(T value, int by, unsigned mask = all_lanes, call_site where = call_site::current()) {
  return shuffle_from(value, (lane_index() ^ by) & (warp_size - 1), mask, where);
}
template <class T>
AP_DEV unsigned warp_match(T value, unsigned mask = all_lanes, call_site where = call_site::current()) {
  const std::uint64_t mine = bit_cast<matched_word<T>>(value);
  return lanes_where(mine, mask, where, [&](std::uint64_t theirs) { return theirs == mine; });
}
template <class T>
AP_DEV unsigned warp_match_all(T value, unsigned mask = all_lanes, call_site where = call_site::current()) {
  const std::uint64_t mine = bit_cast<matched_word<T>>(value);
  bool same = true;
  const unsigned there = lanes_where(mine, mask, where, [&](std::uint64_t theirs) {
    same = same && theirs == mine;
    return true;
  });
  return same ? there : 0;
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
