// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory that count arrivals and bytes.
#pragma once
#include <map>
#include <vector>

#include "happens_before.hpp"

namespace antiphase::checker_detail {

// What mbarriers pass on: to whoever has waited for the end of a phase, what those knew that arrived in it,
// and that the copies which it counts have landed. And what is known of the barrier's own word: that it is
// initialised.
//
// It assumes that the executor tells when a phase ends; it counts nothing itself.
class mbarrier_order {
 public:
  // Words are known by their distance from `lowest`.
  mbarrier_order(happens_before& clocks, std::uintptr_t lowest) : clocks_(clocks), lowest_(lowest) {}
  void clear() { all_.clear(); }
  bool any_in(const block_record& b) { return first(b) != behind(b); }

  // A copy that a barrier counts: who started it, where, and how much of that thread's copies (cp.async) it
  // waits for; 0: it is a load.
  struct counted_copy {
    block_number block = 0;
    int thread = 0;
    place_number place = 0;
    stamp tracked = 0;
  };
  // The last copies that nobody has waited for; the barriers are gone.
  std::vector<counted_copy> end_block(const block_model& b);

  void init(const thread_model& t, const void* word);
  // fence.mbarrier_init: of what the thread did, only that it has initialised barriers
  void fence(const thread_model& t);
  // Whether the thread knows of another block's barrier that it is initialised, though nothing was released.
  bool told_of(const thread_model& t, const void* word);
  // At the cluster's barrier: it arrives, whether or not that releases anything; it has waited, for whatever
  // that told it.
  void arrive_in_cluster(const thread_model& t);
  void met_in_cluster(thread_model& t);

  void arrive(thread_model& t, const void* word) {
    clocks_.release(t, at(word).arrived, "arrives at an mbarrier");
  }
  void end_phase(const void* word);
  void wait(thread_model& t, const void* word);
  // An arrival that follows when this thread's copies so far have landed: their number, and when it is there.
  stamp track_copies(thread_model& t, const void* word);
  void arrive_with_copies(const thread_model& t, const void* word, stamp tracked);
  struct load {
    actor number;
    stamp phase;
    bool init_fenced;  // the engine sees the barrier initialised
  };
  load begin_load(const thread_model& t, const void* word, place_number place);

 private:
  struct mbarrier {
    knowledge_ptr arrived;  // by all arrivals so far
    knowledge_ptr ended;    // as of the end of the last phase
    struct counted {
      block_number block;  // whose threads start them
      actor number;        // theirs, in that block
    };
    std::vector<counted> loads;  // the copies it counts
    stamp phase = 0;             // phases ended
    int initialised_by = -1;
    bool init_fenced = false;  // the copy engine sees it initialised
    // the cluster's barrier, counted from 1, behind which its other blocks know that; 0: none
    int told = 0;
    stamp last_load = 0, waited = 0;  // phases: that counts the last copy, that somebody has seen the end of
    counted_copy last;
  };
  using mbarriers = std::map<std::uint32_t, mbarrier>;

  std::uint32_t offset_of(const void* word) const {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(word) - lowest_);
  }
  mbarrier& at(const void* word) { return all_[offset_of(word)]; }
  mbarriers::iterator first(const block_record& b) { return all_.lower_bound(b.lowest); }
  mbarriers::iterator behind(const block_record& b) { return all_.lower_bound(b.highest); }
  actor counted_by(mbarrier& b, const thread_model& t);

  happens_before& clocks_;
  std::uintptr_t lowest_;
  mbarriers all_;
};

}  // namespace antiphase::checker_detail
