// SPDX-License-Identifier: Apache-2.0
// Host memory that a kernel may use.
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

// Memory other than the device's that a running thread may use: its stack, its parameters, and what the
// executor allows. Such accesses are not tracked. Assumes: whoever switches threads sets `stack`.
struct host_memory {
  address_range stack, params;
  // Called for accesses to the stack more than `shallow` bytes below its top, once for each depth; null: not.
  void (*deep)(std::uintptr_t address, std::uintptr_t& looked_down_to) = nullptr;
  std::uintptr_t shallow = 0, looked_down_to = 0;
  bool (*also)(std::uintptr_t address, std::size_t bytes, access_kind kind) = nullptr;  // null: nothing else
  // A library's operation runs: a thread whose code is the host's, and all of the host's memory is its own.
  bool runs_library = false;
  // Addresses here need no hook call: the program's own hooks return early. It is the current thread's stack,
  // or, while the host runs, everything but the device's memory (the range wraps around). Null: no such
  // program.
  address_range* passed_over = nullptr;
  bool looks_at_all = false;  // by the host: nothing is passed over

  bool allows(const void* p, std::size_t bytes, access_kind kind) const {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    return stack.holds(address) || (kind == access_kind::read && params.holds(address, bytes)) ||
           (also != nullptr && also(address, bytes, kind));
  }
  // True if the address is on the running thread's stack, which may be asked for each access.
  bool on_stack(std::uintptr_t address) {
    if (!stack.holds(address)) return false;
    if (address < looked_down_to) [[unlikely]]
      deep(address, looked_down_to);
    return true;
  }
  // Another thread runs, on this stack.
  void switch_to(address_range of_thread) {
    stack = of_thread;
    looked_down_to =
        deep == nullptr || runs_library || shallow >= stack.size ? 0 : stack.low + stack.size - shallow;
    pass_over(looked_down_to == 0 ? stack : address_range{looked_down_to, shallow});
  }
  void pass_over(address_range these) const {
    if (passed_over != nullptr) *passed_over = these;
  }
  void host_goes_on(const shadow& memory) const;
};

// The range to pass over while the host runs; it wraps around.
inline address_range everything_but(const shadow& memory) {
  std::uintptr_t low = memory.lowest(), high = low + memory.size();
  for (const shadow::host_range& r : memory.host_ranges()) {
    low = std::min(low, r.low);
    high = std::max(high, r.low + r.bytes);
  }
  return {high, low - high};
}
inline void host_memory::host_goes_on(const shadow& memory) const {
  pass_over(looks_at_all ? address_range{} : everything_but(memory));
}

}  // namespace antiphase::checker_detail
