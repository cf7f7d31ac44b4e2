// SPDX-License-Identifier: Apache-2.0
#include "warp_streams.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "checker/order/places.hpp"

namespace antiphase::checker_detail {
namespace {

using kind = lane_event::kind;

constexpr std::uint32_t widest = 16;  // bytes that an instruction accesses for each lane

// An access as instructions make it: structs in parts.
std::uint32_t part_of(std::uint64_t at, std::size_t bytes) {
  std::uint32_t part = widest;
  while (bytes % part != 0 || at % part != 0) part /= 2;
  return part;
}

bool together(const lane_event& a, const lane_event& b) {
  return a.type == b.type && a.place == b.place && a.action == b.action && a.memory == b.memory &&
         a.bytes == b.bytes &&
         (a.type == kind::access || a.type == kind::bulk_load || (a.moment == b.moment && a.more == b.more));
}

// Waits come last: what they wait for may follow from what another lane of the warp does next.
bool comes_before(const lane_event& a, const lane_event& b) {
  const auto waits = [](const lane_event& e) { return e.type == kind::wait || e.type == kind::named_wait; };
  return std::pair(waits(a), a.place) < std::pair(waits(b), b.place);
}

}  // namespace

warp_streams::warp& warp_streams::warp_of(const thread_model& t) {
  warp& w = warps_[{t.block, t.warp}];
  if (w.all == 0) w.all = ~0u >> (32 - std::min(32, t.block_threads - 32 * t.warp));
  return w;
}

// Functions of headers that were not inlined count for the line that called them.
place_number warp_streams::users_place(place_number p) {
  const auto is_of_machinery = [&](place_number q) {
    const auto [at, fresh] = of_machinery_.try_emplace(q);
    if (fresh)  // libdw needs more than a fiber's stack
      std::thread([&, answer = &at->second] { *answer = is_machinery(places_.first_line(q)); }).join();
    return at->second;
  };
  if (!is_of_machinery(p)) return p;
  for (const void* caller : callers_of(places_.code_of(p)))
    if (const place_number q = places_.number_of_code(caller); !is_of_machinery(q)) return q;
  return p;
}

void warp_streams::add(const thread_model& t, lane_event e) {
  e.place = users_place(e.place);
  warp_of(t).events[static_cast<std::size_t>(t.index % 32)].push_back(e);
}

void warp_streams::access(const thread_model& t, lane_event e) {
  e.type = kind::access;
  e.place = users_place(e.place);
  const std::uint64_t end = e.moment + e.bytes;
  if (e.action != line_action::bulk_copy) e.bytes = part_of(e.moment, e.bytes);
  std::vector<lane_event>& events = warp_of(t).events[static_cast<std::size_t>(t.index % 32)];
  for (; e.moment < end; e.moment += e.bytes) events.push_back(e);
}

void warp_streams::met(std::span<thread_model* const> threads, place_number at) {
  at = users_place(at);
  std::map<warp_key, std::uint32_t> lanes;
  for (const thread_model* t : threads) {
    warp_of(*t);
    lanes[{t->block, t->warp}] |= t->lane;
  }
  ++meetings_;
  for (const auto& [key, these] : lanes) {
    warp& w = warps_[key];
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      if ((these >> lane & 1) != 0)
        w.events[lane].push_back({.type = kind::meeting, .moment = w.meetings.size()});
    w.meetings.push_back({these, meetings_, at});
    if ((these | w.ended) == w.all) put_together(key, w);
  }
}

void warp_streams::ended(const thread_model& t) {
  warp& w = warp_of(t);
  w.ended |= t.lane;
  if (w.ended == w.all) put_together({t.block, t.warp}, w);
}

void warp_streams::end_block(block_number block) {
  for (auto w = warps_.lower_bound({block, 0}); w != warps_.end() && w->first.first == block;
       w = warps_.erase(w))
    put_together(w->first, w->second);
}

void warp_streams::put_together(const warp_key& key, warp& w) {
  std::array<std::size_t, 32> next{};
  const auto for_lanes = [&](auto f) {
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      if (next[lane] < w.events[lane].size()) f(lane, w.events[lane][next[lane]]);
  };
  for (;;) {
    const lane_event* first = nullptr;
    for_lanes([&](std::uint32_t, const lane_event& e) {
      if (e.type != kind::meeting && (first == nullptr || comes_before(e, *first))) first = &e;
    });
    if (first != nullptr) {
      warp_request r{.lanes = 0, .address = {}, .bytes = first->bytes};
      for_lanes([&](std::uint32_t lane, const lane_event& e) {
        if (!together(e, *first)) return;
        r.lanes |= 1u << lane;
        r.address[lane] = e.moment;
        ++next[lane];
      });
      to_.instruction(key.first, key.second, *first, r);
      continue;
    }
    // All wait: those of one meeting go on together. The earliest is complete, or a lane ended before it.
    std::uint64_t earliest = w.meetings.size();
    for_lanes([&](std::uint32_t, const lane_event& e) { earliest = std::min(earliest, e.moment); });
    if (earliest == w.meetings.size()) break;
    for_lanes([&](std::uint32_t lane, const lane_event& e) {
      if (e.moment == earliest) ++next[lane];
    });
    to_.met(key.first, key.second, w.meetings[earliest].number, w.meetings[earliest].place);
  }
  for (std::vector<lane_event>& events : w.events) events.clear();
  w.meetings.clear();
}

}  // namespace antiphase::checker_detail
