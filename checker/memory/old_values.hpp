// SPDX-License-Identifier: Apache-2.0
// Loads that return old values.
#pragma once
#include <array>
#include <cstring>
#include <span>
#include <unordered_map>
#include <vector>

#include "checker/order/atomic_order.hpp"
#include "shadow.hpp"

namespace antiphase::checker_detail {

// One of the last atomic writes to a location.
struct atomic_write {
  std::uint64_t before = 0, number = 0;  // the value it replaced; its number among all such writes and fences
  std::uint32_t bytes = 0;
  bool was_written = false;  // the location had been written before it
  bool updates = false;      // it has read the value it replaced
  scope reach = {};
  block_number block = 0;
  actor writer = 0;
  stamp time = 0;
  place_number place = 0;
  atomic_order::state released_before;  // what a read of the old value acquires
};

// In a checked run accesses happen one after the other. On a GPU an atomic or volatile write may stay
// invisible for a while to a thread that is not ordered after it by a fence, release and acquire, or barrier
// (PTX ISA, memory consistency model: causality, coherence). So such a thread's load may return a value from
// before, until it has seen the write once: the oldest of the last few that coherence allows, or one after
// it. So may an update that leaves that value as it is. Not after a barrier with a thread that has read what
// a fence published, even if that thread has no fence itself: the example of __threadfence() in the CUDA
// guide has none.
//
// Assumes: all atomic writes and fences are reported. Unless `enabled`, no load returns an old value.
class old_values {
 public:
  explicit old_values(const happens_before& clocks) : clocks_(clocks) {}
  void reset();
  bool enabled = false;
  unsigned seed = 0;  // which of several old values

  // Before an atomic write: `value` points to the old value, `before` is its cell.
  void write(thread_model& t, const atomic_operation& o, const void* value, std::size_t bytes,
             const cell& before, place_number at, const atomic_order::state& released);
  // The last few of a location whose cell is `c`, in order; none: it has been written in another way since.
  std::span<const atomic_write> latest(std::uintptr_t location, const cell& c) const;
  void fence(const thread_model& t, scope reach);       // of sequential consistency
  void met(std::span<thread_model* const> threads);     // before the threads learn of each other
  void read(thread_model& t, std::uintptr_t location);  // the load returns the last value
  // A write that the thread's operation, about to happen, may miss, with those after it, and misses this
  // once; null: none. `change`: of an update, called with `with`.
  using change_of = std::uint64_t (*)(std::uint64_t, const void* with);
  const atomic_write* unseen(thread_model& t, std::uintptr_t location, std::size_t bytes, const cell& c,
                             scope reach, change_of change, const void* with);

  // For a load that the program makes itself after the hook: memory holds the old value until put_back().
  void lend(const void* p, std::size_t bytes, std::uint64_t old);
  void put_back() {
    if (lent_.destination != nullptr) [[unlikely]] {
      std::memcpy(lent_.destination, &lent_.value, lent_.bytes);
      lent_.destination = nullptr;
    }
  }

 private:
  static std::uint64_t key_of(block_number block, actor thread) {
    return std::uint64_t{block} << 16 | thread;
  }

  bool may_miss(const thread_model& t, std::uintptr_t location, const atomic_write& w, scope reach) const;

  static constexpr std::size_t most = 4;
  const happens_before& clocks_;
  // The last ones of each location, in order, with no other writes between.
  std::unordered_map<std::uintptr_t, std::vector<atomic_write>> writes_;
  // Number of a thread's last fence.sc, for each circle its scope includes; by key_of().
  std::unordered_map<std::uint64_t, std::array<std::uint64_t, 4>> total_fences_;
  std::uint64_t number_ = 0;
  struct {
    void* destination = nullptr;
    std::size_t bytes = 0;
    std::uint64_t value = 0;
  } lent_;
};

}  // namespace antiphase::checker_detail
