// SPDX-License-Identifier: Apache-2.0
// What a warp's request costs the memory: wavefronts of shared memory and sectors of global memory.
#pragma once
#include <array>
#include <cstdint>

namespace antiphase::checker_detail {

// One memory instruction of a warp: the addresses of its active lanes, and the bytes that each accesses
// there, a power of two up to 16.
struct warp_request {
  std::uint32_t lanes = 0;                     // the active ones, a bit each
  std::array<std::uint64_t, 32> address = {};  // by lane
  std::uint32_t bytes = 4;
};

struct request_cost {
  std::uint64_t units = 0;  // wavefronts or sectors
  std::uint64_t ideal = 0;  // without conflicts; with the same bytes side by side
};

// Shared memory has 32 banks of 4 bytes; a wavefront reads or writes one word in each of them, for as many
// lanes as want it. A warp's lanes share a wavefront, of 8-byte accesses the lanes of a half, of 16-byte ones
// those of a quarter. Halves and quarters come in pairs where all lanes 2n and 2n + 1, or all lanes n and n
// + 2 next to it, want the same address.
request_cost wavefronts(const warp_request& r);

// Global memory moves in sectors of 32 bytes.
request_cost sectors(const warp_request& r);

}  // namespace antiphase::checker_detail
