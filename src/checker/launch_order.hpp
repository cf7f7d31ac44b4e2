// SPDX-License-Identifier: Apache-2.0
// Order of launches.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <utility>
#include <vector>

#include "knowledge.hpp"

namespace antiphase::checker_detail {

// Whether a launch may begin while earlier ones on its stream still run (programmatic dependent launch).
enum class overlap : bool { no, yes };

// Orders launches by streams, events and host synchronisation. A launch is identified by the numbers of its
// blocks.
//
// Launches on one stream are ordered, as is any launch with those on the default stream (null). Launches on
// two other streams are not, unless something waited in between. Assumes: launches begin and end one after
// the other, and later ones have higher block numbers.
class launch_order {
 public:
  struct past_launch {
    block_number first, last;
    stream on;
  };
  using launches = std::vector<past_launch>;

  // Blocks of the launch are numbered from `first` on. If it overlaps, block `first` stands for all earlier
  // launches on the stream: a thread that knows that block, as each does after its wait, knows those
  // launches.
  void begin(stream on, block_number first, overlap with_previous);
  void end(block_number behind);
  // a copy by the host's order: it never overlaps
  void end_copy(block_number behind);
  void synchronize(stream on);  // null: all
  // the default stream, and all launches ordered with it
  void synchronize_default();
  // the stream is not ordered with the default stream (cudaStreamNonBlocking)
  void apart_from_default(stream s);
  // Launches covered by an event recorded on `on`: whatever waits for the event comes after these.
  launches recorded(stream on) const;
  void order_after(stream on, const launches& these);  // for later launches on the stream
  void synchronize(const launches& these);             // the host waits for these

  block_number first() const { return first_; }  // of the launch under way
  // the launch under way knows all blocks before this one
  block_number first_visible() const { return first_visible_; }
  // every later launch knows all blocks before this one
  block_number first_pending() const { return first_pending_; }
  // block that stands for the launches this one overlaps; 0: none
  block_number previous() const { return previous_; }
  // `b`, of an earlier launch, is ordered before this launch, or overlaps it on the same stream
  bool ordered(block_number b) const;
  bool overlapped(block_number b) const;      // `b` is of a launch that this one overlaps
  bool unsynchronised(block_number b) const;  // the host has not waited for its launch

 private:
  bool in_order(stream a, stream b) const;
  bool ordered_by_event(stream on, const past_launch& p) const;

  block_number first_ = 1, first_visible_ = 1, first_pending_ = 1, previous_ = 0;
  stream on_ = nullptr;
  // launches that the one under way is not ordered with; those that a later one may not be ordered with
  launches unordered_, pending_;
  launches unsynchronised_;
  // those that a later overlapping launch on their stream may overlap
  launches chain_;
  std::vector<stream> apart_;  // not ordered with the default stream
  // streams, and first blocks of launches on other streams that they come after
  std::vector<std::pair<stream, block_number>> ordered_;
};

}  // namespace antiphase::checker_detail
