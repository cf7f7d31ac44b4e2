// SPDX-License-Identifier: Apache-2.0
// Counts what the lines of kernels ask memory for in a run.
#pragma once
#include <antiphase/checker.hpp>
#include <array>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "happens_before.hpp"
#include "place_table.hpp"
#include "requests.hpp"

namespace antiphase::checker_detail {

// Lanes of a warp run one after the other here; on a GPU they make one request together. Each lane's accesses
// are kept until its warp has met or ended, and are then put together: of the lanes' next accesses, those of
// the lowest place in the code are one request. As compilers lay code out, the others are behind a branch or
// a loop that these lanes have still to leave, so that lanes come together again where they would on a GPU.
//
// Assumes: one OS thread reports everything, in the order in which it happens.
class access_counts {
 public:
  explicit access_counts(place_table& places) : places_(places) {}

  void begin_launch(const std::string& kernel);
  // `at`: offset in the shadow.
  void access(const thread_model& t, line_action what, line_memory memory, std::uint64_t at,
              std::size_t bytes, place_number place);
  void met(std::span<thread_model* const> threads);
  void ended(const thread_model& t);
  void end_block(block_number block);

  std::vector<line_count> lines() const;  // by kernel, in the order of first launches, then by line

 private:
  struct event {
    std::uint64_t at = 0;  // offset; of a meeting its number
    place_number place = 0;
    std::uint32_t bytes = 0;
    line_action what{};
    line_memory memory{};
    bool is_meeting = false;
  };
  struct warp {
    std::uint32_t all = 0, ended = 0;  // lanes
    std::size_t kernel = 0;
    std::vector<std::uint32_t> meetings;  // lanes, by number
    std::array<std::vector<event>, 32> events;
  };

  warp& warp_of(const thread_model& t);
  place_number users_place(place_number p);
  void put_together(warp& w);
  void count(std::size_t kernel, const event& e, const warp_request& r);

  place_table& places_;
  std::vector<std::string> kernels_;
  std::size_t kernel_ = 0;  // under way
  std::map<std::pair<block_number, std::uint16_t>, warp> warps_;
  std::unordered_map<place_number, bool> of_machinery_;  // whether no line of the user's is at a place
  std::map<std::tuple<std::size_t, place_number, line_memory, line_action>, line_count> counted_;
};

}  // namespace antiphase::checker_detail
