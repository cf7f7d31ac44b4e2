// SPDX-License-Identifier: Apache-2.0
// What an atomic operation that reads and writes makes of its memory, and what it orders.
#pragma once

namespace antiphase {

// Of an atomic operation: nothing but the value; what others have released can be seen behind it (acquire);
// what this thread did before can be seen by who acquires (release); both.
enum class ordering : unsigned char { relaxed, acquire, release, acquire_release };

// increment: 0 behind the limit, else one more. decrement: the limit behind 0 and from above it, else one
// less.
enum class atomic_update : unsigned char {
  exchange,
  compare_exchange,
  bit_and,
  bit_or,
  bit_xor,
  min,
  max,
  increment,
  decrement
};

}  // namespace antiphase
