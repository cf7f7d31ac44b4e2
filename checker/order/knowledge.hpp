// SPDX-License-Identifier: Apache-2.0
// An actor's knowledge of the pasts of others: vector clocks, shared and immutable once published.
#pragma once
#include <algorithm>
#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace antiphase::checker_detail {

// Local time of an actor. It counts the actor's releases: an access at time s is known to whoever knows the
// actor up to s or later. Threads of a warp share one counter. That costs no precision, since each lane has
// an entry of its own.
using stamp = std::uint32_t;
using block_number = std::uint32_t;  // numbers all blocks of a run; 0: the host
// Within a block: its threads, then their asynchronous actors and those of mbarriers.
using actor = std::uint16_t;
// A place in the program: an offset into its code, or, with one of the highest bits set, an entry of a table
// (place_table).
using place_number = std::uint32_t;
enum class access_kind : std::uint8_t { read, write };
enum class atomic_kind : std::uint8_t { load, store, update };
// A group of an asynchronous actor: of a thread's copies or stores, or the loads that an mbarrier counts in
// one phase.
struct copy_group {
  std::uintptr_t owner = 0;  // 0: none
  std::uint64_t number = 0;
};

// Vector clock of one block: every thread is known up to `floor` at least, the level of the last barrier of
// the whole block.
struct view : boost::intrusive_ref_counter<view, boost::thread_unsafe_counter> {
  stamp floor = 0;
  std::vector<stamp> threads;  // empty: none above the floor
  // by number of the asynchronous actor in the block; those past the end are at 0
  std::vector<stamp> copies;

  stamp of_thread(actor a) const { return a < threads.size() ? std::max(floor, threads[a]) : floor; }
  stamp of_copies(std::size_t a) const { return a < copies.size() ? copies[a] : 0; }
};
using view_ptr = boost::intrusive_ptr<const view>;

// State spaces, as far as proxy fences distinguish them.
enum class space : std::uint8_t { shared, global };
constexpr space all_spaces[] = {space::shared, space::global};
template <class T> struct by_space : std::array<T, 2> {
  T& operator[](space s) { return std::array<T, 2>::operator[](static_cast<std::size_t>(s)); }
  const T& operator[](space s) const { return std::array<T, 2>::operator[](static_cast<std::size_t>(s)); }
};

struct knowledge : boost::intrusive_ref_counter<knowledge, boost::thread_unsafe_counter> {
  block_number block = 0;
  view_ptr own;                                           // the clock of the own block
  std::vector<std::pair<block_number, view_ptr>> others;  // sorted
  // the part that a proxy fence has made visible to the async proxy; null: none
  by_space<boost::intrusive_ptr<const knowledge>> fenced;
  // Fence-SC order (PTX ISA). `passed`: what was known at the fences before; `seen`: what `passed` was at
  // writes whose values have been read. A fence after such a read comes after the fences before such a
  // write. By the scope of fences, write and read: block to system. Entries have no `passed` or `seen` of
  // their own.
  std::array<boost::intrusive_ptr<const knowledge>, 4> passed, seen;
  // Of these it is only known that reads are over and copies have landed (mbarrier_order); null: nothing. Has
  // no `over` of its own.
  boost::intrusive_ptr<const knowledge> over;

  const view* of(block_number b) const {
    if (b == block) return own.get();
    const auto at = std::lower_bound(others.begin(), others.end(), b,
                                     [](const auto& o, block_number x) { return o.first < x; });
    return at != others.end() && at->first == b ? at->second.get() : nullptr;
  }
};
using knowledge_ptr = boost::intrusive_ptr<const knowledge>;

template <class T, class... From> boost::intrusive_ptr<T> make(const From&... from) {
  return boost::intrusive_ptr<T>(new T(from...));
}
// Knowledge of one block and nothing else.
inline boost::intrusive_ptr<knowledge> knowledge_of(block_number block, view_ptr own) {
  auto k = make<knowledge>();
  k->block = block;
  k->own = std::move(own);
  return k;
}

// The least upper bound of both. `a` and the result belong to block `block`; either may be null.
knowledge_ptr join(const knowledge_ptr& a, const knowledge_ptr& b, block_number block);
view_ptr join(const view_ptr& a, const view_ptr& b);

}  // namespace antiphase::checker_detail
