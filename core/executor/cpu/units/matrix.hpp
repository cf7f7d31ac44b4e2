// SPDX-License-Identifier: Apache-2.0
// State of Tensor Core operations between issue and wait.
#pragma once
#include <antiphase/executor/cpu/machine_wgmma.hpp>
#include <deque>
#include <memory>
#include <vector>

namespace antiphase::cpu_detail {

struct thread_state;

// Threads that execute one operation together; the last to arrive does it for all.
struct collective {
  std::vector<thread_state*> threads;  // by lane, those that have arrived
  int arrived = 0;
  machine::place place{};
};

// Contents of a thread's registers when a wgmma last read or wrote them, since the latest wgmma_fence.
// Another wgmma may use them without a fence if they have not been touched; those of a sum, only with the
// same shape (PTX ISA, wgmma.fence).
struct used_registers {
  const void* address;
  std::vector<unsigned char> bytes;
};

// Registers of a warp that are in flight: 16 rows of a sum. The threads' own registers hold poison meanwhile.
struct sum_in_flight {
  int columns;
  bool halves;               // two columns in a register
  float* registers[32];      // by lane
  std::vector<float> value;  // 16 x columns
  int operations = 0;        // pending ones that add to it
};

struct matrix_operation {
  machine::warpgroup_step step;
  std::shared_ptr<sum_in_flight> sum;
  // 16 x 16 and 16 x columns; empty: not read yet. Other than f16 and bf16: 16 x 32 and columns x 32 bytes.
  // B has twice as many k if A is sparse; `column`: those in which A's numbers stand.
  std::vector<std::uint16_t> a = {}, b = {};
  std::vector<std::uint8_t> column = {};
  machine::operand_type type = machine::operand_type::f16;
  // by lane: contents that must not change until the wait; empty if A is in shared memory
  std::vector<used_registers> a_registers = {};
};

struct warp_matrices {
  collective lanes;
  std::deque<matrix_operation> operations;  // oldest first
  std::deque<std::size_t> groups;           // operations per committed group
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
