// SPDX-License-Identifier: Apache-2.0
// Log of what threads did in one run, to draw the schedule of a finding.
#pragma once
#include <antiphase/checker.hpp>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "knowledge.hpp"

namespace antiphase::checker_detail {

// The last events of every thread, in the order of the schedule. Accesses by a thread at one place, without a
// synchronisation in between, are one event.
class event_log {
 public:
  struct who {
    block_number block = 0;
    int thread = 0;
    bool operator==(const who&) const = default;
  };

  // From here on every access is an event, and none is forgotten.
  void keep_all() { keeps_all_ = true; }

  void begin_launch() { launch_first_ = blocks_.empty() ? 0 : blocks_.rbegin()->first + 1; }
  void begin_block(block_number number, extent3 index, int threads);
  void end_thread(who by, stamp ticks);
  void end_block(block_number number) { blocks_[number].ended = true; }

  void access(who by, event_kind kind, const void* at, std::size_t bytes, place_number place);
  void copy(who by, copy_group in, const void* to, std::size_t bytes, place_number place);
  // Only where every access is kept: a warp's multiply-adds on Tensor Cores.
  void products(who by, std::uint32_t multiply_adds, place_number place);
  // A synchronisation. `done`: the copy group known to have landed, with all groups before it; may be none.
  void order(who by, event_kind kind, const char* what, copy_group done = {});
  // Only where every access is kept: a value that a thread compares or hands to other lanes.
  void looked_at(who by, std::uint64_t value);
  void stores(who by, const void* to, std::size_t bytes);  // the same of what a write leaves, before it
  void met(std::span<const who> all, const char* what);

  // What to draw for a finding: its two sides, and other threads that touched the memory, that are still
  // running, or that ran in the last kernel.
  struct side {
    who thread;
    place_number place = 0;
    std::string action;
  };
  struct question {
    side now;
    std::optional<side> earlier;
    std::uintptr_t memory = 0;  // an address; 0: none
    std::size_t bytes = 1;      // how many, from `memory` on
    bool others = false;        // other threads of the launch, one for each place where some are
    bool last_kernel = false;   // some threads of the last kernel, ended or not
    // `memory` is an allocation, made at now.place, that was never freed: it gets a lane
    bool never_freed = false;
    bool for_ever = false;  // threads that have not ended wait for ever
    bool is_thread = true;  // `now` is a thread, not the host
  };
  struct event {
    std::uint64_t first = 0, last = 0;  // moments, in the order of the schedule
    event_kind kind{};
    const char* name = nullptr;  // name of a synchronisation
    place_number place = 0;
    std::uint64_t times = 1;
    std::uintptr_t first_address = 0, last_address = 0;  // the first and the last address
    std::intptr_t step = 0;
    std::size_t bytes = 0;
    bool regular = true;  // all addresses are `step` apart
    copy_group in{};      // number, of an access: digest of the values that its thread has looked at before
    bool touches(std::uintptr_t address) const;
    // For several bytes this is coarse: any address from the first to the last counts.
    bool touches(const question& q) const;
  };
  struct thread_events {
    who thread;
    std::string name;
    bool ended = false;
    std::vector<event> events;
  };
  struct snapshot {
    checker_detail::event_log::question question;
    std::vector<thread_events> threads;
  };
  // Copies what drawing needs, when the finding is made. drawn() comes later: a kernel's thread has little
  // stack.
  snapshot taken(const question& q) const;
  static finding_schedule drawn(const snapshot& s, const std::function<code_place(place_number)>& place_of);
  // The block of the last launch at that index of the grid; 0: none.
  block_number block_at(extent3 index) const;
  // Events of a thread of the last kernel; `block` counts as they began. Null: there is none.
  const std::vector<event>* of_last_kernel(unsigned block, int thread) const {
    auto b = blocks_.lower_bound(kernel_first_);
    while (b != blocks_.end() && block-- > 0) ++b;
    return b == blocks_.end() ? nullptr : find({b->first, thread});
  }

 private:
  static constexpr std::size_t most_events = 64, most_threads = 16384;
  // A write is reported before it happens, so what it has left is read at the thread's next access.
  struct looks {
    std::uint64_t digest = 0;
    std::span<const unsigned char> stored;
    void add(std::uint64_t value) { digest = (std::rotl(digest, 5) ^ value) * 0x9E3779B97F4A7C15u; }
  };
  looks& values(who of);
  struct block_history {
    extent3 index;
    bool ended = false;
    std::vector<std::vector<event>> threads;
    std::vector<looks> values;
  };
  void note_invalid_operation(who by);
  std::vector<event>& history(who of);
  const std::vector<event>* find(who of) const;
  void add(who by, event e);
  void choose_others(const question& q, std::vector<who>& chosen) const;
  std::string name_of(who w) const;

  std::map<block_number, block_history> blocks_;
  // first blocks of the last launch (copies and fills are launches too) and of the last with threads
  block_number launch_first_ = 0, kernel_first_ = 0;
  std::size_t threads_ = 0;
  std::uint64_t now_ = 0;
  bool keeps_all_ = false;
};

}  // namespace antiphase::checker_detail
