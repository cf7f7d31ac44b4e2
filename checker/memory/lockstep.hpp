// SPDX-License-Identifier: Apache-2.0
// Finds lanes of a warp that rely on lockstep.
#pragma once
#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "access_history.hpp"
#include "checker/order/place_table.hpp"

namespace antiphase::checker_detail {

// Volatile accesses never race, so a warp reduction that has them but no __syncwarp() needs a rule of its
// own. It is reported if a lane A reads a word after writing another word, does not read it again, and lane B
// of its warp later writes the word A read, by the instruction with which A wrote. In lockstep B's write
// would have come before A's read. A lane that polls reads the word again, and a flag that all lanes set is
// one word: neither is reported.
//
// In shared memory it is also reported if A reads and writes in one line, and has done both before B writes,
// as in s[t] += s[t + 16]: a __syncwarp() after that line does not keep B from writing before A reads.
//
// Assumes: thread_models of a block are contiguous, and every volatile access is reported here after it has
// been checked.
class lockstep_watch {
 public:
  lockstep_watch(const shadow& memory, const happens_before& clocks, const place_table& places,
                 conflict_sink found)
      : memory_(memory), clocks_(clocks), places_(places), found_(std::move(found)) {}
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
  struct too_early {  // a read, and the write that lockstep would have put before it
    const void* address;
    thread_model* writer;
    place_number place;
    std::size_t bytes;
    checker_detail::reader reader;
  };
  static constexpr std::size_t most_reads = 1 << 14;
  static std::uint64_t key_of(const void* word, std::uint16_t warp) {
    return reinterpret_cast<std::uintptr_t>(word) | std::uint64_t{warp} << 48;
  }
  void report(const too_early& found) const;
  bool of_one_line(place_number a, place_number b);

  const shadow& memory_;
  const happens_before& clocks_;
  const place_table& places_;
  conflict_sink found_;
  std::unordered_map<std::uint64_t, std::array<lane_read, 32>> reads_;  // by word and warp
  std::vector<too_early> too_early_, of_one_line_;
  std::map<std::pair<place_number, place_number>, bool> known_lines_;
  std::uint64_t accesses_ = 0;
};

}  // namespace antiphase::checker_detail
