// SPDX-License-Identifier: Apache-2.0
// Which launches come before which.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <utility>
#include <vector>

#include "knowledge.hpp"

namespace antiphase::checker_detail {

// Whether a launch may begin while those before it on its stream still run (programmatic dependent launch).
enum class overlap : bool { no, yes };

// Orders launches by streams, events and what the host has waited for. A launch is known by the numbers of
// its blocks.
//
// Launches on one stream are ordered, as are all with the default stream (null). Those of two other streams
// are not, unless somebody waited in between. It assumes that launches begin and end one after the other, and
// that later ones have higher numbers.
class launch_order {
 public:
  struct past_launch {
    block_number first, last;
    stream on;
  };
  using launches = std::vector<past_launch>;

  // Its blocks have the numbers from `first` on. If it overlaps, the first of them stands for all launches
  // before it on the stream: a thread that knows of that one, as all do behind their wait, knows of those.
  void begin(stream on, block_number first, overlap with_previous);
  void end(block_number behind);
  // a copy that the host has ordered: it never overlaps
  void end_copy(block_number behind);
  void synchronize(stream on);  // null: all
  // the default stream, and those that are ordered with it
  void synchronize_default();
  // it is ordered with the default stream no more than with others
  void apart_from_default(stream s) { apart_.push_back(s); }
  // What an event stands for that is recorded on a stream: the launches under way that whoever waits for it
  // comes after.
  launches recorded(stream on) const;
  void order_after(stream on, const launches& these);  // what comes on the stream from now on
  void synchronize(const launches& these);             // the host

  block_number first() const { return first_; }  // of the launch under way
  // all before it are known to the whole launch
  block_number first_visible() const { return first_visible_; }
  // and all before this one to any launch to come
  block_number first_pending() const { return first_pending_; }
  // a block that stands for the launches that this one overlaps; 0: none
  block_number previous() const { return previous_; }
  // of an earlier launch: this one comes after it
  bool ordered(block_number b) const;
  bool overlapped(block_number b) const;      // or begins while it runs
  bool unsynchronised(block_number b) const;  // the host has not waited for it

 private:
  bool in_order(stream a, stream b) const;
  bool ordered_by_event(stream on, const past_launch& p) const;

  block_number first_ = 1, first_visible_ = 1, first_pending_ = 1, previous_ = 0;
  stream on_ = nullptr;
  // with the launch under way; that some launch to come may not be ordered with
  launches unordered_, pending_;
  launches unsynchronised_;
  // that an overlapping launch to come on their stream may overlap
  launches chain_;
  std::vector<stream> apart_;  // not ordered with the default stream
  // streams and launches of others that they come after
  std::vector<std::pair<stream, block_number>> ordered_;
};

}  // namespace antiphase::checker_detail
