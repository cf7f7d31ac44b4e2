// SPDX-License-Identifier: Apache-2.0
// Synchronisation by atomic operations and fences.
#pragma once
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "happens_before.hpp"

namespace antiphase::checker_detail {

// A thread's atomic operation at a location.
struct atomic_operation {
  std::uintptr_t location;
  atomic_kind kind;
  checker_detail::order order;
  scope reach;
  // The last write there was atomic too: a read-modify-write then continues its release sequence.
  bool follows_atomic;

  bool reads() const { return kind != atomic_kind::store; }
  bool acquires() const { return order == order::acquire || order == order::both; }
  bool releases() const { return order == order::release || order == order::both; }
};

// Release and acquire patterns by location, and fences (PTX ISA, memory consistency model). What a value
// releases is kept for each circle of threads: a block, a cluster, all.
//
// Assumes: each operation is reported twice, before its accesses are checked and after them.
class atomic_order {
 public:
  explicit atomic_order(happens_before& clocks) : clocks_(clocks) {}
  void begin_launch();
  void reset();  // between runs

  // A circle: threads whose scopes include each other, of a block, of a cluster, or all, without or with the
  // host. A state: what the writes that a read of the value sees have released, by circle.
  using circle = std::pair<std::size_t, std::uint32_t>;
  using state = std::map<circle, knowledge_ptr>;
  const state& at(std::uintptr_t location) { return states_[location]; }
  // The host acquires this by a read of the value; earlier launches may still be in progress. `narrow`: what
  // it would acquire if device scope reached it.
  struct for_host {
    knowledge_ptr released, narrow;
  };
  for_host released_to_host(std::uintptr_t location) const;

  void begin(thread_model& t, const atomic_operation& o);
  // for an operation that writes
  void end(thread_model& t, const atomic_operation& o) { give(t, o, states_[o.location]); }
  // Adds to `a` what the operation releases.
  void give(thread_model& t, const atomic_operation& o, state& a);
  // A read of the value, which takes in what was released with it.
  void take_in(thread_model& t, const atomic_operation& o, const state& a);
  void fence(thread_model& t, order how, scope reach);

 private:
  std::array<circle, 4> circles_around(const thread_model& t) const;
  // key of what was known at the total fences before the writes
  static circle before_fences(circle of) { return {4 + of.first, of.second}; }
  static for_host to_host(const state& a);

  happens_before& clocks_;
  std::unordered_map<std::uintptr_t, state> states_;
  std::unordered_map<std::uintptr_t, for_host> before_;  // of earlier launches
};

}  // namespace antiphase::checker_detail
