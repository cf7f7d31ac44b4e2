// SPDX-License-Identifier: Apache-2.0
// Synchronisation by mbarriers.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atomic_order.hpp"

namespace antiphase::checker_detail {

// What mbarriers pass on: who has waited for the end of a phase knows what the threads that arrived in it
// knew, as far as order and scope of both allow, and that the copies counted in it have landed. Also whether
// a thread may rely on the mbarrier's own word being initialised.
//
// Assumes: the executor reports the end of phases; nothing is counted here.
class mbarrier_order {
 public:
  // Words are identified by their offset from `lowest`.
  mbarrier_order(happens_before& clocks, std::uintptr_t lowest)
      : clocks_(clocks), patterns_(clocks), lowest_(lowest) {}
  void clear() { all_.clear(); }
  bool any_in(const block_record& b) { return first(b) != behind(b); }

  // A copy that an mbarrier counts: its issuer and place. `tracked`: the last cp.async group of the issuer
  // that it waits for; 0: a bulk load.
  struct counted_copy {
    block_number block = 0;
    int thread = 0;
    place_number place = 0;
    stamp tracked = 0;
  };
  // Forgets the block's mbarriers; returns the last copy of each of which no thread knows that it has landed.
  std::vector<counted_copy> end_block(const block_model& b);

  void init(const thread_model& t, const void* word, place_number at = 0);
  // It has been initialised, and that is the last write there, by its place.
  bool is_valid(const void* word, place_number last_write) const;
  // Every copy that it counts has been waited for, and only its own block knows it, without a fence.
  bool is_idle(const void* word) const;
  // fence.mbarrier_init: releases nothing but the initialisations by this thread
  void fence(const thread_model& t);
  // True if another thread's mbarrier is known to be initialised by fence.mbarrier_init and a cluster barrier
  // alone.
  bool told_of(const thread_model& t, const void* word);
  // The thread arrives at the cluster's barrier, released or relaxed; the thread has waited at it.
  void arrive_in_cluster(const thread_model& t);
  void met_in_cluster(thread_model& t);

  void arrive(thread_model& t, const void* word, machine::mbarrier_semantics how = {});
  // "32 lanes of a warp arrive together at an mbarrier that counts 2": of the block's mbarriers; empty: none.
  std::optional<std::pair<int, int>> crowded(const block_record& b);
  void end_phase(const void* word);
  void wait(thread_model& t, const void* word, machine::mbarrier_semantics how = {});
  // Begins an arrival that follows when this thread's copies so far have landed. Returns their last group,
  // for arrive_with_copies().
  stamp track_copies(thread_model& t, const void* word);
  void arrive_with_copies(const thread_model& t, const void* word, stamp tracked);
  // tcgen05.commit: the thread's products so far, and what they came after
  void arrive_with_products(thread_model& t, const void* word);
  struct load {
    actor number;
    stamp phase;
    bool init_fenced;  // the async proxy sees the mbarrier initialised
  };
  load begin_load(const thread_model& t, const void* word, place_number place);

 private:
  // What arrivals have released, as that of atomic writes. `landed`: copies, for whoever waits. `far`: what
  // threads of other blocks knew when they arrived, with whatever scope, and issuers of bulk copies when
  // these began. Where the scopes are too narrow, a wait takes their reads as over, as libraries do that load
  // into several blocks' shared memory, but does not see their writes. `products`: what issuers of products
  // knew when these were committed.
  struct released {
    atomic_order::state by_threads;
    knowledge_ptr landed, far, products;
    std::vector<block_number> blocks;  // the others, of whatever order: they have begun
  };
  struct mbarrier {
    released arrived, ended;  // so far; at the end of the last phase
    block_number owner = 0;
    struct counted {
      block_number block;  // that issues them
      actor number;        // in that block
    };
    std::vector<counted> loads;  // the actors whose copies it counts
    stamp phase = 0;             // phases ended
    int initialised_by = -1;
    place_number initialised_at = 0;
    bool init_fenced = false;  // the async proxy sees it initialised
    // number, from 1, of the cluster barrier after which the cluster's other blocks know that; 0: none
    int told = 0;
    stamp last_load = 0, waited = 0;  // phases: of the last copy, the last one waited for
    counted_copy last;
    struct lanes_of_warp {
      std::uint32_t lanes = 0, barriers = 0;
    };
    // by warp: its lanes that arrived between two block barriers, none of them twice
    std::vector<lanes_of_warp> latest;
    int together = 0;  // the most
  };
  using mbarriers = std::map<std::uint32_t, mbarrier>;

  std::uint32_t offset_of(const void* word) const {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(word) - lowest_);
  }
  mbarrier& at(const void* word) { return all_[offset_of(word)]; }
  atomic_operation operation(const void* word, order how, const machine::mbarrier_semantics& of) const {
    return {.location = reinterpret_cast<std::uintptr_t>(word),
            .kind = atomic_kind::update,
            .order = of.relaxed ? order::relaxed : how,
            .reach = of.reach,
            .follows_atomic = true};
  }
  mbarriers::iterator first(const block_record& b) { return all_.lower_bound(b.lowest); }
  mbarriers::iterator behind(const block_record& b) { return all_.lower_bound(b.highest); }
  actor counted_by(mbarrier& b, const thread_model& t);
  actor_record& copies_of(const thread_model& t) {
    block_record& r = clocks_.block(t.block);
    return r.actors[static_cast<std::size_t>(t.copies.number - r.threads)];
  }

  happens_before& clocks_;
  atomic_order patterns_;
  std::uintptr_t lowest_;
  mbarriers all_;
};

}  // namespace antiphase::checker_detail
