// SPDX-License-Identifier: Apache-2.0
// Writer of the Trace Event Format.
#include "perfetto.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "origin.hpp"

namespace antiphase::tool {
namespace {

using json = nlohmann::ordered_json;

constexpr int first_warp = 1000;  // thread ids: buffers start at 0, warps here

std::string name_of(const timeline& t, const timeline_role& role, const span_record& s) {
  const bool main_ring = s.ring == 0;
  switch (s.kind) {
    case span_kind::load: return "issue load";
    case span_kind::commit: return "commit";
    case span_kind::wait:
      if (!main_ring) return "wait for " + t.rings[static_cast<std::size_t>(s.ring)];
      return s.event == 0 ? "wait" : "wait for " + t.phases[static_cast<std::size_t>(s.event)];
    case span_kind::compute: return t.roles.empty() ? "compute" : role.name;
    case span_kind::release: return "release";
    case span_kind::acquire: return "wait for a free slot";
  }
  return "span";
}

json named(const char* what, int process, int thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

struct place {
  int process, thread;
};

constexpr double per_microsecond = 1000;

json span_event(place at, const std::string& name, int step, int slot, std::int64_t begin, std::int64_t end) {
  return {{"name", name + " " + std::to_string(step)},
          {"cat", name},
          {"ph", "X"},
          {"ts", static_cast<double>(begin) / per_microsecond},
          {"dur", static_cast<double>(end - begin) / per_microsecond},
          {"pid", at.process},
          {"tid", at.thread},
          {"args", {{"step", step}, {"buffer", slot}}}};
}

// An arrow from the span that covers one time and place to that of another; `id` tells arrows apart.
void add_arrow(json& events, const char* name, int id, place from, std::int64_t left, place to,
               std::int64_t reached) {
  const auto end = [&](const char* which, place at, std::int64_t time) {
    json e{{"name", name},
           {"cat", "flow"},
           {"ph", which},
           {"id", id},
           {"ts", static_cast<double>(time) / per_microsecond},
           {"pid", at.process},
           {"tid", at.thread}};
    if (*which == 'f') e["bp"] = "e";  // binds to the span around it
    events.push_back(e);
  };
  end("s", from, left);
  end("f", to, reached);
}

// Counters change where a load begins, lands, is first used, and where its slot is released.
void add_counters(json& events, const timeline& t, const std::vector<step_times>& steps, int process) {
  struct change {
    std::int64_t loading = 0, full = 0, in_use = 0;
  };
  std::map<std::int64_t, change> at;
  for (const step_times& s : steps) {
    const std::int64_t landed = s.arrived, used = std::max(s.compute_begin, landed);
    ++at[s.issued].loading;
    --at[landed].loading, ++at[landed].full;
    --at[used].full, ++at[used].in_use;
    --at[std::max(s.compute_end, used)].in_use;
  }
  change now;
  for (const auto& [time, by] : at) {
    now = {now.loading + by.loading, now.full + by.full, now.in_use + by.in_use};
    const double ts = static_cast<double>(time) / per_microsecond;
    const auto count = [&events, process, ts](const char* name, const json& values) {
      events.push_back({{"name", name}, {"ph", "C"}, {"pid", process}, {"ts", ts}, {"args", values}});
    };
    count("buffers", {{"in use", now.in_use}, {"full", now.full}, {"loading", now.loading}});
    if (t.step_bytes > 0) count("bytes in flight", {{"bytes", now.loading * t.step_bytes}});
  }
}

// Arrows from a step's load to its first use, and from what a wait was for to the end of that wait: the
// landing of the data, or the last use of the slot before.
void add_flows(json& events, const timeline& t, const std::vector<step_times>& steps, int process, int& id) {
  std::map<int, const step_times*> by_step_number, holder;  // of a step: the one that had its slot before
  std::map<int, const step_times*> last;
  for (const step_times& s : steps) {
    by_step_number[s.step] = &s;
    holder[s.step] = std::exchange(last[s.slot], &s);
  }
  std::map<int, const span_record*> load, use;  // the first of each step
  const auto earlier = [](std::map<int, const span_record*>& all, const span_record& s) {
    const span_record*& first = all[s.step];
    if (first == nullptr || s.begin < first->begin) first = &s;
  };
  const std::vector<timeline_role> roles = roles_of(t);
  for (const span_record& s : t.spans) {
    const auto role = std::ranges::find_if(
        roles, [&](const timeline_role& r) { return s.agent >= r.first && s.agent < r.first + r.count; });
    if (role == roles.end()) continue;
    if (s.kind == span_kind::load) earlier(load, s);
    if (s.kind == span_kind::compute && role->computes) earlier(use, s);
  }
  const auto warp = [&](const span_record& s) { return place{process, first_warp + s.agent}; };
  for (const auto& [step, from] : load)
    if (use.contains(step))
      add_arrow(events, "load to its use", ++id, warp(*from), from->begin, warp(*use[step]),
                use[step]->begin);
  for (const span_record& s : t.spans) {
    const bool for_data = s.kind == span_kind::wait && s.ring == 0 && s.event == 0,
               for_slot = s.kind == span_kind::acquire;
    const auto& of = for_data ? by_step_number : holder;
    const auto found = of.find(s.step);
    if ((!for_data && !for_slot) || found == of.end() || found->second == nullptr || s.end == s.begin)
      continue;
    const step_times& cause = *found->second;
    const std::int64_t arrived = for_data ? cause.arrived : cause.compute_end;
    if (arrived > s.begin && arrived <= s.end)  // else no thread waited
      add_arrow(events, for_data ? "landing ends a wait" : "release ends a wait", ++id, {process, cause.slot},
                arrived - 1, warp(s), s.end - 1);
  }
}

void add_timeline(json& events, const timeline& t, int process, int& arrows) {
  const std::string clock =
      t.runs_on == target::cuda ? "1 ns is 1 clock cycle" : "1 ns is 1 tick of a model, nothing was measured";
  events.push_back(named("process_name", process, 0,
                         title_of(t) + ", " + std::to_string(t.stages) +
                             (t.stages == 1 ? " stage, " : " stages, ") + origin_of(t) + " (" + clock + ")"));
  for (int slot = 0; slot < t.stages; ++slot)
    events.push_back(named("thread_name", process, slot, slot_name(t, slot)));
  const std::vector<timeline_role> roles = roles_of(t);
  for (const timeline_role& r : roles)
    for (int warp = r.first; warp < r.first + r.count; ++warp)
      events.push_back(named("thread_name", process, first_warp + warp,
                             "warp " + std::to_string(warp) + (t.roles.empty() ? "" : ": " + r.name)));
  const std::vector<step_times> steps = by_step(t);
  add_counters(events, t, steps, process);
  for (const step_times& s : steps) {
    const place buffer{process, s.slot};
    events.push_back(span_event(buffer, "load in flight", s.step, s.slot, s.issued, s.landed));
    std::int64_t from = s.compute_begin;
    for (std::size_t e = 1; e < s.events.size(); ++e) {
      events.push_back(span_event(buffer, t.phases[e], s.step, s.slot, from, std::max(from, s.events[e])));
      from = std::max(from, s.events[e]);
    }
    if (s.events.empty())
      events.push_back(span_event(buffer, "compute", s.step, s.slot, s.compute_begin, s.compute_end));
  }
  for (std::size_t i = 0; i < t.spans.size(); ++i) {
    const span_record& s = t.spans[i];
    for (const timeline_role& r : roles)
      if (s.agent >= r.first && s.agent < r.first + r.count) {
        json& e = events.emplace_back(
            span_event({process, first_warp + s.agent}, name_of(t, r, s), s.step, s.slot, s.begin, s.end));
        if (i < t.place_of.size() && t.place_of[i] >= 0)
          e["args"]["line"] = t.places[static_cast<std::size_t>(t.place_of[i])];
      }
  }
  add_flows(events, t, steps, process, arrows);
}

}  // namespace

std::string perfetto_json(std::span<const timeline> timelines) {
  json events = json::array();
  json about = json::array();
  int process = 0, arrows = 0;
  for (const timeline& t : timelines) {
    add_timeline(events, t, ++process, arrows);
    const overlap figures = measure(t);
    about.push_back({{"policy", t.policy},
                     {"device", t.device},
                     {"origin", origin_of(t)},
                     {"unit", t.unit},
                     {"stages", t.stages},
                     {"steps", t.steps},
                     {"recorded", t.recorded},
                     {"dropped", t.dropped},
                     {"hidden", figures.hidden},
                     {"steps_hidden", figures.steps_hidden},
                     {"mean_wait", figures.mean_wait},
                     {"mean_compute", figures.mean_compute}});
  }
  return json{{"displayTimeUnit", "ns"}, {"otherData", {{"timelines", about}}}, {"traceEvents", events}}
             .dump() +
         "\n";
}

}  // namespace antiphase::tool
