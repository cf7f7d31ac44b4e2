// SPDX-License-Identifier: Apache-2.0
// The host's memory that a kernel may use.
#pragma once
#include <cstddef>
#include <cstdint>

#include "shadow.hpp"

namespace antiphase::checker_detail {

struct address_range {
  std::uintptr_t low = 0, size = 0;
  bool holds(std::uintptr_t address) const { return address - low < size; }
  bool holds(std::uintptr_t address, std::size_t bytes) const {
    return holds(address) && bytes <= size - (address - low);
  }
};

// What a running thread may use beside the memory of the device: its stack, what it was launched with, and
// what the executor allows. Nobody follows such accesses. It assumes that whoever runs a thread says where
// its stack is.
struct host_memory {
  address_range stack, params;
  bool (*also)(std::uintptr_t address, std::size_t bytes, access_kind kind) = nullptr;  // null: nothing else
  // Whoever compiles the program may leave out calls for addresses in here, which may go round: the current
  // thread's stack, or all but the device's memory while the host runs. Null: nobody asks.
  address_range* passed_over = nullptr;

  bool allows(const void* p, std::size_t bytes, access_kind kind) const {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    return stack.holds(address) || (kind == access_kind::read && params.holds(address, bytes)) ||
           (also != nullptr && also(address, bytes, kind));
  }
  void pass_over(address_range these) const {
    if (passed_over != nullptr) *passed_over = these;
  }
};

// While the host runs.
inline address_range everything_but(const shadow& memory) {
  return {memory.lowest() + memory.size(), ~memory.size() + 1};
}

}  // namespace antiphase::checker_detail
