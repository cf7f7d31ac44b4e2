// SPDX-License-Identifier: Apache-2.0
// Words in which blocks count themselves, to know which one is the last of its launch.
#include <map>
#include <utility>
#include <vector>

#include "checker/order/missing.hpp"
#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/run.hpp"

namespace antiphase::plain {
using checker_detail::access_kind;
using checker_detail::block_number;
using checker_detail::model;

namespace {

constexpr std::size_t most_words = 64;  // of a launch that are followed

struct ticket {
  std::uint64_t start = 0;      // what the first block has found
  std::uint64_t blocks = 0;     // that have counted, each once
  std::vector<bool> counted{};  // by block
  bool is_other = false;        // a word of another use
};
// A launch that has counted all of its blocks in a word, and left it as it was.
struct counted_launch {
  block_number first;
  finding_side last;
  checker_detail::place_number place;
};
block_number followed_launch = 0;
std::map<const void*, ticket> tickets;  // of that launch
std::map<const void*, std::vector<counted_launch>> counted_launches;

// Returns true once all blocks have counted and the word holds again what it held before.
bool counts(ticket& t, std::uint64_t block, std::uint64_t blocks, std::uint64_t before, std::uint64_t after) {
  if (t.counted.empty()) t.start = before, t.counted.resize(blocks);
  if (t.is_other) return false;
  if (t.blocks < blocks) {
    t.is_other = before != t.start + t.blocks || block >= blocks || t.counted[block];
    if (t.is_other) return false;  // a lock, a queue, a sum
    t.counted[block] = true;
    const bool is_back = ++t.blocks == blocks && after == t.start;
    t.is_other = !is_back && after != before + 1;
    return is_back;
  }
  t.is_other = after != t.start || before == t.start;  // else the last block sets it back
  return !t.is_other;
}

}  // namespace

void count_in_ticket(const void* p, std::size_t bytes, std::uint64_t before, std::uint64_t after,
                     const void* code) {
  model& m = followed();
  const std::size_t offset = m.memory.offset_of(p, bytes);
  const dim3 g = running_launch.grid;
  const std::uint64_t blocks = std::uint64_t{g.x} * g.y * g.z;
  if (blocks < 2 || offset < checker_detail::shadow::shared_bytes) return;
  if (std::exchange(followed_launch, m.launches.first()) != m.launches.first()) tickets.clear();
  if (tickets.size() == most_words && !tickets.contains(p)) return;
  if (!counts(tickets[p], m.current()->block - m.launches.first(), blocks, before, after)) return;
  const checker_detail::place_number at = m.places.number_of_code(code);
  std::vector<counted_launch>& all = counted_launches[p];
  for (const counted_launch& one : all) {
    if (m.launches.ordered(one.first)) continue;
    finding f;
    f.kind = finding_kind::race;
    f.kernel = m.findings.kernel;
    f.memory = m.findings.describe(
        {.thread = *m.current(), .kind = access_kind::write, .place = at, .bytes = bytes}, offset);
    f.access = m.side_here(at, "atomic operation");
    f.earlier = one.last;
    f.missing = sentence::own_ticket;
    m.findings.note(std::move(f), at, {}, one.place);
    break;
  }
  all.push_back({m.launches.first(), m.side_here(at, "atomic operation"), at});
}

}  // namespace antiphase::plain
