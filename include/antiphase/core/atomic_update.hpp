// SPDX-License-Identifier: Apache-2.0
// Operation and memory ordering of atomic read-modify-writes.
#pragma once

namespace antiphase {

// As std::memory_order: relaxed concerns the value only; acquire makes visible what others have released;
// release publishes what this thread did before.
enum class ordering : unsigned char { relaxed, acquire, release, acquire_release };

// increment: becomes 0 after the limit, else one more. decrement: becomes the limit after 0 and from above
// the limit, else one less.
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
