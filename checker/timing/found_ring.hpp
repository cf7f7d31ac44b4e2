// SPDX-License-Identifier: Apache-2.0
// The buffers of a kernel that names none: parts of shared memory that are filled and read alternately.
#pragma once
#include <antiphase/trace.hpp>
#include <cstdint>
#include <vector>

#include "replay.hpp"

namespace antiphase::checker_detail {

// The use of an instruction for the ring.
struct op_use {
  enum class kind : std::uint8_t { other, load, store, wait, acquire, compute, release };
  kind use = kind::other;
  std::int32_t step = -1;  // of the ring; for `wait` the step waited for
};

// Fills whose data come from global memory, by asynchronous or bulk copies or through registers, and that are
// read afterwards, are the steps of a ring; two that write the same words lie in the same slot. What is
// written again and again from what was computed is a ring only where there is no other.
struct found_ring {
  int stages = 0;  // slots; 0: none was found
  int steps = 0;
  bool by_roles = false;      // some warps fill and others read
  bool asynchronous = false;  // cp.async or bulk copies
  bool bulk = false;
  bool of_results = false;    // filled with what was computed
  bool to_registers = false;  // no buffers: loads, and what their warps do with them
  bool loads_block = false;   // stores to shared memory wait for their loads before anything is computed
  // Copies begin before the wait for the slot in use; or what is loaded waits in registers while a single
  // slot is computed from.
  bool early = false;
  // The places at which the data of a step are waited for, and at which it is first computed from another; of
  // the first step of which this is true. 0: the ring is no such.
  place_number waited_at = 0, computed_at = 0;
  std::uint64_t slot_words = 0, load_bytes = 0;  // of a step
  std::uint64_t moved_bytes = 0;                 // for them, in whole sectors
  double issued = 0;                             // instructions of warps that issue them
  double copied = 0;                             // clocks that their copies take shared memory
  std::vector<int> slots{};                      // by step
  std::vector<std::vector<op_use>> uses{};       // by warp and instruction
  std::vector<int> loaders{}, readers{};         // warps
};
found_ring find_ring(const timed_block& b, const std::vector<std::vector<std::int32_t>>& uses_of_loads);
// Steps where there is no ring: runs of loads that a warp issues before it uses the first of them.
found_ring loads_to_registers(const timed_block& b,
                              const std::vector<std::vector<std::int32_t>>& uses_of_loads);

// The timeline of the first `most_steps` steps, without the names of kernel and machine.
timeline timeline_of(const timed_block& b, const found_ring& ring, const block_times& times,
                     const place_table& places, int most_steps);

}  // namespace antiphase::checker_detail
