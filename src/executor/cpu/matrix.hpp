// SPDX-License-Identifier: Apache-2.0
// What a warp's Tensor Core operations keep between issue and wait.
#pragma once
#include <antiphase/executor/cpu/machine_wgmma.hpp>
#include <deque>
#include <memory>
#include <vector>

namespace antiphase::cpu_detail {

struct thread_state;

// Threads that carry out one operation together: the last to come does it for all.
struct collective {
  std::vector<thread_state*> threads;  // that have come, each in the place of its lane
  int arrived = 0;
  machine::place where{};
};

// What registers of a thread held when a wgmma last took or gave them, since the last wgmma_fence. Another
// may take them without one if they have not been touched, those of a sum also only for the same shape (PTX
// ISA, wgmma.fence).
struct used_registers {
  const void* at;
  std::vector<unsigned char> bytes;
};

// Registers of a warp that belong to the Tensor Core: 16 rows of a sum. The threads' own hold poison
// meanwhile.
struct sum_in_flight {
  int columns;
  float* registers[32];      // by lane
  std::vector<float> value;  // 16 x columns
  int operations = 0;        // that are to add to it
};

struct matrix_operation {
  machine::warpgroup_step what;
  std::shared_ptr<sum_in_flight> sum;
  // 16 x 16 and 16 x columns; empty: not read yet. tf32: 16 x 8 and columns x 8 words
  std::vector<std::uint16_t> a, b;
  machine::operand_type type = machine::operand_type::f16;
  // by lane, as they must stay until the wait; empty: A lies in shared memory
  std::vector<used_registers> a_registers = {};
};

struct warp_matrices {
  collective lanes;
  std::deque<matrix_operation> operations;  // oldest first
  std::deque<std::size_t> groups;           // operations in each closed group
  std::size_t open = 0;                     // and in the open one
  std::uint64_t landed = 0;                 // operations, so far
  std::vector<std::shared_ptr<sum_in_flight>> sums;

  void clear() {
    lanes.arrived = 0;
    operations.clear();
    groups.clear();
    open = 0;
    landed = 0;
    sums.clear();
  }
};

}  // namespace antiphase::cpu_detail
