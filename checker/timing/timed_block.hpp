// SPDX-License-Identifier: Apache-2.0
// Instructions of the warps of one block, to which replay() gives times.
#pragma once
#include <antiphase/executor/executor.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "warp_streams.hpp"

namespace antiphase::checker_detail {

// An instruction of a warp. `moment` and `more` as in lane_event.
struct warp_op {
  lane_event::kind type{};
  line_action action{};
  line_memory memory{};
  place_number place = 0;
  std::uint32_t lanes = 0;
  std::uint32_t bytes = 0;  // of a lane
  std::uint32_t units = 0;  // wavefronts or sectors
  std::uint32_t more = 0;
  std::uint64_t moment = 0, last = 0;  // last: `moment` of the last lane

  bool accesses(line_memory where, line_action how) const {
    return type == lane_event::kind::access && memory == where && action == how;
  }
  bool loads() const { return accesses(line_memory::global, line_action::read); }
  bool reads_shared() const { return accesses(line_memory::shared, line_action::read); }
  bool writes_shared() const { return accesses(line_memory::shared, line_action::write); }
};

struct timed_block {
  std::string kernel;
  extent3 grid;
  int threads = 0;
  int warps = 0;
  std::uint32_t shared_words = 0;         // that it used, of 4 bytes
  std::uint64_t global_bytes = 0;         // that it read
  std::vector<std::vector<warp_op>> ops;  // by warp
  // Writes to shared memory by one warp without a barrier, a commit, a wait or an arrival between are one
  // fill; an access's `more` is its number, or that of what it reads. 0: none.
  struct fill {
    int warp = 0;
    std::uint32_t segment = 0;  // of its writer: barriers and the like before it
    std::uint32_t part = 0;     // where split_fills() has divided one: which of its parts
  };
  std::vector<fill> fills{{}};
  // A bulk load's destination and the mbarrier that counts it, by the load's `moment`.
  struct counted {
    std::uint64_t destination = 0, word = 0;
    std::uint32_t phase = 0;
  };
  std::vector<counted> bulk_loads{};
};

// Divides fills of several slots that follow each other without a barrier, as in a prologue: later ones fill
// the same slots one by one.
void split_fills(timed_block& b);

// Records one block of each kernel: that of the index asked for, in the launch in which it does most.
class timed_blocks final : public warp_listener {
 public:
  // `wanted`: index of the block in its grid
  explicit timed_blocks(std::uint64_t wanted) : wanted_(wanted) {}

  void begin_launch(const char* kernel, extent3 grid, int threads);
  void begin_block(block_number block, extent3 index, std::uint32_t lowest, std::uint32_t highest);
  void end_block(block_number block);
  bool wants(const thread_model& t) const { return t.block == block_; }

  // All of these are of a thread whose block it wants. Its next event, which others come to by program order.
  lane_event access(const thread_model& t, lane_event e);
  lane_event order(const thread_model& t, lane_event::kind is, place_number place, std::uint64_t at = 0,
                   std::uint32_t bytes = 0);
  lane_event bulk_load(const thread_model& t, std::uint64_t to, std::uint32_t bytes, std::uint64_t word,
                       place_number place);
  // `at`: of its first operand, if that is in shared memory
  lane_event matrix(const thread_model& t, std::optional<std::uint64_t> at, std::uint32_t multiply_adds,
                    place_number place);
  void phase_ended(std::uint64_t word) { ++phases_[word]; }
  void passed(std::uint64_t named) { ++generations_[named]; }
  void met(const thread_model& t) { ++segments_[static_cast<std::size_t>(t.index)]; }

  void instruction(block_number block, int warp, const lane_event& first, const warp_request& r) override;
  void met(block_number block, int warp, std::uint64_t meeting, place_number at) override;

  const std::vector<timed_block>& blocks() const { return done_; }

 private:
  static constexpr int most_launches = 8;  // of a kernel
  std::uint32_t fill_of(const thread_model& t);
  void touch(const thread_model& t, lane_event& e, bool fills);  // shared memory
  void add(int warp, const warp_op& op);
  void flush(int warp);

  std::uint64_t wanted_;
  block_number block_ = 0;  // in progress; 0: none
  timed_block now_;
  std::string kernel_;
  extent3 grid_;
  int threads_ = 0;
  std::map<std::string, int> launches_;
  std::uint64_t lowest_ = 0;
  std::vector<std::uint32_t> words_, segments_;  // fills, by word; by thread
  std::vector<bool> used_;
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> fills_;  // by warp and segment
  std::map<std::uint64_t, std::uint32_t> phases_, generations_;
  std::vector<warp_op> arithmetic_;  // by warp: of the basic block in progress, bytes: 0 if there is none
  std::vector<timed_block> done_;
};

}  // namespace antiphase::checker_detail
