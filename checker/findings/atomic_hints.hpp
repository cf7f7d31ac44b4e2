// SPDX-License-Identifier: Apache-2.0
// Hints from relaxed atomic operations at what a race is missing: words of findings, and no order.
#pragma once
#include <antiphase/checker.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "checker/order/atomic_order.hpp"

namespace antiphase::checker_detail {

// Follows, next to the order of threads, what they would know of each other if each atomic store, exchange
// and read of it released and acquired: the missing order of a lock or a flag. And which threads may both go
// on, as each has written before it read the other's word, with no fence of sequential consistency in
// between.
//
// Assumes: each atomic operation is reported, what it reads before its accesses are checked, and what it
// writes after them; nothing here is an order.
class atomic_hints {
 public:
  explicit atomic_hints(happens_before& clocks) : clocks_(clocks) {}
  void reset();         // between runs
  void begin_launch();  // which knows all before it
  void reads(thread_model& t, const atomic_operation& o, place_number at);
  void looks_at(const thread_model& t, std::uintptr_t location, place_number at);  // and finds an old value
  void writes(thread_model& t, const atomic_operation& o, bool overwrites);        // whatever was there
  void total_fence(const thread_model& t) { threads_[key_of(t)].writes_unfenced = false; }
  void met(std::span<thread_model* const> threads);
  // The thread's load has missed this write.
  void misses(const thread_model& t, block_number block, actor writer);
  // The order missing at a load that has missed a write; `heard`: relaxed reads have told of that write.
  sentence missing_at(const thread_model& t, bool heard) const;
  // The order that two threads lack if `t` does not know what the other did at that time; none: no hint.
  sentence missing_between(const thread_model& t, block_number other, actor a, stamp time) const;
  // A thread reads what another one writes, a finding of this number. If its next atomic read is again of the
  // word that it has read last, elsewhere in the code, it checks what it has read: seqlocks().
  void reads_unordered(block_number block, actor thread, std::size_t finding);
  const std::vector<std::size_t>& seqlocks() const { return seqlocks_; }

 private:
  static constexpr int most = 4000;  // stores of a launch that are followed
  struct of_thread {
    bool writes_unfenced = false;  // an atomic write that no fence of sequential consistency has followed
    std::uint64_t missed = 0;      // the thread whose write its latest old value hid
    std::uintptr_t last_read = 0;
    place_number last_place = 0;
    std::optional<std::size_t> unordered;
  };
  struct store {
    std::uint64_t by;
    knowledge_ptr known;
  };
  static std::uint64_t key_of(block_number block, actor a) { return std::uint64_t{block} << 16 | a; }
  static std::uint64_t key_of(const thread_model& t) { return key_of(t.block, t.as_actor()); }

  happens_before& clocks_;
  std::unordered_map<std::uint64_t, of_thread> threads_;
  std::unordered_map<std::uintptr_t, store> stores_;  // the latest of each location
  int left_ = most;
  std::vector<std::size_t> seqlocks_;
};

}  // namespace antiphase::checker_detail
