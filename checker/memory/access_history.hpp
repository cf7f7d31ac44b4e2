// SPDX-License-Identifier: Apache-2.0
// The last accesses to each byte, and whether a new access conflicts with them.
#pragma once
#include <antiphase/checker.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "checker/order/happens_before.hpp"
#include "host_memory.hpp"
#include "shadow.hpp"

namespace antiphase::checker_detail {

// A thread, or an asynchronous operation of it, that is about to access memory.
struct accessor {
  thread_model& thread;
  access_kind kind;
  place_number place;
  std::size_t bytes;
  scope reach{};            // of an atomic operation; 0: not atomic
  std::size_t operand = 0;  // its size; 0: `bytes`
  actor_kind role = actor_kind::thread;
  actor number = 0;  // of the asynchronous actor, if it is one
  stamp group = 0;
  std::string_view text{};   // replaces "read of 4 bytes" in reports
  bool constant = false;     // a read-only load
  bool cached = false;       // a read by a cache that the launch's own writes do not reach
  bool updates = false;      // the read of a read-modify-write: the write that follows is recorded instead
  bool of_barrier = false;   // an operation of an mbarrier, on its word
  bool init_fenced = false;  // the mbarrier's initialisation has been fenced for the async proxy

  void become(actor_kind k, actor n, stamp g) {
    role = k;
    number = n;
    group = g;
  }
  bool asynchronous() const { return role != actor_kind::thread; }
  // Bulk copies and Tensor Cores see ordinary writes only after a proxy fence; cp.async sees them as the
  // thread does.
  bool behind_proxy() const {
    return asynchronous() && role != actor_kind::copies && role != actor_kind::tensor_loads &&
           role != actor_kind::tensor_stores;
  }
  // Products of a thread are done in their order.
  bool follows(block_number block, actor a) const {
    return role == actor_kind::tensor_products && block == thread.block && a == number;
  }
  actor as() const { return asynchronous() ? number : thread.as_actor(); }
  strength_bits strength() const { return strength_of(reach, operand != 0 ? operand : bytes); }
  stamp time() const { return asynchronous() ? group : *thread.time; }
};

// A fault of an access: against an earlier write or read, or by itself.
struct conflict {
  finding_kind kind;
  std::size_t offset = shadow::outside;  // of the memory, in the shadow
  const cell* write = nullptr;
  const reader* read = nullptr;
  explanation missing = {};  // what would order the two; empty: to be worked out
  // Pedantic findings only: what GPUs do, and what is missing then.
  explanation in_practice = {}, instead = {};
};
using conflict_sink = std::function<void(const accessor&, const conflict&)>;

// How long a run has taken so far, in accesses. `next to`: atomic operations and barriers, which cost more.
struct run_effort {
  std::uint64_t accesses = 0, aside = 0;
  std::uint64_t most = 0;  // the run ends when it has taken more; 0: no limit

  std::uint64_t total() const { return accesses + aside; }
  bool too_much() const { return most != 0 && total() > most; }
};

// Checks every access against those recorded in its cells (the last write, and all reads since), and records
// it there. An earlier access that does not happen before the new one conflicts with it, whichever of them
// ran first.
//
// Assumes: accesses are reported before they happen, and `clocks` already has all synchronisation up to then.
// Conflicts go to the sink, the same one often several times. The cells' reader lists live in the shadow, and
// nothing else changes them.
class access_history {
 public:
  access_history(shadow& memory, const happens_before& clocks, const launch_order& launches,
                 const host_memory& host, conflict_sink found)
      : memory_(memory), clocks_(clocks), launches_(launches), host_(host), found_(std::move(found)) {}
  void reset();

  void visit(const accessor& w, const void* p, std::size_t bytes) {
    const std::size_t offset = memory_.offset_of(p, bytes);
    if (offset != shadow::outside)
      check_access(w, offset, bytes);
    else if (!host_.allows(p, bytes, w.kind))
      report_outside(w, p);
  }
  // Fast paths: a thread's first read of whole words at this time and place, or a write of whole words, in
  // global memory or its own block's shared memory. False: use visit(); nothing has been reported or
  // recorded.
  bool reads_anew(const thread_model& t, const void* p, std::size_t bytes, place_number place);
  bool writes_anew(const thread_model& t, const void* p, std::size_t bytes, place_number place);
  // Whether the thread has read the word by this instruction before it last met others, and no thread has
  // written it since. May be false where many have read it too.
  bool reads_later(const thread_model& t, const void* p, place_number place);

  // The same for a read-only load of memory that a launch before has written.
  bool reads_constant_again(const thread_model& t, const void* p, std::size_t bytes);
  // True if these are whole words that only launches before the thread's have written.
  bool written_before(const thread_model& t, const void* p, std::size_t bytes);

  // Cheap sufficient tests for the common cases; false: unknown, look further.
  [[gnu::always_inline]] static bool surely_knows_writer(const thread_model& t, const cell& c) {
    if (c.strength != 0) return false;
    if (c.state == cell_state::written)
      return c.block < t.first_visible || (c.block == t.block && (c.time <= t.floor || c.writer == t.index));
    if (c.state != cell_state::copied || c.block != t.block) return false;
    const std::vector<stamp>& copies = t.known->own->copies;
    const auto at = static_cast<std::size_t>(c.writer - t.block_threads);
    return at < copies.size() && c.time <= copies[at];
  }
  [[gnu::always_inline]] bool surely_knows_readers(const thread_model& t, const cell& c) {
    const auto levelled = [&](const reader& r) {
      return r.block == t.block && r.time <= t.floor && r.kind == warp_reads;
    };
    if (c.first.lanes != 0 && !levelled(c.first)) return false;
    for (std::uint32_t more = c.more; more != 0; more = memory_.group(more).next)
      if (!levelled(memory_.group(more).reader)) return false;
    return true;
  }
  // Records an ordinary write that is ordered after all accesses in the cell.
  [[gnu::always_inline]] void write_over(cell& c, const thread_model& t, place_number place) {
    memory_.clear_readers(c);
    c.block = t.block;
    c.writer = t.as_actor();
    c.state = cell_state::written;
    c.strength = 0;
    c.time = *t.time;
    c.place = place;
  }

  // Accesses by the host: a copy in stream order, with `w` as its accessor, and a direct access to memory
  // shared with the device (managed), which needs the launches concerned to be synchronised. A system-scope
  // atomic operation of the host does not conflict with such operations of kernels.
  void host_copy(const accessor& w, std::size_t offset, std::size_t bytes);
  void host_touch(const accessor& w, const void* p);
  // Memory that was never written, allocated in stream order: it is there for what comes after `w`.
  void allocated(const accessor& w, const void* p);

  void holds_barrier(const void* word);  // its last write has initialised an mbarrier
  // The host has written the address of its virtual functions there, which are none of the device's: a kernel
  // must not read it.
  void holds_host_table(const void* word);
  void updates_at(place_number p) { updates_.insert(p); }  // a read-modify-write is at this place
  bool updates(place_number p) const { return updates_.contains(p); }
  // From here on memory that was never written is no fault: launches ran only some of their blocks.
  void forgive_unwritten() { forgiving_ = true; }
  bool forgives(std::size_t offset) const { return forgiving_ && offset >= shadow::shared_bytes; }
  bool misled() const { return misled_; }  // a thread has read such memory

  // Of the launch in progress: what only a const parameter with __restrict__ points to.
  std::vector<address_range> read_only;
  bool reads_afresh = false;  // the load in progress does not use that

  run_effort effort;
  std::function<void(const accessor&)> takes_long;  // called at every access once effort.too_much()
  void (*stop)(const char* why) = nullptr;          // leaves the running thread for good
  void (*end_long_run)() = nullptr;                 // the same, where the run has taken too long

 private:
  void read_cell(const accessor& w, cell& c, std::size_t offset);
  void write_cell(const accessor& w, cell& c, std::size_t offset);
  void add_reader(const thread_model& t, const reader& r, cell& c);
  void check_barrier(const accessor& w, const cell& c, std::size_t offset) const;
  void check_writer(const accessor& w, cell& c, std::size_t offset, finding_kind if_copied);
  void check_readers(const accessor& w, cell& c, std::size_t offset);
  void cover(const accessor& w, cell& c);
  bool knows(const thread_model& t, const reader& r) const;
  // Strong operations of two threads do not race if their scopes include each other and they have one size.
  bool strong(strength_bits a, block_number block_a, strength_bits b, block_number block_b) const {
    return of_one_size(a, b) && clocks_.strong(reach_of(a), block_a, reach_of(b), block_b);
  }
  // by read-only loads of this launch: of the same thread, or of two others, more of which make no difference
  bool read_as_constant(const thread_model& t, const cell& c);
  const char* taken_as_constant(const accessor& w, const cell& c, std::size_t offset) const;
  bool observed(const thread_model& t, const cell& c, const reader& r) const;
  bool may_be_under_way(const accessor& w, const reader& r, std::size_t offset) const;
  bool needs_fence(const accessor& w, const cell& c, std::size_t offset) const;
  void check_access(const accessor& w, std::size_t offset, std::size_t bytes);
  void report_outside(const accessor& w, const void* p) const;
  void report_missing(const accessor& w, const cell& c, std::size_t offset) const;
  bool has_owner(const accessor& w, std::size_t offset, std::size_t bytes) const;
  // Offset of the first cell if the access is whole words of global memory or of the own block; else
  // shadow::outside.
  [[gnu::always_inline]] inline std::size_t words_at(const thread_model& t, const void* p,
                                                     std::size_t bytes) const;
  std::uint32_t warps_of(const reader& r) const {  // warps that a reader_group for it has room for
    return r.by_copy() ? 1 : static_cast<std::uint32_t>((clocks_.block(r.block).threads + 31) / 32);
  }
  bool keeps_beside(std::uint32_t& link, const reader& r);
  void unlink(std::uint32_t& link);

  shadow& memory_;
  const happens_before& clocks_;
  const launch_order& launches_;
  const host_memory& host_;
  conflict_sink found_;
  std::unordered_set<place_number> updates_;     // of read-modify-writes
  std::unordered_set<std::size_t> host_tables_;  // words of objects that the host has constructed
  bool forgiving_ = false, misled_ = false;
};

}  // namespace antiphase::checker_detail
