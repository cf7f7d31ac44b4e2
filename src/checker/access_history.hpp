// SPDX-License-Identifier: Apache-2.0
// What the last accesses to each byte were, and whether a new one conflicts with them.
#pragma once
#include <antiphase/checker.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "happens_before.hpp"
#include "host_memory.hpp"
#include "shadow.hpp"

namespace antiphase::checker_detail {

// The thread or engine that is about to access memory.
struct accessor {
  thread_model& thread;
  access_kind kind;
  place_number place;
  std::size_t bytes;
  scope reach{};  // of an atomic operation; none: 0
  actor_kind by = actor_kind::thread;
  actor number = 0;  // of an asynchronous actor
  stamp group = 0;
  std::string_view what{};   // instead of "read of 4 bytes"
  bool updates = false;      // an atomic operation that writes too: its write stands for it
  bool init_fenced = false;  // of an mbarrier that the engine sees

  void become(actor_kind k, actor n, stamp g) {
    by = k;
    number = n;
    group = g;
  }
  bool asynchronous() const { return by != actor_kind::thread; }
  // The engines behind bulk copies and Tensor Cores see ordinary writes only after a proxy fence; cp.async
  // sees them as the thread does.
  bool behind_proxy() const { return asynchronous() && by != actor_kind::copies; }
  actor as() const { return asynchronous() ? number : thread.as_actor(); }
  stamp time() const { return asynchronous() ? group : *thread.time; }
};

// What is wrong with an access: with the write or the read before it, or by itself.
struct conflict {
  finding_kind kind;
  std::size_t offset = shadow::outside;  // in memory
  const cell* write = nullptr;
  const reader* read = nullptr;
  std::string missing = {};  // empty: an order between the two
};
using conflict_sink = std::function<void(const accessor&, const conflict&)>;

// How long a run has taken so far, in accesses: atomic operations and barriers take longer.
struct run_effort {
  std::uint64_t accesses = 0, beside = 0;
  std::uint64_t most = 0;  // not 0: a run that has taken longer ends

  std::uint64_t total() const { return accesses + beside; }
  bool too_much() const { return most != 0 && total() > most; }
};

// Judges every access by what its cells say of the accesses before it, and writes it into them: the last
// write, and all reads since. Who is not in the thread's past is in conflict with it, in whatever order the
// two happened to run.
//
// It assumes that an access is told before it happens, and that what orders threads has been told to
// `clocks`. Conflicts go to the sink, many of them more than once. A cell's lists live in the shadow, which
// nobody else changes.
class access_history {
 public:
  access_history(shadow& memory, const happens_before& clocks, const launch_order& launches,
                 const host_memory& host, conflict_sink found)
      : memory_(memory), clocks_(clocks), launches_(launches), host_(host), found_(std::move(found)) {}
  void reset();

  void visit(const accessor& w, const void* p, std::size_t bytes) {
    const std::size_t offset = memory_.offset_of(p, bytes);
    if (offset != shadow::outside)
      judge(w, offset, bytes);
    else if (!host_.allows(p, bytes, w.kind))
      report_outside(w, p);
  }
  // Whole words that a thread reads for the first time at this time and place, or writes, of memory that is
  // its own block's or global. False: something more is to be looked at; nothing has been told or counted.
  bool reads_anew(const thread_model& t, const void* p, std::size_t bytes, place_number place);
  bool writes_anew(const thread_model& t, const void* p, std::size_t bytes, place_number place);

  // Cheap answers for what happens most; false: ask further.
  [[gnu::always_inline]] static bool surely_knows_writer(const thread_model& t, const cell& c) {
    if (c.scope != 0) return false;
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
      if (!levelled(memory_.group(more).of)) return false;
    return true;
  }
  // An ordinary write that comes behind all that the cell remembers.
  [[gnu::always_inline]] void write_over(cell& c, const thread_model& t, place_number place) {
    memory_.clear_readers(c);
    c.block = t.block;
    c.writer = t.as_actor();
    c.state = cell_state::written;
    c.scope = 0;
    c.time = *t.time;
    c.place = place;
  }

  // Of the host: a copy that it has ordered, which `w` stands for; and an access of its own to memory that it
  // shares with the device (managed), for which the launches it touches must have been waited for. An atomic
  // one of system scope does not disturb kernels'.
  void host_copy(const accessor& w, std::size_t offset, std::size_t bytes);
  void host_touch(const accessor& w, const void* p);

  void updates_at(place_number p) { updates_.insert(p); }  // an atomic operation there reads and writes
  // From here on, what nobody has written may have been left out: launches ran a part of their blocks only.
  void forgive_unwritten() { forgiving_ = true; }
  bool forgives(std::size_t offset) const { return forgiving_ && offset >= shadow::shared_bytes; }
  bool misled() const { return misled_; }  // a thread has read some of that

  run_effort effort;
  std::function<void()> takes_long;         // called at the next access of a run that has
  void (*stop)(const char* why) = nullptr;  // leaves the running thread for good

 private:
  void read_cell(const accessor& w, cell& c, std::size_t offset);
  void write_cell(const accessor& w, cell& c, std::size_t offset);
  void add_reader(const thread_model& t, const reader& r, cell& c);
  void check_writer(const accessor& w, cell& c, std::size_t offset, finding_kind if_copied);
  void check_readers(const accessor& w, cell& c, std::size_t offset);
  void cover(const accessor& w, cell& c);
  bool knows(const thread_model& t, const reader& r) const;
  bool observed(const thread_model& t, const cell& c, const reader& r) const;
  bool needs_fence(const accessor& w, const cell& c, std::size_t offset) const;
  void judge(const accessor& w, std::size_t offset, std::size_t bytes);
  void report_outside(const accessor& w, const void* p) const;
  void report_missing(const accessor& w, const cell& c, std::size_t offset) const;
  bool has_owner(const accessor& w, std::size_t offset, std::size_t bytes) const;
  // Where the cells are of whole words of global memory, or of the thread's own block; else shadow::outside.
  [[gnu::always_inline]] inline std::size_t words_at(const thread_model& t, const void* p,
                                                     std::size_t bytes) const;
  std::uint32_t warps_of(const reader& r) const {  // in a group of its like
    return r.by_copy() ? 1 : static_cast<std::uint32_t>((clocks_.block(r.block).threads + 31) / 32);
  }
  void unlink(std::uint32_t& link);

  shadow& memory_;
  const happens_before& clocks_;
  const launch_order& launches_;
  const host_memory& host_;
  conflict_sink found_;
  std::unordered_set<place_number> updates_;  // places of atomic operations that have read and written
  bool forgiving_ = false, misled_ = false;
};

}  // namespace antiphase::checker_detail
