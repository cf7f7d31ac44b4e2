// SPDX-License-Identifier: Apache-2.0
// Loads that bring old values.
#pragma once
#include <array>
#include <cstring>
#include <unordered_map>

#include "atomic_order.hpp"
#include "shadow.hpp"

namespace antiphase::checker_detail {

// The last atomic write to a location.
struct atomic_write {
  std::uint64_t before = 0, number = 0;  // what stood there; in the order of all such writes and of fences
  std::uint32_t bytes = 0;
  bool was_written = false;  // before
  block_number block = 0;
  actor writer = 0;
  stamp time = 0;
  place_number at = 0;
  atomic_order::state released_before;  // what whoever reads the old value reads with it
};

// Accesses happen one after the other here; on a GPU, an atomic or volatile write may stay unseen for a while
// by a thread that nothing has told of it: no fence, release and acquire, or barrier lies between the two
// (PTX ISA, memory consistency model, causality and coherence). Such a load may bring what stood there
// before, until the thread has seen the write once. Not so behind a barrier with a thread that has read what
// a fence published, whether or not it has a fence of its own: the example of __threadfence() in the CUDA
// guide has none.
//
// It assumes that all atomic writes and fences are told. If it is not on, no load brings an old value.
class old_values {
 public:
  explicit old_values(const happens_before& clocks) : clocks_(clocks) {}
  void reset();
  bool on = false;

  // An atomic write is about to happen, where `value` lies and the cell is `before`.
  void write(thread_model& t, const atomic_operation& o, const void* value, std::size_t bytes,
             const cell& before, place_number at, const atomic_order::state& released);
  void fence(const thread_model& t, scope reach);       // of sequential consistency
  void met(std::span<thread_model* const> threads);     // before they learn of each other
  void read(thread_model& t, std::uintptr_t location);  // it brings the last value
  // The write that the thread's load, about to happen, need not see, and does not see this once; null: there
  // is none.
  const atomic_write* unseen(thread_model& t, std::uintptr_t location, std::size_t bytes, const cell& c,
                             scope reach);

  // For a load that follows as an ordinary instruction: until put_back(), memory holds the old value.
  void lend(const void* p, std::size_t bytes, std::uint64_t old);
  void put_back() {
    if (lent_.to != nullptr) [[unlikely]] {
      std::memcpy(lent_.to, &lent_.value, lent_.bytes);
      lent_.to = nullptr;
    }
  }

 private:
  static std::uint64_t key_of(block_number block, actor thread) {
    return std::uint64_t{block} << 16 | thread;
  }

  const happens_before& clocks_;
  std::unordered_map<std::uintptr_t, atomic_write> writes_;  // by location
  // The last one of a thread, by its key: its number, for each scope that it has at least.
  std::unordered_map<std::uint64_t, std::array<std::uint64_t, 3>> total_fences_;
  std::uint64_t number_ = 0;
  struct {
    void* to = nullptr;
    std::size_t bytes = 0;
    std::uint64_t value = 0;
  } lent_;
};

}  // namespace antiphase::checker_detail
