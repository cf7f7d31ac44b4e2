// SPDX-License-Identifier: Apache-2.0
// Lanes of a warp that count on lockstep.
#pragma once
#include <array>
#include <unordered_map>
#include <vector>

#include "access_history.hpp"

namespace antiphase::checker_detail {

// Volatile accesses do not race, so a reduction whose last warp has them and no __syncwarp() is judged by
// what lanes do alike. A lane reads a word, behind a write of its own to another word, and goes on without
// reading it again; and a lane of its warp writes the first word later, by the same instruction that had
// written the other. In lockstep that would have come before the read. A lane that waits for the word reads
// it again, and flags that all lanes set are one word: neither is reported.
//
// It assumes that threads of a block lie in a row, and that every volatile access is told behind its
// judgement.
class lockstep_watch {
 public:
  lockstep_watch(const shadow& memory, const happens_before& clocks, conflict_sink found)
      : memory_(memory), clocks_(clocks), found_(std::move(found)) {}
  void begin_launch();
  void end_block(block_number of);
  void read(const thread_model& t, const void* p, place_number place);
  void write(thread_model& t, const void* p, std::size_t bytes, place_number place);

 private:
  // The last volatile read of a word by a lane.
  struct lane_read {
    std::uint64_t number = 0;
    block_number block = 0;
    stamp time = 0;
    place_number place = 0;
  };
  struct too_early {  // a read, and the write that should have come before it
    const void* at;
    thread_model* writer;
    place_number place;
    std::size_t bytes;
    reader by;
  };
  static constexpr std::size_t most_reads = 1 << 14;
  static std::uint64_t key_of(const void* word, std::uint16_t warp) {
    return reinterpret_cast<std::uintptr_t>(word) | std::uint64_t{warp} << 48;
  }
  void report(const too_early& found) const;

  const shadow& memory_;
  const happens_before& clocks_;
  conflict_sink found_;
  std::unordered_map<std::uint64_t, std::array<lane_read, 32>> reads_;  // by word and warp
  std::vector<too_early> too_early_;
  std::uint64_t accesses_ = 0;
};

}  // namespace antiphase::checker_detail
