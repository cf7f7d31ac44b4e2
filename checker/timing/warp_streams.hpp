// SPDX-License-Identifier: Apache-2.0
// Instructions of warps, put together from what their lanes do one after the other.
#pragma once
#include <antiphase/checker.hpp>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "checker/order/happens_before.hpp"
#include "checker/order/place_table.hpp"
#include "requests.hpp"

namespace antiphase::checker_detail {

// An act of a lane. `is` says what `at` and `more` mean.
struct lane_event {
  enum class kind : std::uint8_t {
    access,         // at: offset in the shadow; more: the fill that was read or written, see timed_block
    meeting,        // at: its number
    arithmetic,     // bytes: instructions
    commit,         // of cp.async
    copy_wait,      // bytes: groups that may be left
    arrive,         // at an mbarrier; at: its offset; more: its phase
    copies_arrive,  // the same when the thread's copies have landed
    wait,           // for the end of a phase of an mbarrier
    named_arrive,   // at: the named barrier; more: its generation
    named_wait,     // the same
    bulk_load,      // at, bytes: destination; more: a number, see timed_block
    matrix,         // bytes: multiply-adds of the warp; what: async_copy if asynchronous, then at and more
                    // are those of an access
    matrix_commit,  // of asynchronous ones
    matrix_wait,    // bytes: groups that may be left
  };
  kind type{};
  line_action action{};
  line_memory memory{};
  place_number place = 0;
  std::uint32_t bytes = 0, more = 0;
  std::uint64_t moment = 0;
};

// Who is reported of them, in the order of each warp's program.
struct warp_listener {
  virtual ~warp_listener() = default;
  // `first`: of the lowest lane of `lanes`; addresses are those of an access.
  virtual void instruction(block_number block, int warp, const lane_event& first,
                           const warp_request& lanes) = 0;
  // The warp, or a part of it, met others.
  virtual void met(block_number, int /*warp*/, std::uint64_t /*meeting*/, place_number /*at*/) {}
};

// Lanes of a warp run one after the other here; on a GPU they make one request together. Each lane's events
// are kept until its warp has met or ended, and are then put together: of the lanes' next events, those of
// the lowest place in the code are one instruction, waits last. As compilers lay code out, the others are
// after a branch or a loop that these lanes have still to leave, so that lanes come together again where
// they would on a GPU.
//
// Assumes: one OS thread reports everything, in the order in which it happens.
class warp_streams {
 public:
  warp_streams(place_table& places, warp_listener& to) : places_(places), to_(to) {}

  void add(const thread_model& t, lane_event e);
  // An access: `at` is its offset in the shadow. In parts, as instructions make it.
  void access(const thread_model& t, lane_event e);
  void met(std::span<thread_model* const> threads, place_number at);
  void ended(const thread_model& t);
  void end_block(block_number block);

 private:
  struct warp {
    std::uint32_t all = 0, ended = 0;  // lanes
    struct meeting {
      std::uint32_t lanes;
      std::uint64_t number;  // in the run
      place_number place;
    };
    std::vector<meeting> meetings;
    std::array<std::vector<lane_event>, 32> events;
  };
  using warp_key = std::pair<block_number, std::uint16_t>;

  warp& warp_of(const thread_model& t);
  place_number users_place(place_number p);
  void put_together(const warp_key& key, warp& w);

  place_table& places_;
  warp_listener& to_;
  std::uint64_t meetings_ = 0;
  std::map<warp_key, warp> warps_;
  std::unordered_map<place_number, bool> of_machinery_;  // whether no line of the user's is at a place
};

}  // namespace antiphase::checker_detail
