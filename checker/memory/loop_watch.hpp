// SPDX-License-Identifier: Apache-2.0
// Reports the running thread's polling loops to the scheduler.
#pragma once
#include <algorithm>
#include <antiphase/executor/cpu/machine.hpp>
#include <cstring>
#include <utility>

#include "shadow.hpp"

namespace antiphase::checker_detail {

// Tells the scheduler what a polling loop looks at, which writes may end it, and where another thread may go
// first. The scheduler does the rest: it lets others run, and detects deadlocks. Assumes: a kernel's thread
// is running.
class loop_watch {
 public:
  explicit loop_watch(const shadow& memory) : memory_(memory) {}
  // Hooks; null: none.
  void (*on_look)(const void* p, std::uint64_t value, const void* code, bool between_meetings) = nullptr;
  void (*on_write)(const void* p, bool at_once) = nullptr;
  void (*give_way)(atomic_kind kind, const void* code) = nullptr;
  void (*before_store)(const void* p) = nullptr;

  void thread_runs() { read_again_ = 0; }
  // The result of an atomic or volatile load, or of an update that changed nothing: the thread may be polling
  // for another value.
  void looked(const void* p, std::uint64_t value, const void* code) const {
    if (on_look != nullptr && memory_.follows(p)) on_look(p, value, code, false);
  }
  // An ordinary read of a word that the thread has read at this place before it last met others, and that
  // no thread has written since.
  void read_later(const void* p, std::size_t bytes, const void* code) const {
    if (on_look != nullptr && memory_.follows(p)) on_look(p, value_at(p, bytes), code, true);
  }
  // A write: it is not polling. `at_once`: it has happened, or has more than 16 bytes; else it counts if it
  // turns out to change memory.
  void wrote(const void* p, bool at_once = false) const {
    if (on_write != nullptr && memory_.follows(p)) on_write(p, at_once);
  }
  // A repeated ordinary read at the same place. Many of them are taken for a polling loop too, and one since
  // the thread was last resumed, as it may have met others.
  void read_again(const void* p, std::size_t bytes, const void* code) {
    if (++read_again_ == 1) return read_later(p, bytes, code);
    if (read_again_ % patience != 0 || on_look == nullptr || !memory_.follows(p)) return;
    on_look(p, value_at(p, bytes), code, false);
  }
  // Called before anything of an atomic operation is looked at.
  void comes_to_atomic(const void* p, atomic_kind kind, const void* code) const {
    if (give_way == nullptr || !memory_.follows(p)) return;
    give_way(kind, code);
    if (kind == atomic_kind::store && before_store != nullptr) before_store(p);
  }

 private:
  static std::uint64_t value_at(const void* p, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, p, std::min(bytes, sizeof value));
    return value;
  }
  // repeated reads that count as one look
  static constexpr std::uint64_t patience = 64;
  const shadow& memory_;
  std::uint64_t read_again_ = 0;  // since the thread was last resumed
};

}  // namespace antiphase::checker_detail
