// SPDX-License-Identifier: Apache-2.0
// Lanes of a warp that count on lockstep. Volatile accesses do not race, so a reduction whose last warp has them and no __syncwarp() is
// judged by what lanes do alike. A lane reads a word, behind a write of its own to another word, and goes on without reading it again; and
// a lane of its warp writes the first word later, by the same instruction that had written the other. In lockstep that would have come
// before the read. A lane that waits for the word reads it again, and flags that all lanes set are one word: neither is reported.
#include <algorithm>

#include "accessor.hpp"

namespace antiphase::checker_detail {

void model::report_lockstep(const too_early& early) {
  const accessor w{.thread = *early.writer, .kind = access_kind::write, .place = early.place, .bytes = early.bytes};
  report(w, finding_kind::race, reinterpret_cast<std::uintptr_t>(followed(early.at)) - memory_.lowest(), nullptr, &early.by,
         "__syncwarp() between the two: lanes of a warp do not run in lockstep, and volatile does not make them");
}
void model::report_lockstep(block_number of) {
  std::erase_if(too_early_, [&](const too_early& early) {
    if (early.by.block != of) return false;
    report_lockstep(early);
    return true;
  });
}

void model::volatile_read(const void* p, const void* code) {
  thread_model& t = *current_;
  std::erase_if(too_early_, [&](const too_early& early) {
    return early.at == p && early.by.block == t.block && early.by.unit == t.warp && early.by.lanes == t.lane && early.by.time == *t.time;
  });
  if (t.block_threads < 2 || lane_reads_.size() >= most_lane_reads) return;
  lane_reads_[key_of(p, t.warp)][static_cast<std::size_t>(t.index % 32)] = {++volatile_accesses_, t.block, *t.time, number_of_code(code)};
}

void model::volatile_write(const void* p, std::size_t bytes, const void* code) {
  thread_model& t = *current_;
  const place_number place = number_of_code(code);
  if (const auto at = lane_reads_.find(key_of(p, t.warp)); at != lane_reads_.end()) {
    for (int lane = 0; lane < 32; ++lane) {
      const lane_read& read = at->second[static_cast<std::size_t>(lane)];
      const int other = t.warp * 32 + lane;
      if (read.block != t.block || other == t.index || knows(t, t.block, static_cast<actor>(other), read.time)) continue;
      const lane_writes& theirs = (&t)[other - t.index].written;  // threads of a block lie in a row
      if (theirs.time != read.time) continue;
      const auto same = std::ranges::find(theirs.first, place, &lane_writes::write::place);
      if (same == theirs.first.end() || same->number > read.number || same->at == p) continue;
      const reader by{t.block, t.warp, 0, warp_reads, read.time, 1u << lane, read.place};
      const too_early early{p, &t, place, bytes, by};
      if (theirs.last > read.number)
        report_lockstep(early);
      else if (too_early_.size() < 64)
        too_early_.push_back(early);  // it may read again
    }
  }
  lane_writes& mine = t.written;
  if (mine.time != *t.time) {
    mine.time = *t.time;
    mine.first.clear();
  }
  mine.last = ++volatile_accesses_;
  if (std::ranges::find(mine.first, place, &lane_writes::write::place) == mine.first.end()) mine.first.push_back({place, mine.last, p});
}

}  // namespace antiphase::checker_detail
