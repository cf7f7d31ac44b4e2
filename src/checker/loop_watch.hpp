// SPDX-License-Identifier: Apache-2.0
// What the scheduler is told of the running thread.
#pragma once
#include <algorithm>
#include <antiphase/executor/cpu/machine.hpp>
#include <cstring>
#include <utility>

#include "shadow.hpp"

namespace antiphase::checker_detail {

// Passes on what a loop that waits looks at, what writes may end it, and where another thread may go first.
// The scheduler does the rest: it lets others run, and calls a deadlock. It assumes that a thread of a kernel
// runs.
class loop_watch {
 public:
  explicit loop_watch(const shadow& memory) : memory_(memory) {}
  // Null: nobody asks.
  void (*on_look)(const void* p, std::uint64_t value, const void* code) = nullptr;
  void (*on_write)() = nullptr;
  void (*give_way)(atomic_kind kind, const void* code) = nullptr;

  void thread_runs() { read_again_ = 0; }
  // What an atomic or volatile load brings, or an update that changes nothing: the thread may be waiting for
  // something else.
  void looked(const void* p, std::uint64_t value, const void* code) const {
    if (on_look != nullptr && memory_.follows(p)) on_look(p, value, code);
  }
  void wrote(const void* p) const {  // so it is not
    if (on_write != nullptr && memory_.follows(p)) on_write();
  }
  // An ordinary read of what the thread has read before in the same place. Many of them are a loop that
  // waits, though nothing says so.
  void read_again(const void* p, std::size_t bytes, const void* code) {
    if (++read_again_ % patience != 0 || on_look == nullptr || !memory_.follows(p)) return;
    std::uint64_t value = 0;
    std::memcpy(&value, p, std::min(bytes, sizeof value));
    on_look(p, value, code);
  }
  // Called before anything of an atomic operation has been looked at.
  void comes_to_atomic(const void* p, atomic_kind kind, const void* code) const {
    if (give_way == nullptr || !memory_.follows(p)) return;
    const scope reach = std::exchange(machine::next_scope, scope::device);  // others have theirs
    give_way(kind, code);
    machine::next_scope = reach;
  }

 private:
  // with reads that bring nothing new; each counts for one look
  static constexpr std::uint64_t patience = 64;
  const shadow& memory_;
  std::uint64_t read_again_ = 0;  // since the thread was taken
};

}  // namespace antiphase::checker_detail
