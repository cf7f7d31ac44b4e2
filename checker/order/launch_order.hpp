// SPDX-License-Identifier: Apache-2.0
// Order of launches.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <map>
#include <memory>
#include <vector>

#include "knowledge.hpp"

namespace antiphase::checker_detail {

// Whether a launch may begin while earlier ones on its stream still run (programmatic dependent launch).
enum class overlap : bool { no, yes };

// Launches of a run are numbered from 0; a copy by the host's order is one too.
using launch_number = std::uint32_t;

// A set of launches that have ended: all before `end` but the unknown ones, which are few.
class past {
 public:
  bool knows(launch_number n) const {
    return n < end_ && !std::binary_search(unknown_.begin(), unknown_.end(), n);
  }
  void add(const past& more);
  void add(launch_number n);
  void add_all(launch_number end) { end_ = end, unknown_.clear(); }
  // the first launch before `end` that is not in it; `end`: none
  launch_number first_unknown(launch_number end) const {
    return !unknown_.empty() ? unknown_.front() : std::min(end_, end);
  }

 private:
  void extend(launch_number end);

  launch_number end_ = 0;
  std::vector<launch_number> unknown_;  // sorted
};

// Orders launches by streams, events and host synchronisation. A launch is identified by the numbers of its
// blocks.
//
// Launches on one stream are ordered, as is any launch with those on the default stream (null). Launches on
// two other streams are not, unless something waited in between. A launch that overlaps the kernel before it
// knows that one after its own wait only. The end of a kernel implies the end of what it has waited for; its
// beginning, that all blocks of the kernel before it have let it begin, or have ended. So a launch knows more
// of a row of kernels from the start if one of these waited before it let the next begin. Assumes: launches
// begin and end one after the other, and later ones have higher block numbers.
class launch_order {
  struct kernel_end;  // a kernel that has ended, as far as one that overlaps it may know

 public:
  using kernel_ptr = std::shared_ptr<const kernel_end>;

  // Blocks of the launch are numbered from `first` on. If it overlaps, block `first` stands for the launches
  // that it knows after its wait only: a thread that knows that block, as each does after its wait, knows
  // them.
  void begin(stream on, block_number first, overlap with_previous);
  void end(block_number behind);
  void end_copy(block_number behind);  // a copy by the host's order: no launch overlaps it
  // a thread of the block waits for the launches before / lets the next begin; `waited`: after such a wait
  void waits(block_number block);
  void lets_begin(block_number block, actor thread, stamp time, bool waited);
  // Called when the host is about to wait for launches; null: not called.
  void (*host_waits)() = nullptr;
  void synchronize(stream on);  // null: all
  // the default stream, and all launches ordered with it
  void synchronize_default();
  // the stream is not ordered with the default stream (cudaStreamNonBlocking)
  void apart_from_default(stream s) { apart_.push_back(s); }
  bool is_apart(stream s) const;
  void forget(stream s);      // it will not be used again
  void other_work(stream s);  // no launch, but what comes before the next one: that one overlaps nothing
  // Launches covered by an event recorded on `on`: whatever waits for the event comes after these.
  past recorded(stream on) const;
  void order_after(stream on, const past& these);  // for later launches on the stream
  void synchronize(const past& these);             // the host waits for these
  void synchronize_before(block_number b);  // the host knows that b has begun: what it came after is over
  bool has_waited(const past& for_these) const;
  // the latest launch that has ended; and whether one on this stream would come after it
  launch_number latest() const { return static_cast<launch_number>(all_.size() - 1); }
  bool comes_after(launch_number n, stream on) const { return recorded(on).knows(n); }
  // the last kernel on the stream; null: something else came last
  kernel_ptr last_kernel(stream on) const;
  // later launches on the stream may begin as soon as all blocks of the kernel let them
  void overlap_with(stream on, const kernel_ptr& k);
  // the same kernel, if its blocks let others begin at once
  static kernel_ptr at_once(const kernel_ptr& k);
  static past begun(const kernel_ptr& k);  // launches that ended before the next kernel could begin

  block_number first() const { return first_; }  // of the launch in progress
  // the launch in progress knows all blocks before this one
  block_number first_visible() const { return first_visible_; }
  // every later launch knows all blocks before this one
  block_number first_pending() const { return first_pending_; }
  // block that stands for the launches this one overlaps; 0: none
  block_number previous() const { return previous_; }
  // `b`, of an earlier launch, is ordered before this launch
  bool known(block_number b) const { return begin_.knows(launch_of(b)); }
  // the same, or this launch's wait covers it
  bool ordered(block_number b) const { return after_.knows(launch_of(b)); }
  bool overlapped(block_number b) const { return !known(b) && ordered(b); }
  // what the thread did at this time came after it had let the launch in progress begin
  bool did_late(block_number b, actor thread, stamp time) const;
  // `b` had ended when this launch began, though its writes may not be visible yet
  bool over(block_number b) const;
  bool covers(const past& these, block_number b) const { return these.knows(launch_of(b)); }
  bool on_same_stream(block_number b) const;
  bool unsynchronised(block_number b) const;  // the host has not waited for its launch

 private:
  // When threads first let the next launch begin.
  using early_starts = std::map<std::pair<block_number, actor>, stamp>;
  struct kernel_end {
    launch_number number;
    bool lets_begin, waited, gated;   // gated: a block waited before it let the next launch begin, or ended
    past begin, after;                // what it knew: at its beginning, after its wait
    std::vector<launch_number> over;  // ended when it began
    early_starts early;
    const past& at_end() const { return waited ? after : begin; }
    const past& before_next() const { return gated ? after : begin; }
  };
  struct lane {
    past known;                          // by the next launch that overlaps nothing
    past since;                          // the part of it that came from other streams, after `last`
    kernel_ptr last;                     // null: something else came last
    std::vector<kernel_ptr> overlapped;  // on other streams, by programmatic events
  };
  struct past_launch {
    block_number first, last;
    antiphase::stream stream;
    past begin;  // what it knew when it began
  };

  past of_others(stream on) const;
  launch_number launch_of(block_number b) const;  // ~0: not of an ended launch
  void close(block_number behind, const past& known);

  block_number first_ = 1, first_visible_ = 1, first_pending_ = 1, previous_ = 0;
  stream on_ = nullptr;
  past begin_, after_;  // what the launch in progress knows
  std::vector<launch_number> over_;
  std::vector<kernel_ptr> before_;  // that it overlaps
  early_starts early_;
  enum : unsigned char { a_wait = 1, an_early_start = 2 };
  std::vector<unsigned char> blocks_;  // what threads of each block did, by number
  bool lets_begin_ = false;
  std::vector<past_launch> all_;
  past host_;  // what the host has waited for
  std::map<stream, lane> lanes_;
  std::vector<stream> apart_;  // not ordered with the default stream
};

}  // namespace antiphase::checker_detail
