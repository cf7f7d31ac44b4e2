// SPDX-License-Identifier: Apache-2.0
#include "mbarrier_order.hpp"

#include <fmt/format.h>

#include <antiphase/executor/cpu/machine_tensor_memory.hpp>

#include <algorithm>
#include <bit>

#include "core/executor/cpu/observer.hpp"

namespace antiphase::checker_detail {

std::vector<mbarrier_order::counted_copy> mbarrier_order::end_block(const block_model& b) {
  std::vector<counted_copy> unwaited;
  const block_record& r = clocks_.block(b.number);
  for (auto i = first(r); i != behind(r); ++i) {
    const counted_copy& c = i->second.last;
    if (i->second.last_load <= i->second.waited) continue;
    // Several mbarriers may count one copy of a thread, and its own waits cover it too.
    const bool waited =
        c.tracked != 0 && std::ranges::any_of(b.threads, [&](const thread_model& t) {
          return clocks_.knows(t, c.block, b.threads[static_cast<std::size_t>(c.thread)].copies.number,
                               c.tracked);
        });
    if (!waited) unwaited.push_back(c);
  }
  all_.erase(first(r), behind(r));
  return unwaited;
}

// the mbarrier's word
// -----------------------------------------------------------------------------------------------------------

void mbarrier_order::init(const thread_model& t, const void* word, place_number at_place) {
  mbarrier& b = at(word);
  b.arrived = b.ended = {};  // its loads and phases are counted on
  b.owner = t.block;
  b.initialised_by = t.index;
  b.initialised_at = at_place;
  b.init_fenced = false;
  b.told = 0;
  b.latest.clear();
  b.together = 0;
}

std::optional<std::pair<int, int>> mbarrier_order::crowded(const block_record& r) {
  for (auto i = first(r); i != behind(r); ++i) {
    const auto* const word =
        reinterpret_cast<const std::uint64_t*>(lowest_ + i->first);  // NOLINT: an address
    const int parties = static_cast<int>(cpu_detail::parties_of(*word));
    if (i->second.together > parties) return std::pair(static_cast<int>(i->second.together), parties);
  }
  return {};
}

bool mbarrier_order::is_valid(const void* word, place_number last_write) const {
  const auto b = all_.find(offset_of(word));
  return b != all_.end() && b->second.initialised_by >= 0 && b->second.initialised_at == last_write;
}

bool mbarrier_order::is_idle(const void* word) const {
  const mbarrier& b = all_.at(offset_of(word));
  return b.last_load <= b.waited && b.told == 0;
}

void mbarrier_order::fence(const thread_model& t) {
  const block_record& r = clocks_.block(t.block);
  for (auto i = first(r); i != behind(r); ++i) i->second.init_fenced |= i->second.initialised_by == t.index;
}

// fence.mbarrier_init.release.cluster followed by a relaxed cluster arrive, which is what the PTX ISA has
// that fence for. It covers only mbarriers that this thread has initialised.
void mbarrier_order::arrive_in_cluster(const thread_model& t) {
  const block_record& r = clocks_.block(t.block);
  for (auto i = first(r); i != behind(r); ++i)
    if (mbarrier& b = i->second; b.initialised_by == t.index && b.init_fenced && b.told == 0)
      b.told = t.met + 1;
}
void mbarrier_order::met_in_cluster(thread_model& t) {
  int& met = clocks_.block(t.block).met;
  met = std::max(met, ++t.met);
}
bool mbarrier_order::told_of(const thread_model& t, const void* word) {
  const mbarrier& b = at(word);
  const std::uint32_t offset = offset_of(word);
  const block_record& own = clocks_.block(t.block);
  const bool of_other = offset < own.lowest || offset >= own.highest;
  return b.told != 0 && (of_other ? own.met : t.met) >= b.told &&
         clocks_.owner_of(t.block, offset, sizeof(std::uint64_t)) != 0;
}

// phases
// -----------------------------------------------------------------------------------------------------------

void mbarrier_order::arrive(thread_model& t, const void* word, machine::mbarrier_semantics how) {
  mbarrier& b = at(word);
  const auto barriers = static_cast<std::uint32_t>(t.barriers);
  if (b.latest.size() <= t.warp) b.latest.resize(t.warp + 1u);
  mbarrier::lanes_of_warp& latest = b.latest[t.warp];
  if (latest.barriers != barriers || (latest.lanes & t.lane) != 0) latest = {0, barriers};
  latest.lanes |= t.lane;
  b.together = std::max(b.together, std::popcount(latest.lanes));
  clocks_.write_down(t, "arrives at an mbarrier");
  if (t.block != b.owner && std::ranges::find(b.arrived.blocks, t.block) == b.arrived.blocks.end())
    b.arrived.blocks.push_back(t.block);
  if (t.copies.in_flight()) {
    auto& arrivals = copies_of(t).arrivals;
    if (arrivals.empty() || arrivals.back().group < t.copies.last_used)
      arrivals.push_back({t.copies.last_used, *t.time});
  }
  if (!how.relaxed && t.block != b.owner) {
    clocks_.block(t.block).published = true;
    b.arrived.far = join(b.arrived.far, clocks_.publish(t), b.owner);
  }
  patterns_.give(t, operation(word, order::release, how), b.arrived.by_threads);
}

void mbarrier_order::end_phase(const void* word) {
  mbarrier& b = at(word);
  ++b.phase;
  for (const auto& [started_in, number] : b.loads)
    b.arrived.landed = join(b.arrived.landed, clocks_.landed(started_in, number, b.phase), b.owner);
  b.ended = b.arrived;
}

void mbarrier_order::wait(thread_model& t, const void* word, machine::mbarrier_semantics how) {
  mbarrier& b = at(word);
  b.waited = b.phase;
  clocks_.write_down_wait(t, "waits for an mbarrier", {reinterpret_cast<std::uintptr_t>(word), b.phase});
  // The copies' own release is of cluster scope: all circles of the waiting thread take it in.
  if (b.ended.landed != nullptr)
    patterns_.take_in(t, operation(word, order::acquire, how), {{{0, t.block}, b.ended.landed}});
  patterns_.take_in(t, operation(word, order::acquire, how), b.ended.by_threads);
  if (!how.relaxed && b.ended.far != nullptr) clocks_.learn_over(t, b.ended.far);
  if (b.ended.products != nullptr) clocks_.learn_over(t, b.ended.products);
  std::vector<block_number>& begun = clocks_.block(t.block).begun;
  for (const block_number other : b.ended.blocks)
    if (std::ranges::find(begun, other) == begun.end()) begun.push_back(other);
}

stamp mbarrier_order::track_copies(thread_model& t, const void* word) {
  own_actor& c = t.copies;
  // later copies of the thread are another part of its group
  if (c.last_used > c.closed) c.parts.push_back(++c.closed);
  c.tracked = c.closed;
  mbarrier& b = at(word);
  clocks_.write_down(t, "arrives with copies", {reinterpret_cast<std::uintptr_t>(word), b.phase + 1});
  if (c.last_used <= c.waited) return c.closed;
  b.last_load = b.phase + 1;
  b.last = {.block = t.block, .thread = t.index, .place = c.last_place, .tracked = c.last_used};
  copies_of(t).counted = c.closed;
  return c.closed;
}
void mbarrier_order::arrive_with_copies(const thread_model& t, const void* word, stamp tracked) {
  if (t.copies.number == 0) return;
  knowledge_ptr& arrived = at(word).arrived.landed;
  arrived = join(arrived, clocks_.landed(t.block, t.copies.number, tracked), t.block);
}

void mbarrier_order::arrive_with_products(thread_model& t, const void* word) {
  released& to = at(word).arrived;
  to.products = join(to.products, clocks_.publish(t), at(word).owner);
  own_actor& products = t.tensor[static_cast<std::size_t>(machine::tensor_work::product)];
  if (products.number == 0) return;
  products.tracked = products.closed;
  to.landed = join(to.landed, clocks_.landed(t.block, products.number, products.closed), at(word).owner);
}

// Loads issued by threads of one block and counted by one mbarrier, in this block or another, share an actor
// in the issuing block.
actor mbarrier_order::counted_by(mbarrier& b, const thread_model& t) {
  for (const auto& [block, number] : b.loads)
    if (block == t.block) return number;
  const actor number = clocks_.add_actor(t.block, {actor_kind::loads, t.index});
  block_record& r = clocks_.block(t.block);
  r.published |= r.cluster != 0;  // waiters in another block learn of them
  b.loads.push_back({t.block, number});
  return number;
}

mbarrier_order::load mbarrier_order::begin_load(const thread_model& t, const void* word, place_number place) {
  mbarrier& b = at(word);
  b.arrived.far = join(b.arrived.far, t.known, b.owner);  // the start is no release
  const actor number = counted_by(b, t);
  b.last_load = b.phase + 1;
  b.last = {.block = t.block, .thread = t.index, .place = place, .tracked = 0};
  return {.number = number, .phase = b.phase + 1, .init_fenced = b.init_fenced};
}

}  // namespace antiphase::checker_detail
