// SPDX-License-Identifier: Apache-2.0
#include "access_counts.hpp"

#include <algorithm>
#include <bit>
#include <thread>

#include "places.hpp"

namespace antiphase::checker_detail {
namespace {

constexpr std::uint32_t widest = 16;  // bytes that an instruction accesses for each lane

// An access as instructions make it: structs in parts.
std::uint32_t part_of(std::uint64_t at, std::size_t bytes) {
  std::uint32_t part = widest;
  while (bytes % part != 0 || at % part != 0) part /= 2;
  return part;
}

}  // namespace

void access_counts::begin_launch(const std::string& kernel) {
  const auto at = std::ranges::find(kernels_, kernel);
  kernel_ = static_cast<std::size_t>(at - kernels_.begin());
  if (at == kernels_.end()) kernels_.push_back(kernel);
}

access_counts::warp& access_counts::warp_of(const thread_model& t) {
  warp& w = warps_[{t.block, t.warp}];
  if (w.all == 0) {
    w.all = ~0u >> (32 - std::min(32, t.block_threads - 32 * t.warp));
    w.kernel = kernel_;
  }
  return w;
}

// Functions of headers that were not inlined count for the line that called them.
place_number access_counts::users_place(place_number p) {
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

void access_counts::access(const thread_model& t, line_action what, line_memory memory, std::uint64_t at,
                           std::size_t bytes, place_number place) {
  event e{.at = at,
          .place = users_place(place),
          .bytes = static_cast<std::uint32_t>(bytes),
          .what = what,
          .memory = memory};
  if (what != line_action::bulk_copy) e.bytes = part_of(at, bytes);
  std::vector<event>& events = warp_of(t).events[static_cast<std::size_t>(t.index % 32)];
  for (const std::uint64_t end = at + bytes; e.at < end; e.at += e.bytes) events.push_back(e);
}

void access_counts::met(std::span<thread_model* const> threads) {
  std::map<warp*, std::uint32_t> lanes;
  for (const thread_model* t : threads) lanes[&warp_of(*t)] |= t->lane;
  for (const auto& [w, these] : lanes) {
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      if ((these >> lane & 1) != 0) w->events[lane].push_back({.at = w->meetings.size(), .is_meeting = true});
    w->meetings.push_back(these);
    if ((these | w->ended) == w->all) put_together(*w);
  }
}

void access_counts::ended(const thread_model& t) {
  warp& w = warp_of(t);
  w.ended |= t.lane;
  if (w.ended == w.all) put_together(w);
}

void access_counts::end_block(block_number block) {
  for (auto w = warps_.lower_bound({block, 0}); w != warps_.end() && w->first.first == block;
       w = warps_.erase(w))
    put_together(w->second);
}

void access_counts::put_together(warp& w) {
  std::array<std::size_t, 32> next{};
  const auto for_lanes = [&](auto f) {
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      if (next[lane] < w.events[lane].size()) f(lane, w.events[lane][next[lane]]);
  };
  for (;;) {
    const event* first = nullptr;
    for_lanes([&](std::uint32_t, const event& e) {
      if (!e.is_meeting && (first == nullptr || e.place < first->place)) first = &e;
    });
    if (first != nullptr) {
      warp_request r{.lanes = 0, .address = {}, .bytes = first->bytes};
      for_lanes([&](std::uint32_t lane, const event& e) {
        if (e.is_meeting || e.place != first->place || e.what != first->what || e.memory != first->memory ||
            e.bytes != first->bytes)
          return;
        r.lanes |= 1u << lane;
        r.address[lane] = e.at;
        ++next[lane];
      });
      count(w.kernel, *first, r);
      continue;
    }
    // All wait: those of one meeting go on together. The earliest is complete, or a lane ended before it.
    std::uint64_t earliest = w.meetings.size();
    for_lanes([&](std::uint32_t, const event& e) { earliest = std::min(earliest, e.at); });
    if (earliest == w.meetings.size()) break;
    for_lanes([&](std::uint32_t lane, const event& e) {
      if (e.at == earliest) ++next[lane];
    });
  }
  for (std::vector<event>& events : w.events) events.clear();
  w.meetings.clear();
}

void access_counts::count(std::size_t kernel, const event& e, const warp_request& r) {
  line_count& c = counted_[{kernel, e.place, e.memory, e.what}];
  const auto lanes = static_cast<std::uint64_t>(std::popcount(r.lanes));
  ++c.requests;
  c.lanes += lanes;
  c.bytes += lanes * e.bytes;
  request_cost cost;
  if (e.memory != line_memory::shared)
    cost = sectors(r);
  else if (e.what != line_action::bulk_copy && e.what != line_action::atomic)
    cost = wavefronts(r);
  c.units += cost.units;
  c.ideal += cost.ideal;
}

std::vector<line_count> access_counts::lines() const {
  std::map<std::tuple<std::size_t, std::string, int, line_action, line_memory>, line_count> by_line;
  for (const auto& [key, c] : counted_) {
    const auto& [kernel, place, memory, what] = key;
    const code_place at = places_.first_line(place);
    line_count& to = by_line[{kernel, at.file, at.line, what, memory}];
    to.kernel = kernels_[kernel];
    to.at = at;
    to.memory = memory;
    to.what = what;
    to.requests += c.requests;
    to.lanes += c.lanes;
    to.bytes += c.bytes;
    to.units += c.units;
    to.ideal += c.ideal;
  }
  std::vector<line_count> all;
  for (auto& [key, c] : by_line) all.push_back(std::move(c));
  return all;
}

}  // namespace antiphase::checker_detail
