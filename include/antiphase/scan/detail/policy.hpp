// SPDX-License-Identifier: Apache-2.0
// The policies of block scans.
#pragma once
#include <algorithm>
#include <antiphase/executor/kernel.hpp>
#include <bit>
#include <cstddef>

namespace antiphase::scans {

// How the threads of a block obtain the totals to their left.
enum class method {
  two_barriers,   // Kogge-Stone in one buffer: a barrier between reading and writing, and one after it
  double_buffer,  // Kogge-Stone from one buffer into the other: one barrier per step
  warp_shuffle,   // within warps through registers, then across warps
  one_wave,       // a tile per block, in registers, totals between blocks: see wave_policy.hpp
  single_pass,    // tiles through a ring in shared memory, totals between blocks: see ring_policy.hpp
  columns,        // adjacent lines, a tile of several rows of them per block, totals between blocks
};

// A block of `threads` threads scans a tile. Each thread has `rounds` chunks of contiguous elements; in a
// round the chunks of a warp are adjacent, so that its accesses are coalesced.
struct policy {
  scans::method method = method::warp_shuffle;
  int threads = 256;
  int bytes = 0;   // per thread; 0: one element, else as many chunks of up to 16 bytes as fit
  int blocks = 1;  // resident per multiprocessor, that the compiler limits registers for

  constexpr bool operator==(const policy&) const = default;

  // For elements of `size` bytes. A chunk has as many elements as one access of 16 bytes, a power of two.
  constexpr int chunk(std::size_t size) const {
    return bytes == 0 ? 1 : static_cast<int>(std::bit_floor(std::max<std::size_t>(1, 16 / size)));
  }
  constexpr int rounds(std::size_t size) const {
    if (method != method::warp_shuffle) return 1;
    // each takes a register, however narrow; more would reduce occupancy too much
    constexpr int most_items = 16;
    const int in_bytes = bytes / (chunk(size) * static_cast<int>(size));
    return std::clamp(in_bytes, 1, std::max(1, most_items / chunk(size)));
  }
  constexpr int tile(std::size_t size) const { return threads * rounds(size) * chunk(size); }
};

constexpr bool valid(const policy& p) {
  return p.threads >= 1 && p.threads <= 1024 && p.bytes >= 0 && p.bytes <= 256;
}

}  // namespace antiphase::scans
