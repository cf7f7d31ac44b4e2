// SPDX-License-Identifier: Apache-2.0
#include "lockstep.hpp"

#include <algorithm>
#include <thread>

#include "checker/order/missing.hpp"

namespace antiphase::checker_detail {

void lockstep_watch::begin_launch() {
  reads_.clear();
  too_early_.clear();
  of_one_line_.clear();
}

bool lockstep_watch::of_one_line(place_number a, place_number b) {
  const auto [at, fresh] = known_lines_.try_emplace({a, b});
  if (fresh)  // libdw needs more than a fiber's stack
    std::thread([&, answer = &at->second] {
      const code_place x = places_.first_line(a), y = places_.first_line(b);
      *answer = x.line != 0 && x == y;
    }).join();
  return at->second;
}

void lockstep_watch::report(const too_early& early) const {
  found_({.thread = *early.writer, .kind = access_kind::write, .place = early.place, .bytes = early.bytes},
         {.kind = finding_kind::race,
          .offset = memory_.offset_of(early.address),
          .read = &early.reader,
          .missing = sentence::lockstep});
}

void lockstep_watch::end_block(block_number of) {
  std::erase_if(too_early_, [&](const too_early& early) {
    if (early.reader.block != of) return false;
    report(early);
    return true;
  });
  std::erase_if(of_one_line_, [&](const too_early& early) {
    if (early.reader.block != of) return false;
    if (of_one_line(early.reader.place, early.place)) report(early);
    return true;
  });
}

void lockstep_watch::read(const thread_model& t, const void* p, place_number place) {
  std::erase_if(too_early_, [&](const too_early& early) {
    return early.address == p && early.reader.block == t.block && early.reader.unit == t.warp &&
           early.reader.lanes == t.lane && early.reader.time == *t.time;
  });
  if (t.block_threads < 2 || reads_.size() >= most_reads) return;
  reads_[key_of(p, t.warp)][static_cast<std::size_t>(t.index % 32)] = {++accesses_, t.block, *t.time, place};
}

void lockstep_watch::write(thread_model& t, const void* p, std::size_t bytes, place_number place) {
  if (const auto at = reads_.find(key_of(p, t.warp)); at != reads_.end()) {
    for (int lane = 0; lane < 32; ++lane) {
      const lane_read& read = at->second[static_cast<std::size_t>(lane)];
      const int other = t.warp * 32 + lane;
      if (read.block != t.block || other == t.index ||
          clocks_.knows(t, t.block, static_cast<actor>(other), read.time))
        continue;
      const lane_writes& theirs = (&t)[other - t.index].written;
      if (theirs.time != read.time) continue;
      const auto same = std::ranges::find(theirs.first, place, &lane_writes::write::place);
      if (same == theirs.first.end() || same->address == p) continue;
      const reader by{t.block, t.warp, 0, warp_reads, read.time, 1u << lane, read.place};
      const too_early early{p, &t, place, bytes, by};
      if (same->number > read.number) {
        const bool is_new = std::ranges::none_of(of_one_line_, [&](const too_early& known) {
          return known.place == place && known.reader.place == read.place && known.reader.block == t.block;
        });
        if (is_new && memory_.offset_of(p) < shadow::shared_bytes && of_one_line_.size() < 64)
          of_one_line_.push_back(early);
      } else if (theirs.last > read.number)
        report(early);
      else if (too_early_.size() < 64)
        too_early_.push_back(early);  // a finding unless that lane reads again
    }
  }
  lane_writes& mine = t.written;
  if (mine.time != *t.time) {
    mine.time = *t.time;
    mine.first.clear();
  }
  mine.last = ++accesses_;
  if (std::ranges::find(mine.first, place, &lane_writes::write::place) == mine.first.end())
    mine.first.push_back({place, mine.last, p});
}

}  // namespace antiphase::checker_detail
