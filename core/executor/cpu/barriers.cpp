// SPDX-License-Identifier: Apache-2.0
// Barriers of blocks and clusters on the CPU executor, and what threads that come to them must do alike.
#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/cpu/machine.hpp>

#include <fmt/format.h>

#include "worker.hpp"

namespace antiphase::cpu_detail {
namespace {

[[noreturn]] void unalike(thread_state& of, std::size_t which, const std::string& how) {
  const thread_state::register_setting& s = of.registers_set[which];
  of.code = s.code;
  fail(of, fault::barrier_misuse, s.place,
       fmt::format("setmaxnreg is for all four warps of a warpgroup: warp {} sets {} registers, {}",
                   of.index / 32, s.registers, how));
}

}  // namespace

namespace {
// Other threads of the block are at another barrier. Fails if some of the own warp are.
void meet_apart(thread_state& self, place where) {
  block_state& block = *self.home;
  const thread_state* const of_warp = block.warp_at[static_cast<std::size_t>(self.index / 32)];
  kernel_fault f =
      fault_of(self, fault::divergent_barrier, where,
               fmt::format("divergent block barrier: other threads of the {} are at the one in {}",
                           of_warp != nullptr ? "warp" : "block",
                           text(of_warp != nullptr ? of_warp->place : block.barrier.place)));
  if (of_warp != nullptr || self.owner->watch() == nullptr) throw f;
  if (!block.warps_apart) block.warps_apart = {self.block_barriers - 1, std::move(f)};
}
// Lanes of a warp come to a barrier of the block by the same calls, in the same round of the loops around it.
void require_one_way(thread_state& self, const thread_state& other, place where) {
  const machine::loop_rounds *a = self.loop, *b = other.loop;
  for (; a != nullptr && b != nullptr; a = a->around, b = b->around)
    if (a->number != b->number)
      fail(self, fault::divergent_barrier, where,
           "divergent block barrier: other threads of the warp are at it in another round of the loop around "
           "it");
  if (self.calls == other.calls) return;
  if (const std::string call = self.owner->watch()->other_way(self, other); !call.empty())
    fail(self, fault::divergent_barrier, where,
         fmt::format("divergent block barrier: other threads of the warp come to it by another call, in {}",
                     call));
}
int threads_of_whole_warps(const block_state& block) { return ceil_div(block.threads, 32) * 32; }

void come_to_barrier(thread_state& self, int id, int threads, machine::barrier_form how, place where) {
  block_state& block = *self.home;
  if (threads < 0 || threads % 32 != 0 || (threads == 0 && !how.waits))
    fail(self, fault::barrier_misuse, where,
         fmt::format("named barrier {}: {} threads is not a multiple of 32", id, threads));
  const int expected = threads == 0 ? threads_of_whole_warps(block) : threads;
  named_barrier& m = block.named[id];
  if ((m.arrived > 0 || m.incomplete > 0) && m.expected != expected)
    fail(self, fault::barrier_misuse, where,
         fmt::format("named barrier {}: {} threads expected here, {} in {}", id, expected, m.expected,
                     text(m.place)));
  m.expected = expected;
  m.whole = threads == 0 || (id == 0 && threads == threads_of_whole_warps(block));
  m.place = where;
  m.warps.resize(block.lanes.size());
  const auto warp = static_cast<std::size_t>(self.index / 32);
  named_barrier::of_warp& w = m.warps[warp];
  if (w.lanes != 0 && (w.aligned || how.aligned) && !same(w.place, where))
    fail(self, fault::divergent_barrier, where,
         fmt::format("divergent warp operation: other lanes of the warp are at the barrier in {}",
                     text(w.place)));
  if (how.aligned) require_none_past(self, ~0u, where, all_of_warp);
  const unsigned lane = 1u << self.index % 32;
  w.aligned |= how.aligned;
  w.place = where;
  w.lanes |= lane;
  if (how.waits) w.staying |= lane;
  w.coming.push_back(&self);
  ++m.incomplete;
  self.now = condition::at_named_barrier;
  if (w.lanes == block.lanes[warp]) self.owner->come(block, m, warp);
  self.owner->suspend(self, self.now, where);
}
// Threads at the block barrier wait for arrivals that do not wait: from now on as at a named barrier.
void wait_for_warps(block_state& block) {
  named_barrier& m = block.named[0];
  m.expected = threads_of_whole_warps(block);
  m.whole = true;
  m.place = block.barrier.place;
  m.warps.resize(block.lanes.size());
  std::vector<thread_state*> waiting;
  std::swap(waiting, block.barrier.waiting);
  block.barrier.arrived = 0;
  block.warp_at.assign(block.lanes.size(), nullptr);
  for (thread_state* t : waiting) {
    const auto warp = static_cast<std::size_t>(t->index / 32);
    named_barrier::of_warp& w = m.warps[warp];
    w.place = m.place;
    w.lanes |= 1u << t->index % 32;
    w.staying = w.lanes;
    w.coming.push_back(t);
    ++m.incomplete;
    t->now = condition::at_named_barrier;
    if (w.lanes == block.lanes[warp]) t->owner->come(block, m, warp);
  }
}
}  // namespace

void meet_block(thread_state& self, block_meeting how, place where, const void* frame) {
  meeting& m = self.home->barrier;
  ++self.block_barriers;
  const named_barrier& part = self.home->named[0];
  const bool begun = part.arrived > 0 || part.incomplete > 0;
  if (begun && part.whole && !how.votes)
    return come_to_barrier(self, 0, 0, {.waits = true, .aligned = false}, where);
  const thread_state*& of_warp = self.home->warp_at[static_cast<std::size_t>(self.index / 32)];
  self.may_diverge = !how.aligned;
  if (const bool all_may = self.may_diverge && (of_warp == nullptr || of_warp->may_diverge);
      m.arrived > 0 && !all_may && !same(of_warp != nullptr ? of_warp->place : m.place, where))
    meet_apart(self, where);
  if (observer* const watch = self.owner->watch(); watch != nullptr && how.aligned) {
    watch->comes_to_barrier(self, frame);
    if (of_warp != nullptr) require_one_way(self, *of_warp, where);
  }
  if (m.arrived > 0 && m.votes != how.votes)
    fail(self, fault::divergent_barrier, where,
         fmt::format("a vote of the block and a barrier without one: other threads are at the one in {}",
                     text(m.place)));
  of_warp = &self;
  m.votes = how.votes;
  if (begun)
    fail(self, fault::divergent_barrier, where,
         part.whole
             ? fmt::format("a vote of the block while others have arrived at barrier 0 in {}: PTX wants "
                           "all threads at the vote",
                           text(part.place))
             : fmt::format("divergent block barrier: other threads of the block are at barrier 0 for a "
                           "part of it in {}",
                           text(part.place)));
  for (block_state::gone_thread& gone : self.home->gone)
    if (gone.exit.goes_past(where)) gone_past(self, gone, where);
  m.place = where;
  m.latest = std::max(m.latest, self.time.now());
  m.waiting.push_back(&self);
  m.yes += how.yes;
  const bool last = ++m.arrived == self.home->running;
  if (last) self.owner->complete(m);
  self.owner->suspend(self, last ? condition::ready : condition::at_block_barrier, where);
}

void lanes_missing(const thread_state& self, const char* what, place where) {
  const auto warp = static_cast<std::size_t>(self.index / 32);
  fail(self, fault::divergent_barrier, where,
       fmt::format("divergent warp operation: {} takes all lanes of the warp, of warp {} lanes {:#010x} have "
                   "ended without it",
                   what, warp, lanes_present(*self.home, warp) & ~self.home->lanes[warp]));
}

void require_alike(block_state& block) {
  const auto settings_of = [&](int warp) -> thread_state& {  // of the lane with the most
    const auto first = block.thread.begin() + warp * 32;
    return **std::max_element(
        first, first + std::min(32, block.threads - warp * 32),
        [](const auto& a, const auto& b) { return a->registers_set.size() < b->registers_set.size(); });
  };
  const int warps = (block.threads + 31) / 32;
  for (int warp = 0; warp < warps; ++warp) {
    const int first = warp / 4 * 4;
    thread_state& one = settings_of(first);
    thread_state& other = settings_of(warp);
    const std::size_t both = std::min(one.registers_set.size(), other.registers_set.size());
    for (std::size_t i = 0; i < both; ++i)
      if (one.registers_set[i].registers != other.registers_set[i].registers)
        unalike(other, i, fmt::format("warp {} sets {} there", first, one.registers_set[i].registers));
    if (one.registers_set.size() == other.registers_set.size()) continue;
    thread_state& more = one.registers_set.size() > both ? one : other;
    unalike(more, both, fmt::format("warp {} has ended without it", &more == &one ? warp : first));
  }
}

}  // namespace antiphase::cpu_detail

namespace antiphase::machine {

using namespace cpu_detail;

namespace {
// What the meeting brought, as of an exchange: a loop around it may wait.
void met_once_more(thread_state& self, const void* what, std::uint64_t brought, place where) {
  if (self.owner->watch() == nullptr)
    self.loads.something_else();
  else
    self.owner->loaded(self, what, brought, where);
}
}  // namespace

void block_barrier(place where) {
  thread_state& self = here();
  if (left_out(self, wait_kind::barrier)) return;
  self.code = __builtin_return_address(0);
  meet_block(self, {}, where, __builtin_frame_address(0));
  met_once_more(self, &self.home->barrier, 0, where);
}
vote_count block_vote(bool yes, place where) {
  thread_state& self = here();
  self.code = __builtin_return_address(0);
  meet_block(self, {.yes = yes, .votes = true}, where, __builtin_frame_address(0));
  met_once_more(self, &self.home->votes, static_cast<std::uint64_t>(self.home->votes.yes), where);
  return self.home->votes;  // valid: the next barrier cannot end before this thread arrives at it
}

namespace {
void come_to_named(thread_state& self, int id, int threads, bool waits, place where) {
  if (id < 1 || id > 15)
    fail(self, fault::barrier_misuse, where,
         fmt::format("named barrier {}: expected 1 to 15 (0 is the block barrier)", id));
  if (threads == 0)
    fail(self, fault::barrier_misuse, where, fmt::format("named barrier {}: of no threads", id));
  come_to_barrier(self, id, threads, {.waits = waits, .aligned = false}, where);
}
}  // namespace

void named_barrier_sync(int id, int threads, place where) {
  thread_state& self = here();
  self.code = __builtin_return_address(0);
  if (left_out(self, wait_kind::barrier)) return;
  come_to_named(self, id, threads, true, where);
  met_once_more(self, &self.home->named[id], 0, where);
}
void named_barrier_arrive(int id, int threads, place where) {
  come_to_named(called_from(__builtin_return_address(0)), id, threads, false, where);
}
void barrier(int id, int threads, barrier_form how, place where) {
  thread_state& self = here();
  self.code = __builtin_return_address(0);
  if (id < 0 || id > 15)
    fail(self, fault::barrier_misuse, where, fmt::format("barrier {}: expected 0 to 15", id));
  const bool of_block = threads == 0 || threads == threads_of_whole_warps(*self.home);
  if (how.waits && left_out(self, wait_kind::barrier)) return;
  if (id == 0 && of_block && how.waits) {
    meet_block(self, {.aligned = how.aligned}, where, __builtin_frame_address(0));
    return met_once_more(self, &self.home->barrier, 0, where);
  }
  if (!how.waits) self.loads.something_else();
  meeting& block = self.home->barrier;
  if (id == 0 && block.arrived > 0 && (!of_block || block.votes))
    fail(self, fault::barrier_misuse, where,
         of_block ? "an arrival at barrier 0 while others are at a vote of the block"
                  : "barrier 0 of a part of the block while others are at the block barrier");
  if (id == 0 && of_block) ++self.block_barriers;
  if (id == 0 && of_block && block.arrived > 0) wait_for_warps(*self.home);
  come_to_barrier(self, id, threads, how, where);
  if (how.waits) met_once_more(self, &self.home->named[id], 0, where);
}

namespace {
void arrive_in_cluster(thread_state& self, bool releases, place where) {
  cluster_state& c = *self.home->cluster;
  if (self.cluster_arrived)
    fail(self, fault::barrier_misuse, where,
         "a second arrival at the cluster barrier without a wait for the first");
  self.cluster_arrived = true;
  self.cluster_phase = c.phase;
  c.latest = std::max(c.latest, self.time.now());
  if (observer* watch = self.owner->watch()) watch->cluster_arrived(self, releases);
  self.owner->arrive(c);
}
}  // namespace

void require_aligned(bool waits, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  block_state::aligned_turn& turn =
      self.home->aligned_turns[static_cast<std::size_t>(self.index / 32)][waits ? 1 : 0];
  const unsigned number = ++self.aligned_turns[waits ? 1 : 0];
  if (turn.number == number && !same(turn.place, where))
    fail(self, fault::divergent_barrier, where,
         fmt::format("divergent warp operation: other lanes of the warp are at the cluster barrier in {}",
                     text(turn.place)));
  if (turn.number < number) turn = {number, where};
}
void cluster_arrive(place where) { arrive_in_cluster(called_from(__builtin_return_address(0)), true, where); }
void cluster_arrive_relaxed(place where) {
  arrive_in_cluster(called_from(__builtin_return_address(0)), false, where);
}

void cluster_wait(place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  cluster_state& c = *self.home->cluster;
  if (!self.cluster_arrived)
    fail(self, fault::barrier_misuse, where, "a wait at the cluster barrier without an arrival");
  const bool ended = self.cluster_phase != c.phase;
  if (ended)
    self.owner->make_ready(self);
  else
    c.waiting.push_back(&self);
  self.owner->suspend(self, ended ? condition::ready : condition::at_cluster, where);
  self.cluster_arrived = false;
  self.time.wait_until(c.ended);
  if (observer* watch = self.owner->watch()) watch->cluster_waited(self);
}

}  // namespace antiphase::machine
