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
  // Called for accesses to the stack more than `unchecked_depth` bytes below its top, once for each depth;
  // null: not.
  void (*on_deep_stack)(std::uintptr_t address, std::uintptr_t& lowest_checked) = nullptr;
  std::uintptr_t unchecked_depth = 0, lowest_checked = 0;
  bool (*allows_more)(std::uintptr_t address, std::size_t bytes,
                      access_kind kind) = nullptr;  // null: nothing else
  // True while a call of a library runs on the host as a device thread, which may use all of the host's
  // memory.
  bool runs_library = false;
  // Addresses here need no hook call: the program's own hooks return early. It is the current thread's stack,
  // or, while the host runs, everything but the device's memory (the range wraps around). Null: no such
  // program.
  address_range* unhooked_range = nullptr;
  bool checks_all_host_memory = false;  // by the host: no range goes without hooks

  bool allows(const void* p, std::size_t bytes, access_kind kind) const {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    return stack.holds(address) || (kind == access_kind::read && params.holds(address, bytes)) ||
           (allows_more != nullptr && allows_more(address, bytes, kind));
  }
  // True if the address is on the running thread's stack. Called for every access, so it must stay cheap.
  bool on_stack(std::uintptr_t address) {
    if (!stack.holds(address)) return false;
    if (address < lowest_checked) [[unlikely]]
      on_deep_stack(address, lowest_checked);
    return true;
  }
  // Another thread runs, on this stack.
  void switch_to(address_range of_thread) {
    stack = of_thread;
    lowest_checked = on_deep_stack == nullptr || runs_library || unchecked_depth >= stack.size
                         ? 0
                         : stack.low + stack.size - unchecked_depth;
    set_unhooked(lowest_checked == 0 ? stack : address_range{lowest_checked, unchecked_depth});
  }
  void set_unhooked(address_range these) const {
    if (unhooked_range != nullptr) *unhooked_range = these;
  }
  void resume_host(const shadow& memory) const;
};

// The range without hooks while the host runs; it wraps around.
inline address_range everything_but(const shadow& memory) {
  std::uintptr_t low = memory.lowest(), high = low + memory.size();
  for (const shadow::host_range& r : memory.host_ranges()) {
    low = std::min(low, r.low);
    high = std::max(high, r.low + r.bytes);
  }
  return {high, low - high};
}
inline void host_memory::resume_host(const shadow& memory) const {
  set_unhooked(checks_all_host_memory ? address_range{} : everything_but(memory));
}

}  // namespace antiphase::checker_detail
