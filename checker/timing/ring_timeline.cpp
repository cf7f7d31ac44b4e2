// SPDX-License-Identifier: Apache-2.0
// Draws a found ring: spans of what its warps did, with the times of the modelled machine.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "found_ring.hpp"

namespace antiphase::checker_detail {
namespace {

using use = op_use::kind;

span_kind span_of(use u) {
  switch (u) {
    case use::store: return span_kind::commit;
    case use::wait: return span_kind::wait;
    case use::acquire: return span_kind::acquire;
    case use::compute: return span_kind::compute;
    case use::release: return span_kind::release;
    default: return span_kind::load;
  }
}

std::string text_of(const code_place& at) {
  std::ifstream in(at.file);
  std::string text;
  for (int line = 0; line < at.line && std::getline(in, text);) ++line;
  if (!in) return {};
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\r");
  return begin == text.npos ? std::string() : text.substr(begin, end + 1 - begin);
}

std::vector<timeline_role> roles_of_ring(const found_ring& ring) {
  std::vector<timeline_role> roles;
  const auto add = [&](const std::vector<int>& warps, const char* name, bool loads) {
    for (const int w : warps) {
      if (!roles.empty() && roles.back().name == name && roles.back().first + roles.back().count == w)
        ++roles.back().count;
      else
        roles.push_back({.name = name, .first = w, .loads = loads, .computes = !loads});
    }
  };
  add(ring.loaders, "load", true);
  add(ring.readers, "compute", false);
  std::ranges::sort(roles, {}, &timeline_role::first);
  return roles;
}

// A barrier at which all wait for copies, since the last warp to arrive had waited for its own.
struct late_barrier {
  std::int64_t arrived = -1;  // the last warp
  std::int32_t step = -1;     // of the copies; -1: it had not waited
};
// By the meeting's number.
std::map<std::uint64_t, late_barrier> late_barriers(const timed_block& b, const found_ring& ring,
                                                    const block_times& times) {
  using kind = lane_event::kind;
  constexpr std::int64_t at_once = 2;  // ticks
  std::map<std::uint64_t, late_barrier> all;
  for (std::size_t w = 0; w < b.ops.size(); ++w) {
    std::int32_t late = -1;
    for (std::size_t i = 0; i < b.ops[w].size(); ++i) {
      const warp_op& op = b.ops[w][i];
      const op_time& t = times[w][i];
      if (op.type == kind::copy_wait || op.type == kind::wait) {
        if (ring.uses[w][i].use == use::wait && t.end - t.begin > at_once) late = ring.uses[w][i].step;
        continue;
      }
      if (late_barrier& last = all[op.moment]; op.type == kind::meeting && t.begin > last.arrived)
        last = {t.begin, late};
      if (op.type != kind::arithmetic && op.type != kind::commit) late = -1;
    }
  }
  return all;
}

class drawing {
 public:
  drawing(const timed_block& b, const found_ring& ring, const block_times& times, const place_table& places)
      : b_(b), ring_(ring), times_(times), late_(late_barriers(b, ring, times)), places_(places) {}

  // The complete steps: those that are filled, waited for and computed from.
  void draw(timeline& t, int most_steps) {
    steps_ = std::min(ring_.steps, most_steps);
    if (steps_ == 0) return;
    for (std::size_t w = 0; w < b_.ops.size(); ++w) draw_warp(t, w);
    for (t.recorded = 0; t.recorded < steps_; ++t.recorded)
      for (const auto* has : {&loaded_, &waited_, &computed_})
        if (!has->contains(t.recorded)) return;
  }

 private:
  std::int32_t line_of(timeline& t, place_number p) {
    const auto [found, fresh] = lines_.try_emplace(p, -1);
    if (!fresh) return found->second;
    const code_place at = places_.first_line(p);
    if (at.line == 0) return -1;
    t.places.push_back(at.file.substr(at.file.rfind('/') + 1) + ":" + std::to_string(at.line));
    t.texts.push_back(text_of(at));
    return found->second = static_cast<std::int32_t>(t.places.size()) - 1;
  }
  void add(timeline& t, const span_record& s, place_number at) {
    t.spans.push_back(s);
    t.place_of.push_back(line_of(t, at));
    if (s.ring != 0) return;
    if (s.kind == span_kind::load) loaded_.insert(s.step);
    if (s.kind == span_kind::wait || (ring_.loads_block && s.kind == span_kind::load)) waited_.insert(s.step);
    if (s.kind == span_kind::compute) computed_.insert(s.step);
  }
  void draw_warp(timeline& t, std::size_t w) {
    const bool reads = std::ranges::find(ring_.readers, static_cast<int>(w)) != ring_.readers.end();
    std::set<std::int32_t> waited;
    op_use before{};
    std::int32_t computed = -1;
    for (std::size_t i = 0; i < b_.ops[w].size(); ++i) {
      op_use u = ring_.uses[w][i];
      op_time at = times_[w][i];
      const std::int64_t passed = at.end;
      if (b_.ops[w][i].type == lane_event::kind::meeting)
        if (const late_barrier& barrier = late_.at(b_.ops[w][i].moment);
            u.use != use::wait && barrier.step >= 0)
          u = {use::wait, barrier.step}, at.end = std::max(at.begin, barrier.arrived);
      if (u.use == use::compute) computed = u.step;
      if (u.use == use::other || u.step < 0 || u.step >= steps_) {
        before = {};
        continue;
      }
      // a store that waits for its loads before anything is computed is a part of the load; so is the writing
      // of results
      if (u.use == use::store && (ring_.loads_block || ring_.of_results)) u.use = use::load;
      if (ring_.by_roles && u.use == use::release && reads && b_.ops[w][i].type != lane_event::kind::arrive)
        continue;
      span_record s{.begin = at.begin,
                    .end = at.end,
                    .kind = span_of(u.use),
                    .event = static_cast<std::int8_t>(ring_.by_roles && u.use == use::release ? 1 : 0),
                    .step = u.step,
                    .slot = ring_.slots[static_cast<std::size_t>(u.step)],
                    .agent = static_cast<std::int32_t>(w)};
      const bool own_wait = u.use == use::compute && (ring_.to_registers || at.waited > at.begin);
      if (u.use == use::wait) waited.insert(u.step);
      if (own_wait && (at.waited > at.begin || !waited.contains(u.step))) {
        span_record wait = s;
        wait.kind = span_kind::wait;
        wait.end = s.begin = at.waited;
        wait.ring = ring_.to_registers ? 0 : 1;
        if (ring_.to_registers) waited.insert(u.step);
        before = {};
        add(t, wait, b_.ops[w][i].place);
      }
      if (u.use == use::compute && !ring_.loads_block && waited.insert(u.step).second) {
        // data that nothing had to wait for
        span_record wait = s;
        wait.kind = span_kind::wait;
        wait.end = wait.begin;
        add(t, wait, b_.ops[w][i].place);
      }
      if (u.use == before.use && u.step == before.step && !t.spans.empty())
        t.spans.back().end = s.end;
      else
        add(t, s, b_.ops[w][i].place);
      before = u;
      if (passed == at.end || computed < 0 || ring_.by_roles) continue;
      // what the barrier itself takes
      before = {};
      s.kind = span_kind::release, s.step = computed;
      s.slot = ring_.slots[static_cast<std::size_t>(computed)];
      s.begin = at.end, s.end = passed;
      add(t, s, b_.ops[w][i].place);
    }
  }

  const timed_block& b_;
  const found_ring& ring_;
  const block_times& times_;
  const std::map<std::uint64_t, late_barrier> late_;
  const place_table& places_;
  int steps_ = 0;
  std::map<place_number, std::int32_t> lines_;
  std::set<std::int32_t> loaded_, waited_, computed_;
};

}  // namespace

timeline timeline_of(const timed_block& b, const found_ring& ring, const block_times& times,
                     const place_table& places, int most_steps) {
  timeline t;
  t.stages = std::max(1, ring.stages);
  t.steps = ring.steps;
  t.warps = b.warps;
  t.step_is = ring.to_registers ? "run of loads"
              : ring.of_results ? "writing of a buffer"
                                : "fill of a buffer";
  t.rings = {ring.to_registers ? "registers" : ring.of_results ? "results" : "buffers", "loads to registers"};
  t.step_bytes = static_cast<std::int64_t>(ring.load_bytes);
  t.loads_block = ring.loads_block;
  if (ring.by_roles) t.roles = roles_of_ring(ring);
  drawing(b, ring, times, places).draw(t, most_steps);
  std::int64_t origin = t.spans.empty() ? 0 : t.spans.front().begin;
  for (const span_record& s : t.spans) origin = std::min(origin, s.begin);
  for (span_record& s : t.spans) s.begin -= origin, s.end -= origin;
  if (ring.to_registers)
    t.notes.emplace_back(
        "no part of shared memory is filled and read alternately: shown are loads to registers, which their "
        "own "
        "warps wait for");
  if (ring.of_results)
    t.notes.emplace_back("the buffers are filled with computed values: their load is the write");
  if (ring.computed_at != 0) {
    const code_place waited = places.first_line(ring.waited_at),
                     computed = places.first_line(ring.computed_at);
    t.notes.push_back("step t + 1 is loaded and waited for (line " + std::to_string(waited.line) +
                      ") before the computation of step t (line " + std::to_string(computed.line) +
                      "): no overlap within a warp");
  }
  return t;
}

}  // namespace antiphase::checker_detail
