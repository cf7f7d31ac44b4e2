// SPDX-License-Identifier: Apache-2.0
// Threads that meet at barriers and in operations of a warp, and those that have gone past one and ended.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "worker.hpp"

namespace antiphase::cpu_detail {
namespace {

// A hash of what lanes brought to an exchange: if it repeats, they may be waiting in a loop.
std::uint64_t number_of_exchange(const warp_meeting& m) {
  std::uint64_t n = m.arrived;
  for (unsigned left = m.bytes > 0 ? m.arrived : 0; left != 0; left &= left - 1) {
    std::uint64_t words[2] = {};
    std::memcpy(words, m.values[m.buffer][__builtin_ctz(left)].bytes, static_cast<std::size_t>(m.bytes));
    n = (n ^ words[0]) * 0x9E3779B97F4A7C15u + words[1];
    n ^= n >> 29;
  }
  return n | 1;
}

}  // namespace

// Whether threads that meet once more with the same values may be waiting in a loop: one of them has looked
// at memory unsuccessfully, and none has done more. A loop that works may bring the same values for long.
bool worker::may_wait(std::span<thread_state* const> all) {
  bool in_vain = false, more = false;
  for (thread_state* t : all) {
    settle_writes(*t);
    t->loads.meets(in_vain, more);
  }
  return in_vain && !more;
}

bool way_out::goes_past(machine::place barrier) const {
  const bool to_the_end = last == ~0u;
  return to_the_end || (barrier.line() >= first && barrier.line() < last &&
                        std::strcmp(barrier.file_name(), place.file_name()) == 0);
}
void gone_past(const thread_state& waiting, block_state::gone_thread& gone, place barrier) {
  if (std::exchange(gone.told, true)) return;
  kernel_fault f = fault_of(
      waiting, fault::divergent_barrier, barrier,
      fmt::format("divergent block barrier: all threads of the block that have not returned have to come to "
                  "it, or none, but thread {} has ended without it at {}; it is waited at",
                  gone.thread, text(gone.exit.place)));
  observer* const watch = waiting.owner->watch();
  if (gone.exit.last != ~0u || (waiting.arms & ~gone.exit.arms) == 0 || watch == nullptr) {
    waiting.owner->tell_apart(*waiting.home, false);
    throw f;
  }
  f.tolerated = kernel_fault::tolerance::ended_threads;
  watch->found(f);
}

void require_none_past(const thread_state& self, unsigned lanes, place where, const char* who) {
  for (const lanes_gone& g : self.home->past[static_cast<std::size_t>(self.index / 32)])
    if ((g.lanes & lanes) != 0 && g.exit.goes_past(where))
      fail(self, fault::divergent_barrier, where,
           fmt::format("divergent warp operation: lanes {:#010x} of warp {} have gone past it without it, "
                       "and ended at {}. {} that have not "
                       "returned come to it",
                       g.lanes & lanes, self.index / 32, text(g.exit.place), who));
}

void worker::complete(meeting& m) {
  block_state& block = *m.waiting.front()->home;
  const bool waits = may_wait(m.waiting),
             again = block.barriers_before.again(m.place, static_cast<std::uint64_t>(m.yes) << 32 |
                                                              static_cast<unsigned>(m.arrived)) &&
                     waits;
  block.votes = {m.yes, m.arrived};
  block.warp_at.assign(block.lanes.size(), nullptr);
  if (watch() != nullptr) watch()->met(block, m.waiting);
  let_go(m, again && watch() != nullptr);
}
void worker::complete(warp_meeting& m) {
  // Values of lanes that have not arrived: poison, which no lane may use.
  for (unsigned missing = m.bytes > 0 ? ~m.arrived : 0; missing != 0; missing &= missing - 1)
    std::memset(m.values[m.buffer][__builtin_ctz(missing)].bytes, unwritten_byte,
                static_cast<std::size_t>(m.bytes));
  m.came[m.buffer] = m.arrived;
  const std::uint64_t brought = number_of_exchange(m);
  const bool waits = may_wait(m.waiting);
  m.brought = brought;
  m.again = m.before.again(m.place, brought) && waits;
  // Exchanges of values do not order memory.
  if (watch() != nullptr && m.bytes == 0) watch()->met(*m.waiting.front()->home, m.waiting);
  meet_in_time(m.waiting);
  for (thread_state* t : m.waiting) make_ready(*t);
  m.waiting.clear();
  m.arrived = 0;
  ++counts.warp_operations;
  if (!m.again || watch() == nullptr) met();
}
void worker::complete_named(named_barrier& m) {
  const bool again =
      may_wait(m.waiting) && m.before.again(m.place, m.counted) && !std::exchange(m.goes_on, false);
  if (watch() != nullptr) watch()->passed(&m, m.waiting);
  m.counted = 0;
  let_go(m, again && watch() != nullptr);
}
void worker::come(block_state& block, named_barrier& m, std::size_t warp) {
  named_barrier::of_warp& w = m.warps[warp];
  for (thread_state* t : w.coming) {
    if (watch() != nullptr) watch()->arrived(*t, &m);
    m.latest = std::max(m.latest, t->time.now());
    if ((w.staying >> t->index % 32 & 1u) != 0)
      m.waiting.push_back(t);
    else
      make_ready(*t), m.goes_on = true;
  }
  m.incomplete -= std::popcount(w.lanes);
  w.lanes = w.staying = 0;
  w.coming.clear();
  w.aligned = false;
  m.arrived += 32;
  m.counted |= 1u << warp;
  met();
  end_if_complete(block, m);
}
void worker::end_if_complete(const block_state& block, named_barrier& m) {
  bool ends = m.whole;
  for (std::size_t warp = 0; ends && warp < block.lanes.size(); ++warp)
    ends = block.lanes[warp] == 0 || (m.counted >> warp & 1u) != 0;
  if (m.arrived > 0 && (ends || m.arrived == m.expected)) complete_named(m);
}
// Warps of the block have met at different barriers: an error, unless they came to as many in the end.
void worker::tell_apart(block_state& block, bool ended) {
  if (!block.warps_apart) return;
  auto& [barriers, what] = *block.warps_apart;
  const auto came = [at = barriers](const auto& t) { return t->block_barriers > at; };
  const auto first = std::ranges::find_if(block.thread, came);
  const bool alike = std::ranges::all_of(
      block.thread, [&](const auto& t) { return !came(t) || t->block_barriers == (*first)->block_barriers; });
  if (ended && alike) what.tolerated = kernel_fault::tolerance::equal_counts;
  watch()->found(what);
  block.warps_apart.reset();
}
void worker::let_go(meeting& m, bool again) {
  const bool owe = std::ranges::any_of(m.waiting, [](const thread_state* t) { return t->time.owes(); });
  const auto warps = static_cast<std::int64_t>(m.waiting.size() + 31) / 32;
  for (thread_state* t : m.waiting) {
    t->time.wait_until(m.latest + (warps > 1 ? t->time.costs().barrier : 0));
    if (owe) t->time.owe(m.latest + t->time.costs().barrier_of_warp * warps);
    t->met_again = again;
    make_ready(*t);
  }
  m.reset();
  ++counts.barriers;
  if (!again) met();
}

// One thread arrives. Ended threads count as arrived.
void worker::arrive(cluster_state& c) {
  if (--c.missing > 0 || c.running == 0) return;
  if (watch() != nullptr) watch()->cluster_phase_ended(c);
  ++c.phase;
  c.ended = c.latest + launch_->costs.barrier_of_warp * c.running / 32;
  c.missing = c.running;
  for (thread_state* t : c.waiting) {
    t->time.wait_until(c.ended);
    make_ready(*t);
  }
  c.waiting.clear();
  ++counts.barriers;
  met();
}

void worker::wake_mbarrier(block_state& block, const void* word) {
  std::erase_if(block.at_mbarriers, [&](thread_state* t) {
    if (t->key != word || !mbarrier_ended(*static_cast<const std::uint64_t*>(word), t->parity)) return false;
    t->time.wait_until(block.clock_of(static_cast<const std::uint64_t*>(word)).ended);
    make_ready(*t);
    return true;
  });
  progress();
}

}  // namespace antiphase::cpu_detail
