// SPDX-License-Identifier: Apache-2.0
// What atomic operations and fences pass on.
#pragma once
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "happens_before.hpp"

namespace antiphase::checker_detail {

// An atomic operation of a thread, on the memory at a location.
struct atomic_operation {
  std::uintptr_t location;
  atomic_kind kind;
  order how;
  scope reach;
  // the last write there was one: a read-modify-write goes on with what was released by it
  bool follows_atomic;

  bool reads() const { return kind != atomic_kind::store; }
  bool acquires() const { return how == order::acquire || how == order::both; }
  bool releases() const { return how == order::release || how == order::both; }
};

// Release and acquire patterns by location, and fences (PTX ISA, memory consistency model). Whom a value
// reaches is kept by scope: a block, a cluster, all.
//
// It assumes that an operation is told twice: before its accesses are judged, and behind them.
class atomic_order {
 public:
  explicit atomic_order(happens_before& clocks) : clocks_(clocks) {}
  void begin_launch() { states_.clear(); }

  // What was released by the writes that a read of the value sees, by whom it reaches.
  // threads that reach each other: of a block, of a cluster, all
  using circle = std::pair<std::size_t, std::uint32_t>;
  using state = std::map<circle, knowledge_ptr>;
  const state& at(std::uintptr_t location) { return states_[location]; }
  knowledge_ptr released_to_all(std::uintptr_t location) const;

  void begin(thread_model& t, const atomic_operation& o);
  void end(thread_model& t, const atomic_operation& o);  // of one that writes
  // A read of a value, and of what was released with it.
  void take_in(thread_model& t, const atomic_operation& o, const state& a);
  void fence(thread_model& t, order how, scope reach);

 private:
  std::array<circle, 3> circles_around(const thread_model& t) const;
  // what passed the total fences before the writes
  static circle before_fences(circle of) { return {3 + of.first, of.second}; }

  happens_before& clocks_;
  std::unordered_map<std::uintptr_t, state> states_;
};

}  // namespace antiphase::checker_detail
