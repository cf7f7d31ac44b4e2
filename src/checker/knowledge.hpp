// SPDX-License-Identifier: Apache-2.0
// What an agent knows of the others' pasts: vector clocks, shared and immutable once published.
#pragma once
#include <algorithm>
#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace antiphase::checker_detail {

// Local time of an agent. It counts what the agent has published: an access at time s is known to whoever
// knows the agent up to s or later. Threads of a warp share one counter, which costs no precision: a lane's
// own accesses are known by the lane's entry.
using stamp = std::uint32_t;
using block_number = std::uint32_t;  // counts all blocks of a run; 0 is the host
// within a block: its threads, then their copies and the copies that barriers count
using actor = std::uint16_t;
// Where in the program: an offset into its code, or, with one of the highest bits set, an entry of a table
// (place_table).
using place_number = std::uint32_t;
enum class access_kind : std::uint8_t { read, write };
enum class atomic_kind : std::uint8_t { load, store, update };
// Of which asynchronous actor, and which of its groups: copies and stores of a thread; loads that an mbarrier
// counts, in a phase of it.
struct copy_group {
  std::uintptr_t of = 0;  // 0: none
  std::uint64_t number = 0;
};

// Of one block: every thread up to `floor` at least, where a barrier of the whole block has levelled them.
struct view : boost::intrusive_ref_counter<view, boost::thread_unsafe_counter> {
  stamp floor = 0;
  std::vector<stamp> threads;  // empty: nothing above the floor
  // asynchronous actors, by number less the number of threads; those behind the end are at 0
  std::vector<stamp> copies;

  stamp of_thread(actor a) const { return a < threads.size() ? std::max(floor, threads[a]) : floor; }
  stamp of_copies(std::size_t a) const { return a < copies.size() ? copies[a] : 0; }
};
using view_ptr = boost::intrusive_ptr<const view>;

// Where memory lies, as proxy fences tell it apart.
enum class space : std::uint8_t { shared, global };
constexpr space all_spaces[] = {space::shared, space::global};
template <class T> struct by_space : std::array<T, 2> {
  T& operator[](space s) { return std::array<T, 2>::operator[](static_cast<std::size_t>(s)); }
  const T& operator[](space s) const { return std::array<T, 2>::operator[](static_cast<std::size_t>(s)); }
};

struct knowledge : boost::intrusive_ref_counter<knowledge, boost::thread_unsafe_counter> {
  block_number block = 0;
  view_ptr own;                                           // of the own block
  std::vector<std::pair<block_number, view_ptr>> others;  // sorted
  // how much of it a proxy fence has passed on to the copy engine; null: none
  by_space<boost::intrusive_ptr<const knowledge>> fenced;
  // Fences of sequential consistency (PTX ISA: Fence-SC order). `passed`: what was known at those that come
  // before; `seen`: that of writes whose values were read before. A fence behind such a read comes after the
  // fences before such a write. By the scope that both fences, write and read have at least: block, cluster,
  // device.
  // without a `passed` and `seen` of their own
  std::array<boost::intrusive_ptr<const knowledge>, 3> passed, seen;

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
// Of one block, and of nothing else.
inline boost::intrusive_ptr<knowledge> knowledge_of(block_number block, view_ptr own) {
  auto k = make<knowledge>();
  k->block = block;
  k->own = std::move(own);
  return k;
}

// The least that covers both. `a` belongs to block `block`, as does the result; either may be null.
knowledge_ptr join(const knowledge_ptr& a, const knowledge_ptr& b, block_number block);
view_ptr join(const view_ptr& a, const view_ptr& b);

}  // namespace antiphase::checker_detail
