// SPDX-License-Identifier: Apache-2.0
// Warp operations: sync, shuffle, vote. Lanes whose threads have ended take no part, whether or not a mask
// names them.
#pragma once
#include <antiphase/device/index.cuh>
#include <cstring>
#include <type_traits>

namespace antiphase {
inline namespace AP_TARGET {

constexpr unsigned all_lanes = ~0u;

// warp_sync       the lanes in `mask` meet; orders memory accesses among them
// shuffle         the value of lane `from`
// shuffle_up      the value of the lane `by` below; lanes below `by` keep their own
// shuffle_down    the value of the lane `by` above; the last `by` lanes keep their own
// ballot          a bit for every lane in `mask` whose condition holds; 0 for ended lanes
// uniform         the value of lane 0, known to the compiler as warp-uniform
// T: trivially copyable, of any size; shuffled in pieces of the machine's width.
#if AP_ON_GPU
AP_DEV void warp_sync(unsigned mask = all_lanes) { __syncwarp(mask); }
AP_DEV unsigned ballot(bool condition, unsigned mask = all_lanes) { return __ballot_sync(mask, condition); }

template <class T, class Move> AP_DEV T shuffle_words(T value, Move move) {
  static_assert(std::is_trivially_copyable_v<T>);
  constexpr int words = (sizeof(T) + 3) / 4;
  unsigned word[words] = {};
  memcpy(word, &value, sizeof(T));
  AP_UNROLL
  for (int i = 0; i < words; ++i) word[i] = move(word[i]);
  memcpy(&value, word, sizeof(T));
  return value;
}
template <class T> AP_DEV T shuffle(T value, int from, unsigned mask = all_lanes) {
  return shuffle_words(value, [&](unsigned word) { return __shfl_sync(mask, word, from); });
}
template <class T> AP_DEV T shuffle_up(T value, int by, unsigned mask = all_lanes) {
  return shuffle_words(value, [&](unsigned word) { return __shfl_up_sync(mask, word, by); });
}
template <class T> AP_DEV T shuffle_down(T value, int by, unsigned mask = all_lanes) {
  return shuffle_words(value, [&](unsigned word) { return __shfl_down_sync(mask, word, by); });
}
#else
AP_DEV void warp_sync(unsigned mask = all_lanes, machine::place where = machine::place::current()) {
  machine::warp_exchange(mask, nullptr, 0, where);
}
AP_DEV unsigned ballot(bool condition, unsigned mask = all_lanes,
                       machine::place where = machine::place::current()) {
  const unsigned char mine = condition;
  const machine::exchange_slot* all = machine::warp_exchange(mask, &mine, 1, where);
  unsigned votes = 0;
  for (int lane = 0; lane < warp_size; ++lane)
    // the byte of an ended lane differs
    if ((mask >> lane & 1u) != 0 && all[lane].bytes[0] == 1) votes |= 1u << lane;
  return votes;
}

// The lane that each lane reads. A source lane outside the mask gives no value: on the GPU the result would
// be undefined.
template <class T> AP_DEV T shuffle_from(T value, int from, unsigned mask, machine::place where) {
  static_assert(std::is_trivially_copyable_v<T>);
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  for (std::size_t done = 0; done < sizeof(T); done += machine::exchange_bytes) {
    const std::size_t left = sizeof(T) - done;
    const int now = static_cast<int>(left < machine::exchange_bytes ? left : machine::exchange_bytes);
    const machine::exchange_slot* all = machine::warp_exchange(mask, bytes + done, now, where);
    std::memcpy(bytes + done, all[from].bytes, static_cast<std::size_t>(now));
  }
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
template <class T> AP_DEV T shuffle(T value, int from, unsigned mask = all_lanes,
                                    machine::place where = machine::place::current()) {
  return shuffle_from(value, from & (warp_size - 1), mask, where);
}
template <class T> AP_DEV T shuffle_up(T value, int by, unsigned mask = all_lanes,
                                       machine::place where = machine::place::current()) {
  const int lane = lane_index();
  return shuffle_from(value, lane >= by ? lane - by : lane, mask, where);
}
template <class T> AP_DEV T shuffle_down(T value, int by, unsigned mask = all_lanes,
                                         machine::place where = machine::place::current()) {
  const int lane = lane_index();
  return shuffle_from(value, lane + by < warp_size ? lane + by : lane, mask, where);
}
#endif

// warp_index: the number of this warp in the block, as a uniform value, so that the compiler knows that
// branches on it are warp-uniform. Otherwise ptxas keeps descriptors in vector registers, and role branches
// cost instructions. It contains a shuffle of the whole warp: all lanes must call it, before any has
// returned; in a divergent branch it may hang. The checker verifies this.
#if AP_ON_GPU
template <class T> AP_DEV T uniform(T value) { return shuffle(value, 0); }
AP_DEV int warp_index() { return uniform(thread_index() / warp_size); }
#else
template <class T> AP_DEV T uniform(T value, machine::place where = machine::place::current()) {
  return shuffle(value, 0, all_lanes, where);
}
#if defined(AP_CHECKED)
AP_DEV int warp_index(machine::place where = machine::place::current()) {
  machine::whole_warp("warp_index()", where);
  return thread_index() / warp_size;
}
#else
AP_DEV int warp_index() { return thread_index() / warp_size; }
#endif
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
