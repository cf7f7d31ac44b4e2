// SPDX-License-Identifier: Apache-2.0
// The position of one agent (a thread, a warp, a stream) in a ring of N slots.
#pragma once
#include <antiphase/core/portable.hpp>

namespace antiphase {

// A cursor only moves forward, and lives on across the tiles of a persistent kernel. An agent may hold
// several: the slot to use next, the slot to release next. The parity is that of the round: the number of
// times the ring has wrapped, modulo 2.
template <int N> struct cursor {
  static_assert(N > 0, "a ring needs at least one slot");
  static constexpr int stages = N;

  int index = 0;        // which slot, 0 ... N-1
  unsigned parity = 0;  // which round, modulo 2

  AP_FN constexpr cursor& operator++() {
    if (++index == N) {
      index = 0;
      parity ^= 1;
    }
    return *this;
  }
  AP_FN constexpr cursor operator++(int) {
    const cursor before = *this;
    ++*this;
    return before;
  }
  // The position one step before.
  AP_FN constexpr cursor before() const {
    cursor at = *this;
    if (at.index-- == 0) {
      at.index = N - 1;
      at.parity = parity ^ 1;
    }
    return at;
  }
  AP_FN constexpr bool operator==(const cursor& other) const {
    return index == other.index && parity == other.parity;
  }
};

}  // namespace antiphase
