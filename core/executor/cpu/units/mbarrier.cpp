// SPDX-License-Identifier: Apache-2.0
// mbarriers of the CPU executor, and the bulk loads that complete on them.
#include <algorithm>
#include <antiphase/executor/cpu/machine.hpp>
#include <antiphase/executor/cpu/machine_plain.hpp>
#include <antiphase/executor/cpu/machine_tensor_memory.hpp>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/executor/cpu/worker.hpp"

namespace antiphase::cpu_detail {
namespace {

// Layout of the 64-bit word, which kernels treat as opaque. Bit 63 is 0, which distinguishes an mbarrier from
// poisoned memory.
struct fields {
  std::uint32_t parties;  // 20 bits
  std::uint32_t missing;  // 20 bits: pending arrivals of this phase
  std::int32_t bytes;     // 22 bits, signed: expected and not yet landed
  unsigned parity;        // of the current phase
};
constexpr std::uint64_t mask20 = (1u << 20) - 1, mask22 = (1u << 22) - 1;
constexpr std::int32_t byte_limit = (1 << 20) - 1;

fields unpack(std::uint64_t word) {
  auto bytes = static_cast<std::int32_t>(word >> 40 & mask22);
  if (bytes >= 1 << 21) bytes -= 1 << 22;
  return {static_cast<std::uint32_t>(word & mask20), static_cast<std::uint32_t>(word >> 20 & mask20), bytes,
          static_cast<unsigned>(word >> 62 & 1)};
}
std::uint64_t pack(const fields& f) {
  return f.parties | std::uint64_t{f.missing} << 20 | (static_cast<std::uint64_t>(f.bytes) & mask22) << 40 |
         std::uint64_t{f.parity} << 62;
}
bool initialised(std::uint64_t word) { return word >> 63 == 0 && (word & mask20) != 0; }

void require_place(const thread_state& self, const machine::block_view& block, const std::uint64_t* word,
                   place where) {
  if (reinterpret_cast<std::uintptr_t>(word) % 8 != 0)
    fail(self, fault::barrier_misuse, where, "an mbarrier is not aligned to 8 bytes");
  const auto* at = reinterpret_cast<const unsigned char*>(word);
  if (at < block.shared || at + sizeof *word > block.shared + block.shared_bytes)
    fail(
        self, fault::barrier_misuse, where,
        fmt::format("an mbarrier does not lie in the block's {} bytes of shared memory", block.shared_bytes));
}
void require_barrier(thread_state& self, const machine::block_view& block, const std::uint64_t* word,
                     place where) {
  require_place(self, block, word, where);
  if (observer* watch = self.owner->watch()) watch->mbarrier_touched(self, word, where);
  if (!initialised(*word))
    fail(self, fault::barrier_misuse, where, "an mbarrier is used before it is initialised");
}

// True if the phase ended.
bool advance(std::uint64_t* word, fields f) {
  const bool ended = f.missing == 0 && f.bytes == 0;
  if (ended) {
    f.missing = f.parties;
    f.parity ^= 1;
  }
  *word = pack(f);
  return ended;
}

}  // namespace

bool mbarrier_ended(std::uint64_t word, unsigned parity) { return unpack(word).parity != parity; }

std::uint32_t parties_of(std::uint64_t word) { return unpack(word).parties; }

// "slot 0 is released: 0 of 2 arrivals came"; empty: the mbarrier is of no ring.
std::string describe_ring_event(const machine::ring_event& of, const std::uint64_t* word) {
  if (of.events == 0) return {};
  const fields f = unpack(*word);
  const std::string what = of.event + 1 == of.events ? fmt::format("slot {} is released", of.slot)
                           : of.events == 2          ? fmt::format("slot {} is filled", of.slot)
                                                     : fmt::format("event {} of slot {}", of.event, of.slot);
  return fmt::format("{}: {} of {} arrivals came", what, f.parties - f.missing, f.parties);
}

std::string describe_mbarrier(const std::uint64_t* word) {
  const fields f = unpack(*word);
  return fmt::format("an mbarrier with {} of {} arrivals and {} bytes missing", f.missing, f.parties,
                     f.bytes);
}

// "full[0]: 1 of 1 arrivals, 208 bytes missing; waits for parity 0, 3 phases have ended"
std::string describe_test(const std::string& name, const std::uint64_t* word, unsigned parity,
                          std::uint64_t phases) {
  const fields f = unpack(*word);
  std::string bytes;
  if (f.bytes > 0) bytes = fmt::format(", {} bytes missing", f.bytes);
  if (f.bytes < 0) bytes = fmt::format(", {} bytes more than announced", -f.bytes);
  return fmt::format("{}: {} of {} arrivals{}; waits for parity {}, {} {} ended", name, f.parties - f.missing,
                     f.parties, bytes, parity, phases, phases == 1 ? "phase has" : "phases have");
}

void phase_ended(block_state& block, worker& owner, const std::uint64_t* word) {
  mbarrier_clock& time = block.clock_of(word);
  time.ended = std::exchange(time.latest, 0);
  ++time.phases;
  if (observer* watch = owner.watch()) watch->mbarrier_phase_ended(block, word);
  owner.wake_mbarrier(block, word);
}

namespace {
// An arrival that waited for a thread's copies: lands them, then arrives.
void arrive_with_copies(block_state& block, worker& owner, const bulk_load_state& a) {
  land_copies(*a.copies_of, a.copies);
  if (observer* watch = owner.watch()) watch->copies_arrived(*a.copies_of, a.word, a.mark);
  fields f = unpack(*a.word);
  --f.missing;  // reserved: other arrivals leave room for this one
  mbarrier_clock& time = block.clock_of(a.word);
  time.latest = std::max(time.latest, a.lands);
  if (advance(a.word, f)) phase_ended(block, owner, a.word);
}
// Arrivals that copies in flight will make at the mbarrier.
std::uint32_t arrivals_to_come(const block_state& block, const std::uint64_t* word) {
  return static_cast<std::uint32_t>(
      std::count_if(block.loads.begin(), block.loads.end(),
                    [&](const bulk_load_state& l) { return l.copies_of != nullptr && l.word == word; }));
}
}  // namespace

void land(block_state& block, worker& owner, const bulk_load_state& load) {
  owner.changed();
  if (load.copies_of != nullptr) return arrive_with_copies(block, owner, load);
  if (load.box != nullptr)
    land_box(block, load);
  else
    std::memcpy(load.destination, load.source, load.bytes);
  fields f = unpack(*load.word);
  f.bytes -= static_cast<std::int32_t>(load.bytes);
  mbarrier_clock& time = block.clock_of(load.word);
  time.latest = std::max(time.latest, load.lands);
  if (advance(load.word, f)) phase_ended(block, owner, load.word);
}

void land_arrivals(thread_state& self) {
  block_state& block = *self.home;
  for (std::size_t i = 0; i < block.loads.size();) {
    if (block.loads[i].copies_of != &self || block.loads[i].copies > self.copies.gone + self.copies.landed) {
      ++i;
      continue;
    }
    const bulk_load_state arrival = block.loads[i];
    block.loads.erase(block.loads.begin() + static_cast<std::ptrdiff_t>(i));
    land(block, *self.owner, arrival);
  }
}

namespace {
// `block` has the mbarrier, `to` the destination.
void issue_to(thread_state& self, block_state& block, const block_state& to, bulk_load_state load,
              place where) {
  require_barrier(self, block, load.word, where);
  const char* what = load.box != nullptr ? "tensor load" : "bulk load";
  const auto* at = static_cast<const unsigned char*>(load.destination);
  if (at < to.shared || at + load.bytes > to.shared + to.shared_bytes)
    fail(self, fault::bad_copy, where,
         fmt::format("a {} of {} bytes does not lie in the block's {} bytes of shared memory", what,
                     load.bytes, to.shared_bytes));
  if (observer* watch = self.owner->watch()) watch->bulk_load_issued(self, load, where);
  if (self.owner->lands_now()) {
    land(block, *self.owner, load);
  } else {
    self.owner->will_land(load.lands);
    block.loads.push_back(std::move(load));
  }
}
}  // namespace

void issue(thread_state& self, const bulk_load_state& load, unsigned ranks, place where) {
  ++self.owner->counts.copies;
  for (const auto& part : sources(load)) self.owner->counts.copied_bytes += part.size();
  self.owner->begin_work(self);
  self.time.instruction_alone();
  self.owner->in_turn(self);
  const std::int64_t lands =
      self.time.landing_by_engine(load.bytes) + self.home->later(self.time.costs(), load.bytes);
  const auto blocks = self.home->cluster->blocks;
  const std::ptrdiff_t place_of_word = reinterpret_cast<unsigned char*>(load.word) - self.home->shared;
  const auto issue_in = [&](block_state& block, std::ptrdiff_t away) {
    block_state* counts = &block;
    std::ptrdiff_t offset = place_of_word;
    if (load.half >= 0) {  // of the pair, the block that the mbarrier's address names
      counts = blocks[static_cast<std::size_t>((block.cluster_rank & ~1) | load.half)].get();
      offset -= blocks[static_cast<std::size_t>((self.home->cluster_rank & ~1) | load.half)]->shared -
                self.home->shared;
    }
    bulk_load_state l = load;
    l.destination = static_cast<unsigned char*>(load.destination) + away;
    l.word = reinterpret_cast<std::uint64_t*>(counts->shared + offset);
    l.lands = lands;
    issue_to(self, *counts, block, std::move(l), where);
  };
  if (ranks == 0) return issue_in(*self.home, 0);
  if (ranks >> blocks.size() != 0)
    fail(self, fault::bad_copy, where,
         fmt::format("a load for the ranks {:#x} of a cluster of {} blocks", ranks, blocks.size()));
  for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
    if ((ranks >> rank & 1u) == 0) continue;
    block_state& theirs = *blocks[rank];
    if (theirs.running == 0)
      fail(self, fault::bad_copy, where,
           fmt::format("a load for block {} of the cluster, which has ended", rank));
    issue_in(theirs, theirs.shared - self.home->shared);
  }
}

}  // namespace antiphase::cpu_detail

namespace antiphase::machine {

using namespace cpu_detail;

void mbarrier_init(std::uint64_t* word, int parties, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_place(self, *self.block, word, where);
  if (parties <= 0 || parties > byte_limit)
    fail(self, fault::barrier_misuse, where,
         fmt::format("an mbarrier of {} parties: expected 1 to {}", parties, byte_limit));
  if (observer* watch = self.owner->watch()) watch->mbarrier_initialised(self, word, where);
  self.home->clock_of(word) = {.word = word};
  *word = pack({static_cast<std::uint32_t>(parties), static_cast<std::uint32_t>(parties), 0, 0});
  self.owner->changed();
}
void mbarrier_stands_for(const std::uint64_t* word, ring_event of) { here().home->clock_of(word).event = of; }

void mbarrier_inval(std::uint64_t* word, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_barrier(self, *self.block, word, where);
  if (observer* watch = self.owner->watch()) watch->mbarrier_invalidated(self, word, where);
  *word = ~std::uint64_t{0};
  self.owner->changed();
}

namespace {

fields with_bytes(const thread_state& self, fields f, int bytes, place where) {
  f.bytes += bytes;
  if (f.bytes > byte_limit)
    fail(self, fault::barrier_misuse, where,
         fmt::format("an mbarrier is to expect {} bytes in a phase, it can count {}", f.bytes, byte_limit));
  return f;
}

// `count` parties arrive at an mbarrier of this block.
void arrive_at(thread_state& self, block_state& block, std::uint64_t* word, int count, int bytes_expected,
               place where, mbarrier_semantics how) {
  require_barrier(self, block, word, where);
  fields f = unpack(*word);
  if (f.missing == 0)
    fail(self, fault::barrier_misuse, where,
         fmt::format("one arrival more than the mbarrier's {} parties in a phase whose bytes have not landed",
                     f.parties));
  const std::uint32_t to_come = arrivals_to_come(block, word);
  if (count < 1 || static_cast<std::uint32_t>(count) + to_come > f.missing)
    fail(self, fault::barrier_misuse, where,
         fmt::format(
             "{} arrivals at an mbarrier that misses {} in this phase{}", count, f.missing,
             to_come == 0 ? "" : fmt::format(", of which asynchronous copies in flight make {}", to_come)));
  f = with_bytes(self, f, bytes_expected, where);
  f.missing -= static_cast<std::uint32_t>(count);
  self.owner->changed();
  mbarrier_clock& time = block.clock_of(word);
  time.latest = std::max(time.latest, self.time.now());
  if (observer* watch = self.owner->watch()) watch->mbarrier_arrived(self, word, how);
  if (advance(word, f)) phase_ended(block, *self.owner, word);
}

}  // namespace

void mbarrier_arrive(std::uint64_t* word, int bytes_expected, place where, mbarrier_semantics how) {
  thread_state& self = called_from(__builtin_return_address(0));
  arrive_at(self, *self.home, word, 1, bytes_expected, where, how);
}
void mbarrier_arrive_many(std::uint64_t* word, int count, place where, mbarrier_semantics how) {
  thread_state& self = called_from(__builtin_return_address(0));
  arrive_at(self, *self.home, word, count, 0, where, how);
}
void mbarrier_arrive_remote(std::uint64_t* word, int rank, place where, mbarrier_semantics how) {
  thread_state& self = called_from(__builtin_return_address(0));
  const std::ptrdiff_t away = to_shared_of(word, rank, where);
  self.code = __builtin_return_address(0);
  block_state& theirs = *self.home->cluster->blocks[static_cast<std::size_t>(rank)];
  arrive_at(self, theirs, reinterpret_cast<std::uint64_t*>(reinterpret_cast<unsigned char*>(word) + away), 1,
            0, where, how);
}
void mbarrier_copies_arrive(std::uint64_t* word, copies_arrive how, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  block_state& block = *self.home;
  require_barrier(self, block, word, where);
  fields f = unpack(*word);
  if (how == copies_arrive::beside) {
    if (f.missing == byte_limit)
      fail(self, fault::barrier_misuse, where,
           fmt::format("an mbarrier counts {} arrivals at most", byte_limit));
    ++f.missing;
    *word = pack(f);
  } else if (const std::uint32_t to_come = arrivals_to_come(block, word); f.missing <= to_come) {
    fail(self, fault::barrier_misuse, where,
         fmt::format("one arrival more than the mbarrier's {} parties in a phase that has not ended",
                     f.parties));
  }
  self.time.instructions(1);
  self.owner->changed();
  bulk_load_state arrival{.destination = nullptr,
                          .source = nullptr,
                          .bytes = 0,
                          .word = word,
                          .lands = self.copies.lands,
                          .copies_of = &self,
                          .copies = self.copies.issued()};
  if (observer* watch = self.owner->watch()) arrival.mark = watch->copies_tracked(self, word);
  self.copies.forget_landed();
  if (arrival.copies == self.copies.gone + self.copies.landed) {
    land(block, *self.owner, arrival);
  } else {
    self.owner->will_land(arrival.lands);
    block.loads.push_back(arrival);
  }
}
void mbarrier_expect(std::uint64_t* word, int bytes, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_barrier(self, *self.block, word, where);
  if (bytes < 0)
    fail(self, fault::barrier_misuse, where, fmt::format("an mbarrier is to expect {} bytes", bytes));
  *word = pack(with_bytes(self, unpack(*word), bytes, where));
  self.owner->changed();
}

unsigned mbarrier_parity(const std::uint64_t* word) { return unpack(*word).parity; }
namespace {
// What a ring waits for in the end is a released slot; at all others, data.
bool see_end(thread_state& self, const std::uint64_t* word, unsigned parity, mbarrier_semantics how) {
  if (const bool slots = left_out(self, wait_kind::slot), data = left_out(self, wait_kind::data);
      slots || data) {
    const ring_event of = self.home->clock_of(word).event;
    if (of.events > 1 && of.event + 1 == of.events ? slots : data) return true;
  }
  const bool ended = cpu_detail::mbarrier_ended(*word, parity);
  if (ended) self.time.wait_until(self.home->clock_of(word).ended);
  if (observer* watch = self.owner->watch(); watch != nullptr && ended)
    watch->mbarrier_waited(self, word, how);
  return ended;
}
}  // namespace
bool mbarrier_ended(const std::uint64_t* word, unsigned parity) {
  return see_end(called_from(__builtin_return_address(0)), word, parity, {});
}
bool mbarrier_test(std::uint64_t* word, unsigned parity, place where, mbarrier_semantics how) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_barrier(self, *self.block, word, where);
  const bool ended = see_end(self, word, parity, how);
  self.tested = ended ? nullptr : word;
  self.parity = parity;
  self.tested_in = where;
  return ended;
}

void mbarrier_wait(std::uint64_t* word, unsigned parity, place where, mbarrier_semantics how) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_barrier(self, *self.block, word, where);
  if (see_end(self, word, parity, how)) return;
  self.key = word;
  self.parity = parity;
  self.home->at_mbarriers.push_back(&self);
  self.owner->suspend(self, condition::at_mbarrier, where);
  if (observer* watch = self.owner->watch()) watch->mbarrier_waited(self, word, how);
}

namespace {
void load_in_bulk(thread_state& self, const bulk_load_state& load, unsigned ranks, place where) {
  if (reinterpret_cast<std::uintptr_t>(load.destination) % 16 != 0 ||
      reinterpret_cast<std::uintptr_t>(load.source) % 16 != 0 || load.bytes % 16 != 0)
    fail(self, fault::bad_copy, where,
         fmt::format("a bulk load of {} bytes: its addresses and its size must be multiples of 16",
                     load.bytes));
  issue(self, load, ranks, where);
}
}  // namespace

void bulk_load(void* to, const void* from, std::uint32_t bytes, std::uint64_t* word, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  load_in_bulk(self, {.destination = to, .source = from, .bytes = bytes, .word = word}, 0, where);
}
void bound_copy(void* to, const void* from, std::uint32_t bytes, std::uint64_t* word, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_barrier(self, *self.block, word, where);
  *word = pack(with_bytes(self, unpack(*word), static_cast<int>(bytes), where));
  issue(self, {.destination = to, .source = from, .bytes = bytes, .word = word, .is_generic = true}, 0,
        where);
}
void bulk_load_multicast(void* to, const void* from, std::uint32_t bytes, std::uint64_t* word, unsigned ranks,
                         place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  if (ranks == 0) fail(self, fault::bad_copy, where, "a bulk load for no block of the cluster");
  load_in_bulk(self, {.destination = to, .source = from, .bytes = bytes, .word = word}, ranks, where);
}
void mbarrier_arrive_and_drop(std::uint64_t* word, int count, place where, mbarrier_semantics how) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_barrier(self, *self.home, word, where);
  fields f = unpack(*word);
  if (static_cast<std::uint32_t>(count) > f.parties)
    fail(self, fault::barrier_misuse, where,
         fmt::format("{} parties leave an mbarrier of {}", count, f.parties));
  // The last party goes with its phase: an mbarrier of none is none.
  const bool last = static_cast<std::uint32_t>(count) == f.parties;
  if (!last) f.parties -= static_cast<std::uint32_t>(count);
  *word = pack(f);
  arrive_at(self, *self.home, word, count, 0, where, how);
}

namespace {
block_state& block_of(thread_state& self, int rank, const char* what, place where) {
  const auto blocks = self.home->cluster->blocks;
  if (rank < 0 || static_cast<std::size_t>(rank) >= blocks.size())
    fail(self, fault::bad_copy, where,
         fmt::format("{} to block {} of a cluster of {}", what, rank, blocks.size()));
  block_state& theirs = *blocks[static_cast<std::size_t>(rank)];
  if (theirs.running == 0)
    fail(self, fault::bad_copy, where,
         fmt::format("{} to block {} of the cluster, which has ended", what, rank));
  return theirs;
}
void copy_to(thread_state& self, block_state& theirs, bulk_load_state load, place where) {
  ++self.owner->counts.copies;
  self.owner->counts.copied_bytes += load.bytes;
  self.owner->begin_work(self);
  self.time.instruction_alone();
  self.owner->in_turn(self);
  load.lands = self.time.landing_by_engine(load.bytes);
  issue_to(self, theirs, theirs, std::move(load), where);
}
}  // namespace

void bulk_copy_to(int rank, void* to, const void* from, std::uint32_t bytes, std::uint64_t* word,
                  place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes) % 16 != 0)
    fail(self, fault::bad_copy, where,
         fmt::format("a bulk copy of {} bytes: its addresses and its size must be multiples of 16", bytes));
  copy_to(self, block_of(self, rank, "a bulk copy", where),
          {.destination = to, .source = from, .bytes = bytes, .word = word}, where);
}
void store_async_to(int rank, void* to, const void* value, std::uint32_t bytes, std::uint64_t* word,
                    place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0)
    fail(self, fault::bad_copy, where,
         fmt::format("an asynchronous store of {} bytes to an address that is no multiple of it", bytes));
  const std::shared_ptr<unsigned char[]> held(new unsigned char[bytes]);
  std::memcpy(held.get(), value, bytes);
  copy_to(self, block_of(self, rank, "an asynchronous store", where),
          {.destination = to,
           .source = held.get(),
           .bytes = bytes,
           .word = word,
           .is_generic = true,
           .value = held},
          where);
}
void mbarrier_arrive_at(int rank, std::uint64_t* word, int count, int bytes_expected, place where,
                        mbarrier_semantics how) {
  thread_state& self = called_from(__builtin_return_address(0));
  arrive_at(self, block_of(self, rank, "an arrival", where), word, count, bytes_expected, where, how);
}
void tensor_commit(std::uint64_t* word, int rank, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  block_state& theirs = block_of(self, rank, "an arrival", where);
  require_barrier(self, theirs, word, where);
  if (observer* watch = self.owner->watch()) watch->tensor_committed(self, word);
  arrive_at(self, theirs, word, 1, 0, where, {.relaxed = true, .reach = scope::cluster});
}
void answer_launch(void* to, const void* answer, std::uint64_t* word, unsigned ranks, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  const std::shared_ptr<unsigned char[]> held(new unsigned char[16]);
  std::memcpy(held.get(), answer, 16);
  load_in_bulk(self, {.destination = to, .source = held.get(), .bytes = 16, .word = word, .value = held},
               ranks, where);
}
void mbarrier_expect_at(int rank, std::uint64_t* word, int bytes, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_barrier(self, block_of(self, rank, "bytes to expect", where), word, where);
  *word = pack(with_bytes(self, unpack(*word), bytes, where));
}

}  // namespace antiphase::machine
