// SPDX-License-Identifier: Apache-2.0
#include "event_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <limits>
#include <set>
#include <utility>

namespace antiphase::checker_detail {

// recording
// -----------------------------------------------------------------------------------------------------------

void event_log::begin_block(block_number number, extent3 index, int threads) {
  kernel_first_ = launch_first_;
  for (auto b = blocks_.begin(); threads_ >= most_threads && b != blocks_.end();) {
    if (!b->second.ended) {
      ++b;
      continue;
    }
    threads_ -= b->second.threads.size();
    b = blocks_.erase(b);
  }
  threads_ += static_cast<std::size_t>(threads);
  blocks_[number] = {.index = index,
                     .ended = false,
                     .threads = std::vector<std::vector<event>>(static_cast<std::size_t>(threads)),
                     .values = std::vector<looks>(keeps_all_ ? static_cast<std::size_t>(threads) : 0)};
}

std::vector<event_log::event>& event_log::history(who of) {
  return blocks_[of.block].threads[static_cast<std::size_t>(of.thread)];
}

const std::vector<event_log::event>* event_log::find(who of) const {
  const auto b = blocks_.find(of.block);
  if (b == blocks_.end() || of.thread < 0 || static_cast<std::size_t>(of.thread) >= b->second.threads.size())
    return nullptr;
  return &b->second.threads[static_cast<std::size_t>(of.thread)];
}

bool event_log::event::touches(std::uintptr_t address) const {
  if (!regular || bytes == 0) return false;
  const auto within = [&](std::uintptr_t start) { return address - start < bytes; };
  if (step == 0 || times == 1) return within(first_address) || within(last_address);
  const auto along = (static_cast<std::intptr_t>(address) - static_cast<std::intptr_t>(first_address)) / step;
  for (const std::intptr_t i : {along - 1, along, along + 1})
    if (i >= 0 && i < static_cast<std::intptr_t>(times) &&
        within(first_address + static_cast<std::uintptr_t>(i * step)))
      return true;
  return false;
}

bool event_log::event::touches(const question& q) const {
  if (q.memory == 0) return false;
  if (q.bytes == 1) return touches(q.memory);
  const auto [low, high] = std::minmax(first_address, last_address);
  return bytes > 0 && low < q.memory + q.bytes && q.memory < high + bytes;
}

void event_log::add(who by, event e) {
  std::vector<event>& events = history(by);
  e.first = e.last = ++now_;
  if (!keeps_all_ && events.size() >= 2 * most_events)
    events.erase(events.begin(), events.end() - most_events);
  events.push_back(e);
}

// The floating-point flags are the running thread's own, as fibers keep theirs. A thread that begins finds
// what others have left: nothing can be invalid before it has loaded something.
void event_log::note_invalid_operation([[maybe_unused]] who by) {
#if defined(__x86_64__)
  if (!keeps_all_ || std::fetestexcept(FE_INVALID) == 0) return;
  std::feclearexcept(FE_INVALID);
  if (!history(by).empty()) order(by, event_kind::order, "invalid operation");
#endif
}

event_log::looks& event_log::values(who of) {
  return blocks_[of.block].values[static_cast<std::size_t>(of.thread)];
}
void event_log::looked_at(who by, std::uint64_t value) {
  if (keeps_all_) values(by).add(value);
}
void event_log::stores(who by, const void* to, std::size_t bytes) {
  if (keeps_all_) values(by).stored = {static_cast<const unsigned char*>(to), bytes};
}

void event_log::end_thread(who by, stamp ticks) {
  note_invalid_operation(by);
  if (keeps_all_) order(by, event_kind::order, "ends", {.owner = 0, .number = ticks});
}

void event_log::access(who by, event_kind kind, const void* at, std::size_t bytes, place_number place) {
  note_invalid_operation(by);
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  std::vector<event>& events = history(by);
  for (auto e = events.rbegin();
       !keeps_all_ && e != events.rend() && (e->kind == event_kind::read || e->kind == event_kind::write);
       ++e) {
    if (e->place != place || e->kind != kind) continue;
    const auto step = static_cast<std::intptr_t>(address) - static_cast<std::intptr_t>(e->last_address);
    e->regular = e->regular && e->bytes == bytes && (e->times == 1 || step == e->step);
    e->step = step;
    e->last_address = address;
    e->last = ++now_;
    ++e->times;
    return;
  }
  std::uint64_t looked_at = 0;
  if (keeps_all_) {
    looks& v = values(by);
    for (const unsigned char byte : std::exchange(v.stored, {})) v.add(byte);
    looked_at = v.digest;
  }
  add(by, {.kind = kind,
           .place = place,
           .first_address = address,
           .last_address = address,
           .bytes = bytes,
           .in = {.owner = 0, .number = looked_at}});
}

void event_log::copy(who by, copy_group in, const void* to, std::size_t bytes, place_number place) {
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  add(by, {.kind = event_kind::copy,
           .place = place,
           .first_address = address,
           .last_address = address,
           .bytes = bytes,
           .in = in});
}

void event_log::products(who by, std::uint32_t multiply_adds, place_number place) {
  if (!keeps_all_) return;
  order(by, event_kind::order, "multiplies on Tensor Cores", {.owner = 0, .number = multiply_adds});
  history(by).back().place = place;
}

void event_log::order(who by, event_kind kind, const char* what, copy_group done) {
  add(by, {.kind = kind, .name = what, .in = done});
}

void event_log::met(std::span<const who> all, const char* what) {
  for (const who& w : all) add(w, {.kind = event_kind::wait, .name = what});
  for (const who& w : all) history(w).back().first = history(w).back().last = now_;  // all at the same moment
}

block_number event_log::block_at(extent3 index) const {
  for (auto b = blocks_.lower_bound(launch_first_); b != blocks_.end(); ++b)
    if (b->second.index.x == index.x && b->second.index.y == index.y && b->second.index.z == index.z)
      return b->first;
  return 0;
}

// drawing
// -----------------------------------------------------------------------------------------------------------

std::string event_log::name_of(who w) const {
  const auto b = blocks_.find(w.block);
  const extent3 i = b == blocks_.end() ? extent3{} : b->second.index;
  return i.y == 0 && i.z == 0 ? fmt::format("block {}, thread {}", i.x, w.thread)
                              : fmt::format("block ({}, {}, {}), thread {}", i.x, i.y, i.z, w.thread);
}

// Other threads to draw: the last four to touch the memory, some of the last kernel, and one for each place
// where threads of the launch are.
void event_log::choose_others(const question& q, std::vector<who>& chosen) const {
  constexpr std::size_t most_lanes = 6;
  const auto take = [&](who w) {
    if (chosen.size() < most_lanes && std::ranges::find(chosen, w) == chosen.end()) chosen.push_back(w);
  };
  if (q.memory != 0) {
    std::vector<std::pair<std::uint64_t, who>> touched;
    for (const auto& [number, b] : blocks_)
      for (std::size_t t = 0; t < b.threads.size(); ++t) {
        const auto last = std::find_if(b.threads[t].rbegin(), b.threads[t].rend(),
                                       [&](const event& e) { return e.touches(q); });
        if (last != b.threads[t].rend()) touched.emplace_back(last->last, who{number, static_cast<int>(t)});
      }
    std::ranges::sort(touched, [](const auto& one, const auto& other) { return one.first > other.first; });
    for (std::size_t i = 0; i < std::min<std::size_t>(touched.size(), 4); ++i) take(touched[i].second);
  }
  if (q.last_kernel) {  // one thread of each warp: first warp 0 of every block, then warp 1
    for (int warp = 0; warp < 32; ++warp)
      for (auto b = blocks_.lower_bound(kernel_first_); b != blocks_.end(); ++b)
        if (static_cast<std::size_t>(warp) * 32 < b->second.threads.size()) take({b->first, warp * 32});
  }
  if (!q.others) return;
  std::set<std::pair<place_number, std::string>> seen;
  for (auto b = blocks_.lower_bound(launch_first_); b != blocks_.end(); ++b) {
    if (b->second.ended && !q.for_ever) continue;
    for (std::size_t t = 0; t < b->second.threads.size(); ++t) {
      const auto& events = b->second.threads[t];
      const auto key = events.empty()
                           ? std::pair(place_number{}, std::string())
                           : std::pair(events.back().place,
                                       std::string(events.back().name != nullptr ? events.back().name : ""));
      if (seen.insert(key).second) take({b->first, static_cast<int>(t)});
    }
  }
}

namespace {

const char* verb_of(event_kind kind) {
  switch (kind) {
    case event_kind::read: return "reads";
    case event_kind::write: return "writes";
    case event_kind::atomic: return "atomic operation on";
    default: return "starts a copy of";
  }
}

// Events that overlap go into lanes of their own, which are numbered.
void add_lanes(finding_schedule& to, const std::string& name, std::vector<schedule_event> events) {
  std::ranges::stable_sort(events, {}, &schedule_event::begin);
  std::vector<schedule_lane> lanes;
  for (schedule_event& e : events) {
    const auto free =
        std::ranges::find_if(lanes, [&](const schedule_lane& l) { return l.events.back().end <= e.begin; });
    schedule_lane& into =
        free != lanes.end()
            ? *free
            : lanes.emplace_back(
                  schedule_lane{.name = lanes.empty() ? name : fmt::format("{}, {}", name, lanes.size() + 1),
                                .events = {}});
    into.events.push_back(std::move(e));
  }
  to.lanes.insert(to.lanes.end(), lanes.begin(), lanes.end());
}

}  // namespace

event_log::snapshot event_log::taken(const question& q) const {
  std::vector<who> chosen;
  if (q.is_thread) chosen.push_back(q.now.thread);
  if (q.earlier && std::ranges::find(chosen, q.earlier->thread) == chosen.end())
    chosen.push_back(q.earlier->thread);
  choose_others(q, chosen);
  snapshot s{.question = q, .threads = {}};
  for (const who& w : chosen)
    if (const std::vector<event>* events = find(w))
      s.threads.push_back(
          {.thread = w, .name = name_of(w), .ended = blocks_.at(w.block).ended, .events = *events});
  return s;
}

finding_schedule event_log::drawn(const snapshot& s,
                                  const std::function<code_place(place_number)>& place_of) {
  const question& q = s.question;

  // Each side is the last event of its thread at its place.
  const auto side_in = [&](const side& of) -> const event* {
    const auto t = std::ranges::find(s.threads, of.thread, &thread_events::thread);
    if (t == s.threads.end()) return nullptr;
    const auto at = std::find_if(t->events.rbegin(), t->events.rend(),
                                 [&](const event& e) { return e.place == of.place && e.place != 0; });
    return at == t->events.rend() ? nullptr : &*at;
  };
  const event* const now = q.is_thread ? side_in(q.now) : nullptr;
  const event* const earlier = q.earlier ? side_in(*q.earlier) : nullptr;

  // At most `shown` events of each thread, and `context` before the earlier side.
  constexpr std::ptrdiff_t shown = 30, context = 6;
  std::uint64_t from = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [by, name, ended, events] : s.threads) {
    const auto count = static_cast<std::ptrdiff_t>(events.size());
    if (count == 0) continue;
    std::ptrdiff_t start = std::max<std::ptrdiff_t>(0, count - shown);
    if (earlier != nullptr) {
      const auto before =
          std::ranges::count_if(events, [&](const event& e) { return e.first < earlier->first; });
      start = std::max<std::ptrdiff_t>(start, before - context);
    }
    from = std::min(from, events[static_cast<std::size_t>(std::min(start, count - 1))].first);
  }
  if (earlier != nullptr) from = std::min(from, earlier->first);
  std::vector<std::uint64_t> order;
  for (const thread_events& t : s.threads)
    for (const event& e : t.events)
      if (e.first >= from) order.push_back(e.first);
  std::ranges::sort(order);
  order.erase(std::unique(order.begin(), order.end()), order.end());
  const auto at = [&](std::uint64_t moment) {
    return std::ranges::lower_bound(order, moment) - order.begin();
  };

  finding_schedule out{.lanes = {}, .end = static_cast<std::int64_t>(order.size()) + (q.for_ever ? 3 : 1)};
  std::vector<schedule_event> memory;
  for (const auto& [by, name, ended, events] : s.threads) {
    schedule_lane lane{.name = name, .events = {}};
    struct in_flight {
      copy_group in;
      schedule_event drawn;
      std::uint64_t bytes = 0;
      bool into_memory = false;
    };
    std::vector<in_flight> flights;
    std::int64_t free_from = 0;
    for (const event& e : events) {
      if (e.first < from) continue;
      const std::int64_t p = at(e.first);
      const event_mark mark = &e == now       ? event_mark::now
                              : &e == earlier ? event_mark::earlier
                                              : event_mark::none;
      schedule_event d{
          .kind = e.kind,
          .action = e.name != nullptr ? e.name : fmt::format("{} {} bytes", verb_of(e.kind), e.bytes),
          .begin = p,
          .end = p + 1,
          .mark = mark};
      if (e.place != 0) d.place = place_of(e.place);
      d.times = e.times;
      if (e.kind == event_kind::wait) d.begin = std::min(p, free_from);
      free_from = p + 1;
      lane.events.push_back(d);
      const bool touches = q.memory != 0 && (e.touches(q) || mark != event_mark::none);
      if (e.kind == event_kind::copy) {
        const auto same = std::ranges::find_if(flights, [&](const in_flight& f) {
          return f.drawn.open && f.in.owner == e.in.owner && f.in.number == e.in.number;
        });
        in_flight& f =
            same != flights.end()
                ? *same
                : flights.emplace_back(
                      in_flight{.in = e.in, .drawn = {.kind = event_kind::flight, .begin = p, .open = true}});
        f.bytes += e.bytes;
        f.drawn.action = fmt::format("{} bytes in flight", f.bytes);
        if (f.bytes == e.bytes || mark != event_mark::none) f.drawn.place = d.place;
        f.into_memory = f.into_memory || touches;
        if (mark != event_mark::none) f.drawn.mark = mark;
      } else if (touches && (e.kind == event_kind::read || e.kind == event_kind::write ||
                             e.kind == event_kind::atomic)) {
        schedule_event m = d;
        m.action = fmt::format("{}: {}", name, d.action);
        memory.push_back(m);
      }
      if (e.kind == event_kind::wait && e.in.owner != 0)
        for (in_flight& f : flights)
          if (f.drawn.open && f.in.owner == e.in.owner && f.in.number <= e.in.number)
            f.drawn.open = false, f.drawn.end = p + 1;
    }
    if (q.for_ever && !ended)
      lane.events.push_back({.kind = event_kind::wait,
                             .action = "waits for ever",
                             .begin = free_from,
                             .end = out.end,
                             .open = true});
    out.lanes.push_back(std::move(lane));
    std::vector<schedule_event> copies;
    for (in_flight& f : flights) {
      if (f.drawn.open) f.drawn.end = out.end;
      copies.push_back(f.drawn);
      if (!f.into_memory) continue;
      f.drawn.action = fmt::format("copies of {}: {}", name, f.drawn.action);
      memory.push_back(f.drawn);
    }
    add_lanes(out, fmt::format("copies of thread {}", by.thread), std::move(copies));
  }
  add_lanes(out, "the memory", std::move(memory));
  if (q.never_freed)
    out.lanes.push_back({"the allocation",
                         {{.kind = event_kind::flight,
                           .action = fmt::format("{} bytes, never freed", q.bytes),
                           .place = place_of(q.now.place),
                           .begin = 0,
                           .end = out.end,
                           .mark = event_mark::now,
                           .open = true}}});
  return out;
}

}  // namespace antiphase::checker_detail
