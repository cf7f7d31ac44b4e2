// SPDX-License-Identifier: Apache-2.0
// Device functions of the machine: warp operations, asynchronous copies, clocks.
#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/cpu/machine.hpp>
#include <antiphase/executor/cpu/machine_clock.hpp>
#include <antiphase/executor/pipeline_cost.hpp>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "worker.hpp"

namespace antiphase::cpu_detail {
namespace {

void perform(const async_copy& c) {
  if (c.from_source > 0) std::memcpy(c.destination, c.source, static_cast<std::size_t>(c.from_source));
  std::memset(static_cast<unsigned char*>(c.destination) + c.from_source, 0,
              static_cast<std::size_t>(c.bytes - c.from_source));
}

}  // namespace

void land_copies(thread_state& of, std::uint64_t end) {
  copy_queue& q = of.copies;
  if (q.gone + q.landed < end) of.owner->changed();
  for (; q.gone + q.landed < end; ++q.landed) perform(q.copies[q.landed]);
}

}  // namespace antiphase::cpu_detail

namespace antiphase::machine {

using namespace cpu_detail;

namespace {

void require_aligned(const thread_state& self, const void* p, std::uintptr_t by, const char* what,
                     place where) {
  if (reinterpret_cast<std::uintptr_t>(p) % by != 0)
    fail(self, fault::bad_copy, where, fmt::format("{} is not aligned to {} bytes", what, by));
}

void require_shared(const thread_state& self, const void* p, std::size_t bytes, const char* what,
                    place where) {
  const auto* at = static_cast<const unsigned char*>(p);
  const block_view& block = *self.block;
  if (at < block.shared || at + bytes > block.shared + block.shared_bytes)
    fail(self, fault::bad_copy, where,
         fmt::format("{} ({} bytes) does not lie in the block's {} bytes of shared memory", what, bytes,
                     block.shared_bytes));
}

}  // namespace

std::ptrdiff_t to_shared_of(const void* mine, int rank, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  const block_state& block = *self.home;
  if (rank < 0 || rank >= block.cluster_extent)
    fail(self, fault::bad_copy, where,
         fmt::format("the shared memory of block {} of a cluster of {}", rank, block.cluster_extent));
  const auto* at = static_cast<const unsigned char*>(mine);
  if (at < block.shared || at >= block.shared + block.shared_bytes)
    fail(self, fault::bad_copy, where,
         fmt::format("what is mapped to another block does not lie in the block's {} bytes of shared memory",
                     block.shared_bytes));
  return block.cluster->blocks[static_cast<std::size_t>(rank)]->shared - block.shared;
}

const exchange_slot* warp_exchange(unsigned mask, const void* mine, int bytes, place where) {
  thread_state& self = here();
  self.code = __builtin_return_address(0);
  const int lane = self.index % 32;
  if ((mask >> lane & 1u) == 0)
    fail(self, fault::barrier_misuse, where,
         fmt::format("lane {} is not in its own mask {:#010x}", lane, mask));
  // A mask may name lanes that have ended already, or that a partial last warp does not have.
  require_none_past(self, mask, where, named_by_mask);
  const unsigned expected = mask & self.home->lanes[static_cast<std::size_t>(self.index / 32)];
  auto& meetings = self.home->warp[static_cast<std::size_t>(self.index / 32)];
  warp_meeting* m = nullptr;
  for (auto& candidate : meetings)
    if (candidate->mask == mask) m = candidate.get();
  if (m == nullptr) {
    m = meetings.emplace_back(std::make_unique<warp_meeting>()).get();
    m->mask = mask;
  }
  if (m->arrived == 0) {
    m->buffer ^= 1;
    m->bytes = bytes;
    m->place = where;
    // lanes of a sync may arrive at different places
  } else if (m->bytes != bytes || (bytes > 0 && !same(m->place, where))) {
    fail(self, fault::divergent_barrier, where,
         fmt::format("divergent warp operation: other lanes of the warp are at the one in {}",
                     text(m->place)));
  }
  const int buffer = m->buffer;
  if (bytes > 0) std::memcpy(m->values[buffer][lane].bytes, mine, static_cast<std::size_t>(bytes));
  m->arrived |= 1u << lane;
  m->waiting.push_back(&self);
  const bool last = m->arrived == expected;
  if (last) self.owner->complete(*m);
  self.owner->suspend(self, last ? condition::ready : condition::at_warp, where);
  self.exchanged = m->values[buffer];
  self.exchanged_by = m->came[buffer];
  // An observer sees what else the lanes do. If they do nothing else, the exchange counts like a load for
  // detecting loops that wait.
  if (self.owner->watch() == nullptr)
    self.loads.something_else();
  else
    self.owner->loaded(self, m, m->brought, where);
  return self.exchanged;
}

namespace {
void meet_warp(thread_state& self, const char* what, place where) {
  const auto warp = static_cast<std::size_t>(self.index / 32);
  whole_warp_meeting& m = self.home->whole[warp];
  const unsigned running = self.home->lanes[warp];
  if (running != lanes_present(*self.home, warp)) lanes_missing(self, what, where);
  if (!m.waiting.empty() && !same(m.place, where))
    fail(self, fault::divergent_barrier, where,
         fmt::format("divergent warp operation: {} takes all lanes of the warp, others are at {} in {}", what,
                     m.name, text(m.place)));
  m.name = what;
  m.place = where;
  m.waiting.push_back(&self);
  const bool last = m.waiting.size() == static_cast<std::size_t>(std::popcount(running));
  if (last) {
    meet_in_time(m.waiting);
    for (thread_state* t : m.waiting) self.owner->make_ready(*t);
    m.waiting.clear();
    self.owner->met();
  }
  self.owner->suspend(self, last ? condition::ready : condition::at_whole_warp, where);
}
}  // namespace

void whole_warp(const char* what, place where) {
  meet_warp(called_from(__builtin_return_address(0)), what, where);
}
void set_registers(int registers, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  constexpr const char* what = "setmaxnreg (release_registers, request_registers)";
  self.registers_set.push_back({registers, where, self.code});
  meet_warp(self, what, where);
}

void require_promise(const void* to, const void* from, std::size_t bytes, std::size_t align, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_aligned(self, to, align, "the destination of a copy with aligned_size_t", where);
  require_aligned(self, from, align, "the source of a copy with aligned_size_t", where);
  if (bytes % align != 0)
    fail(self, fault::bad_copy, where,
         fmt::format("a copy of {} bytes with aligned_size_t is no multiple of {} bytes", bytes, align));
}
void copy_async(void* to, const void* from, int bytes, int from_source, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  const auto width = static_cast<std::uintptr_t>(bytes);
  require_aligned(self, to, width, "the destination of an asynchronous copy", where);
  require_aligned(self, from, width, "the source of an asynchronous copy", where);
  require_shared(self, to, width, "the destination of an asynchronous copy", where);
  if (from_source < 0 || from_source > bytes)
    fail(self, fault::bad_copy, where,
         fmt::format("an asynchronous copy of {} bytes takes {} from its source: expected 0 to {}", bytes,
                     from_source, bytes));
  ++self.owner->counts.copies;
  self.owner->counts.copied_bytes += static_cast<std::uint64_t>(from_source);
  self.owner->begin_work(self);
  self.time.copy(fitted::copy_instructions,
                 bytes < 16 ? fitted::narrow_copy_clocks : fitted::wide_copy_clocks);
  self.owner->in_turn(self);
  if (from_source > 0) self.copies.lands = std::max(self.time.copied(), self.time.landing(from_source));
  const async_copy copy{to, from, bytes, from_source};
  if (observer* watch = self.owner->watch()) watch->copy_issued(self, copy, where);
  if (self.owner->lands_now())
    perform(copy);
  else
    self.copies.copies.push_back(copy);
}

void copy_async_commit() {
  thread_state& self = called_from(__builtin_return_address(0));
  if (observer* watch = self.owner->watch()) watch->copies_committed(self);
  copy_queue& q = self.copies;
  q.groups.push_back({q.copies.size(), q.lands});
}

void copy_async_wait(int groups_left, place) {
  thread_state& self = called_from(__builtin_return_address(0));
  if (left_out(self, wait_kind::data)) return;
  if (observer* watch = self.owner->watch()) watch->copies_waited(self, groups_left);
  copy_queue& q = self.copies;
  const std::size_t left = static_cast<std::size_t>(groups_left);
  if (q.groups.size() <= left) return;
  const std::size_t done = q.groups.size() - left;
  const copy_queue::group last = q.groups[done - 1];
  self.time.wait_until(last.lands);
  self.owner->in_turn(self);
  land_copies(self, q.gone + last.end);
  land_arrivals(self);
  q.groups.erase(q.groups.begin(), q.groups.begin() + static_cast<std::ptrdiff_t>(done));
  q.forget_landed();
}

void yield(place where) {
  thread_state& self = here();
  self.code = __builtin_return_address(0);
  if (self.owner->watch() == nullptr) self.loads.something_else();
  // Elsewhere threads look as often as the schedule wants: what they look for has a time of its own.
  if (self.owner->in_time()) self.time.wait_until(self.time.now() + self.time.costs().look);
  self.owner->suspend(self, condition::polling, where);
}
void proxy_fence(proxy of) {
  thread_state& self = called_from(__builtin_return_address(0));
  if (observer* watch = self.owner->watch()) watch->proxy_fence(self, of);
}
void mbarrier_fence() {
  thread_state& self = called_from(__builtin_return_address(0));
  if (observer* watch = self.owner->watch()) watch->mbarrier_fence(self);
}

void start_next_grid() {
  thread_state& self = called_from(__builtin_return_address(0));
  if (observer* watch = self.owner->watch()) watch->next_grid_started(self);
}
void wait_for_previous_grid() {
  thread_state& self = called_from(__builtin_return_address(0));
  if (observer* watch = self.owner->watch()) watch->previous_grid_waited(self);
}

void polled() { here().owner->progress(); }
void loaded(const void* at, std::uint64_t value, place where) {
  thread_state& self = here();
  if (self.owner->watch() != nullptr) return;  // an observer sees these loads itself
  self.code = __builtin_return_address(0);
  self.owner->loaded(self, at, value, where);
}

namespace {
// The thread that has looked at its clock, and when: of those that share an OS thread.
struct look {
  const thread_state* by = nullptr;
  std::int64_t at = 0;
};
thread_local look last;
}  // namespace
std::int64_t clock() {
  thread_state& self = here();
  self.owner->changed();
  // Again, with nothing between: a span of a recording begins after another. It begins with its work.
  if (last.by == &self && last.at == self.time.now()) self.owner->begin_work(self);
  self.time.instructions(1);
  last = {&self, self.time.now()};
  return self.time.ticks();
}
void clock_instructions(int count) {
  thread_state& self = here();
  self.owner->begin_work(self);
  self.time.compute(count);
  self.owner->in_turn(self);
}
void clock_multiplies(int multiply_adds, int reads, bool reads_ahead) {
  thread_state& self = here();
  constexpr int turns = 8;  // of the threads, in one step
  self.owner->begin_work(self);
  for (int left = turns; left > 0; --left) {
    const int some = multiply_adds / left, of_reads = reads / left;
    self.time.multiply(some, of_reads, reads_ahead);
    self.owner->in_turn(self);
    multiply_adds -= some;
    reads -= of_reads;
  }
}
void clock_tensor_cores(int multiply_adds) {
  thread_state& self = here();
  self.owner->begin_work(self);
  self.time.multiply_on_tensor_cores(multiply_adds);
  self.owner->in_turn(self);
}
namespace {
void load_to_registers(int bytes, int width, double instructions, double shared_clocks) {
  thread_state& self = here();
  self.owner->begin_work(self);
  for (; bytes > 0; bytes -= width) {
    self.time.instructions(instructions, shared_clocks);
    self.owner->in_turn(self);
    self.time.registers_land_at(self.time.landing(std::min(width, bytes)));
  }
}
}  // namespace
void clock_register_loads(int bytes) {
  load_to_registers(bytes, 4, fitted::staged_instructions, fitted::staged_copy_clocks);
}
void clock_wide_loads(int bytes, bool transposes) {
  load_to_registers(bytes, 16,
                    fitted::copy_instructions + (transposes ? fitted::transposing_instructions : 0),
                    fitted::wide_copy_clocks);
}
void clock_latency(int ticks) {
  thread_state& self = here();
  self.time.wait_until(self.time.now() + ticks * one_tick);
  self.owner->in_turn(self);
}
int ticks_of_other_blocks() {
  thread_state& self = here();
  const double others = self.owner->multiprocessors_per_modelled() - 1;
  return others > 0 ? static_cast<int>(self.home->later_of_others(others) / one_tick) : 0;
}
void clock_registers_needed() {
  thread_state& self = here();
  self.time.wait_for_registers();
  self.owner->in_turn(self);
}

void trap(const char* why, place where) {
  fail(here(), fault::gave_up, where, fmt::format("the kernel gave up: {}", why));
}

}  // namespace antiphase::machine
