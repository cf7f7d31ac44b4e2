// SPDX-License-Identifier: Apache-2.0
#include "custom_races.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "checker/order/missing.hpp"

namespace antiphase::checker_detail {
void custom_races::reset() {
  stores_.clear();
  loads_.clear();
  reads_.clear();
  expected_.clear();
  not_expected_.clear();
  changes_.clear();
  may_change_.clear();
}

void custom_races::follow_change(std::size_t entry, const accessor& w, const conflict& c) {
  const auto is_plain = [](const auto* of) { return of != nullptr && of->strength == 0; };
  if (w.reach != scope{} || w.asynchronous() || !w.text.empty() || c.offset == shadow::outside ||
      !(is_plain(c.write) ? c.write->by_thread() : is_plain(c.read) && c.read->kind == warp_reads))
    return;
  may_change_.try_emplace(entry, w.place, c.write != nullptr ? c.write->place : c.read->place);
  if (w.kind == access_kind::read) return;
  const auto look = [&](const reader& r) {
    if (r.kind == warp_reads && r.strength == 0 && r.block == w.thread.block && r.unit == w.thread.warp &&
        (r.lanes & w.thread.lane) != 0)
      changes_.insert({r.place, w.place});
  };
  const cell& now = memory_.byte(c.offset);
  look(now.first);
  if (now.state != cell_state::split) memory_.each_reader(now, look);
}

bool custom_races::stores_twice(const accessor& w, const conflict& c) const {
  return c.kind == finding_kind::race && c.write != nullptr && w.kind == access_kind::write &&
         w.reach == scope{} && !w.asynchronous() && w.text.empty() && c.write->strength == 0 &&
         c.write->by_thread() && c.write->block >= launches_.first();
}

place_number custom_races::first_read(const accessor& w, const conflict& c) const {
  if (w.asynchronous()) return 0;
  if (w.kind == access_kind::read && w.reach == scope{} && c.kind == finding_kind::race) {
    const bool update = c.write != nullptr ? c.write->strength != 0 && history_.updates(c.write->place)
                        : c.read != nullptr
                            ? c.read->wrote() && c.read->strength != 0 && history_.updates(c.read->place)
                            : false;
    return update ? w.place : 0;
  }
  const bool updated = w.kind == access_kind::write && w.reach != scope{} && history_.updates(w.place);
  return updated && c.read != nullptr && c.read->kind == warp_reads && c.read->strength == 0 ? c.read->place
                                                                                             : 0;
}

unsigned char* custom_races::memory_at(std::size_t offset) const {
  const auto* const p = reinterpret_cast<const void*>(memory_.lowest() + offset);  // NOLINT: an address
  const void* const variable = memory_.variable_at(p);
  return static_cast<unsigned char*>(const_cast<void*>(variable != nullptr ? variable : p));
}

bool custom_races::of_two_sizes(const accessor& w, const conflict& c) const {
  const strength_bits other = c.write != nullptr ? c.write->strength : c.read->strength;
  const block_number block = c.write != nullptr ? c.write->block : c.read->block;
  return !of_one_size(other, w.strength()) && clocks_.strong(reach_of(other), block, w.reach, w.thread.block);
}

bool custom_races::within_cluster(const accessor& w, const conflict& c) const {
  return c.write != nullptr && c.offset < shadow::shared_bytes && c.write->by_thread() &&
         clocks_.one_cluster(c.write->block, w.thread.block) &&
         clocks_.knows_over(w.thread, c.write->block, c.write->writer, c.write->time);
}

bool custom_races::heard(const accessor& w, const conflict& c) const {
  if (w.kind != access_kind::write || (c.read != nullptr && c.read->by_copy()) ||
      (c.write != nullptr && !c.write->by_thread()))
    return false;
  if (c.write != nullptr) return clocks_.has_heard(w.thread, c.write->block, c.write->writer, c.write->time);
  for (std::uint32_t lanes = c.read->lanes; lanes != 0; lanes &= lanes - 1)
    if (const auto a = static_cast<actor>(c.read->unit * 32 + std::countr_zero(lanes));
        !clocks_.knows(w.thread, c.read->block, a, c.read->time) &&
        !clocks_.has_heard(w.thread, c.read->block, a, c.read->time))
      return false;
  return true;
}

conflict custom_races::seen_at_once(const accessor& w, const conflict& c) const {
  conflict out = c;
  const bool of_two = c.write != nullptr || c.read != nullptr;
  if (w.asynchronous() || !of_two ||
      (c.kind != finding_kind::race && c.kind != finding_kind::overwritten_in_use))
    return out;
  if (c.read != nullptr && c.read->kind == constant_reads) {
    if (c.read->block == w.thread.block && c.read->unit == w.thread.warp && c.read->lanes == w.thread.lane)
      out.in_practice = sentence::gpu_own_load;
  } else if (!c.missing.empty()) {
    return out;
  } else if (of_two_sizes(w, c)) {
    out.in_practice = sentence::gpu_two_sizes;
  } else if (within_cluster(w, c)) {
    out.in_practice = sentence::gpu_narrow_scope;
    out.instead = sentence::mbarrier_in_cluster;
  } else if (heard(w, c)) {
    out.in_practice = sentence::gpu_not_acquired;
    out.instead = sentence::acquire;
  }
  return out;
}

conflict custom_races::classified(const accessor& w, const conflict& c) {
  if (!c.in_practice.empty() || c.offset == shadow::outside) return c;
  conflict out = seen_at_once(w, c);
  if (!out.in_practice.empty()) return out;
  if (stores_twice(w, c)) {
    out.in_practice = sentence::gpu_same_value;
    out.instead = sentence::both_strong;
  } else if (first_read(w, c) != 0) {
    out.in_practice = sentence::gpu_first_of_loop;
    out.instead = sentence::strong_load;
  }
  return out;
}

void custom_races::follow(std::size_t entry, const accessor& w, const conflict& c) {
  if (!c.in_practice.empty() || c.offset == shadow::outside) return;
  if (!seen_at_once(w, c).in_practice.empty()) return;
  follow_change(entry, w, c);
  const bool whole = c.offset % 4 == 0 && memory_.touched(c.offset).state != cell_state::split;
  if (stores_twice(w, c)) {
    store s{entry, memory_at(c.offset), whole ? 4u : 1u, {}};
    std::memcpy(s.before, s.address, s.bytes);
    stores_.push_back(s);
    return;
  }
  const place_number read = first_read(w, c);
  if (read == 0) return;
  reads_.emplace_back(entry, read);
  if (w.kind == access_kind::write) return;
  load l{read, history_.effort.accesses, {}};
  std::memcpy(l.value, memory_at(c.offset / 4 * 4), sizeof l.value);
  const auto [at, fresh] = loads_.try_emplace({w.thread.block, w.thread.index, c.offset / 4}, l);
  if (fresh || at->second.access == l.access) return;
  if (at->second.place == l.place)
    not_expected_.insert(l.place);  // it has loaded again, and compared nothing
  at->second = l;
}

void custom_races::settle() {
  for (const store& s : stores_)
    if (std::memcmp(s.before, s.address, s.bytes) != 0) findings_.is_error(s.entry);
  stores_.clear();
}

void custom_races::compares(const thread_model& t, const void* p, std::size_t bytes, std::uint64_t expected) {
  const std::size_t offset = memory_.offset_of(p, bytes);
  if (offset == shadow::outside) return;
  const bool succeeds = std::memcmp(p, &expected, bytes) == 0;
  const cell& c = memory_.byte(offset);
  place_number last = 0;
  stamp time = 0;
  const auto look = [&](const reader& r) {
    if (r.kind != warp_reads || r.strength != 0 || r.block != t.block || r.unit != t.warp ||
        (r.lanes & t.lane) == 0)
      return;
    if (last == 0 || r.time >= time) last = r.place, time = r.time;
  };
  look(c.first);
  if (c.state != cell_state::split) memory_.each_reader(c, look);
  bool known = false;
  for (std::size_t at = offset; at < offset + bytes; at += 4) {
    const auto l = loads_.find({t.block, t.index, at / 4});
    if (l == loads_.end()) continue;
    known = true;
    const bool same =
        std::memcmp(l->second.value + at % 4, reinterpret_cast<const char*>(&expected) + (at - offset),
                    std::min<std::size_t>(bytes, 4)) == 0;
    (same ? expected_ : not_expected_).insert(l->second.place);
    loads_.erase(l);
  }
  if (!known && last != 0 && succeeds) expected_.insert(last);
}

void custom_races::finish() {
  settle();
  for (const auto& [entry, place] : reads_)
    if (!expected_.contains(place) || not_expected_.contains(place)) findings_.is_error(entry);
  reads_.clear();
  for (const auto& [entry, places] : may_change_) {
    // Within a block, a buffer that is used again looks the same.
    finding& f = findings_.all()[entry].result;
    if (changes_.contains(places.first) && changes_.contains(places.second) &&
        f.missing.row == sentence::device_release)
      f.missing = sentence::one_update;
  }
}

}  // namespace antiphase::checker_detail
