// SPDX-License-Identifier: Apache-2.0
// Writer of the Trace Event Format.
#include "perfetto.hpp"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

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

json span_event(place at, const std::string& name, int step, int slot, std::int64_t begin, std::int64_t end) {
  constexpr double per_microsecond = 1000;
  return {{"name", name + " " + std::to_string(step)},
          {"cat", name},
          {"ph", "X"},
          {"ts", static_cast<double>(begin) / per_microsecond},
          {"dur", static_cast<double>(end - begin) / per_microsecond},
          {"pid", at.process},
          {"tid", at.thread},
          {"args", {{"step", step}, {"buffer", slot}}}};
}

void add_timeline(json& events, const timeline& t, int process) {
  const std::string clock =
      t.runs_on == target::cuda ? "1 ns is 1 clock cycle" : "1 ns is 1 tick of a model, nothing was measured";
  events.push_back(named("process_name", process, 0,
                         t.kernel + " " + t.policy + ", " + std::to_string(t.stages) +
                             (t.stages == 1 ? " stage, " : " stages, ") + origin_of(t) + " (" + clock + ")"));
  for (int slot = 0; slot < t.stages; ++slot)
    events.push_back(named("thread_name", process, slot, slot_name(t, slot)));
  const std::vector<timeline_role> roles = roles_of(t);
  for (const timeline_role& r : roles)
    for (int warp = r.first; warp < r.first + r.count; ++warp)
      events.push_back(named("thread_name", process, first_warp + warp,
                             "warp " + std::to_string(warp) + (t.roles.empty() ? "" : ": " + r.name)));
  for (const step_times& s : by_step(t)) {
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
}

}  // namespace

std::string perfetto_json(std::span<const timeline> timelines) {
  json events = json::array();
  json about = json::array();
  int process = 0;
  for (const timeline& t : timelines) {
    add_timeline(events, t, ++process);
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
