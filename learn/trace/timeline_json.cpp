// SPDX-License-Identifier: Apache-2.0
// Timelines as JSON.
#include <antiphase/trace.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>

namespace antiphase {
namespace {

using json = nlohmann::ordered_json;

constexpr int version = 1;
constexpr std::size_t numbers_of_span = 8;

}  // namespace

std::string to_json(const timeline& t) {
  json roles = json::array(), spans = json::array();
  for (const timeline_role& r : t.roles)
    roles.push_back({{"name", r.name},
                     {"first", r.first},
                     {"count", r.count},
                     {"loads", r.loads},
                     {"computes", r.computes}});
  for (const span_record& s : t.spans)
    for (const std::int64_t n :
         {s.begin, s.end, std::int64_t{static_cast<int>(s.kind)}, std::int64_t{s.ring}, std::int64_t{s.event},
          std::int64_t{s.step}, std::int64_t{s.slot}, std::int64_t{s.agent}})
      spans.push_back(n);
  json all{{"antiphase_timeline", version},
           {"kernel", t.kernel},
           {"policy", t.policy},
           {"device", t.device},
           {"measured", t.runs_on == target::cuda},
           {"unit", t.unit},
           {"stages", t.stages},
           {"steps", t.steps},
           {"recorded", t.recorded},
           {"warps", t.warps},
           {"block", t.block},
           {"dropped", t.dropped},
           {"step_is", t.step_is},
           {"step_bytes", t.step_bytes},
           {"step_work", t.step_work},
           {"work_is", t.work_is},
           {"phases", t.phases},
           {"rings", t.rings},
           {"roles", roles},
           {"spans", spans}};
  if (t.loads_block) all["loads_block"] = *t.loads_block;
  if (!t.place_of.empty()) all["places"] = t.places, all["texts"] = t.texts, all["place_of"] = t.place_of;
  if (!t.notes.empty()) all["notes"] = t.notes;
  return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

timeline timeline_of(std::string_view text) {
  try {
    const json all = json::parse(text);
    if (all.at("antiphase_timeline") != version)
      throw bad_request(
          fmt::format("a timeline of version {}: expected {}", all.at("antiphase_timeline").dump(), version));
    timeline t;
    const auto take = [&](const char* name, auto& into) { all.at(name).get_to(into); };
    take("kernel", t.kernel), take("policy", t.policy), take("device", t.device), take("unit", t.unit),
        take("stages", t.stages);
    take("steps", t.steps), take("recorded", t.recorded), take("warps", t.warps), take("block", t.block),
        take("dropped", t.dropped);
    take("step_is", t.step_is), take("step_bytes", t.step_bytes), take("phases", t.phases),
        take("rings", t.rings);
    t.step_work = all.value("step_work", t.step_work);
    t.work_is = all.value("work_is", t.work_is);
    t.runs_on = all.at("measured").get<bool>() ? target::cuda : target::cpu;
    for (const json& r : all.at("roles"))
      t.roles.push_back({r.at("name"), r.at("first"), r.at("count"), r.at("loads"), r.at("computes")});
    const json& spans = all.at("spans");
    if (spans.size() % numbers_of_span != 0)
      throw bad_request(fmt::format("the timeline has {} numbers of spans: expected {} for each",
                                    spans.size(), numbers_of_span));
    const auto within = [](std::int64_t n, std::int64_t end, const char* what) {
      if (n < 0 || n >= end)
        throw bad_request(fmt::format("a span has {} {}: expected 0 to {}", what, n, end - 1));
      return n;
    };
    const auto some = static_cast<std::int64_t>(1) << 30;
    within(t.stages - 1, 1 << 16, "stages - 1 =");
    within(t.recorded, some, "recorded =");
    within(static_cast<std::int64_t>(t.phases.size()) - 2, 100, "phases - 2 =");
    for (std::size_t i = 0; i < spans.size(); i += numbers_of_span) {
      const auto n = [&](std::size_t which) { return spans.at(i + which).get<std::int64_t>(); };
      t.spans.push_back(
          {.begin = n(0),
           .end = n(1),
           .kind = static_cast<span_kind>(within(n(2), 6, "kind")),
           .ring = static_cast<std::int8_t>(within(n(3), static_cast<std::int64_t>(t.rings.size()), "ring")),
           .event =
               static_cast<std::int8_t>(within(n(4), static_cast<std::int64_t>(t.phases.size()), "event")),
           .step = static_cast<std::int32_t>(within(n(5), some, "step")),
           .slot = static_cast<std::int32_t>(within(n(6), t.stages, "slot")),
           .agent = static_cast<std::int32_t>(within(n(7), some, "warp"))});
    }
    if (all.contains("loads_block")) t.loads_block = all["loads_block"].get<bool>();
    if (all.contains("notes")) take("notes", t.notes);
    if (all.contains("place_of"))
      take("places", t.places), take("texts", t.texts), take("place_of", t.place_of);
    if (t.texts.size() != t.places.size())
      throw bad_request(fmt::format("the timeline has {} texts of {} places: expected one for each",
                                    t.texts.size(), t.places.size()));
    if (!t.place_of.empty() && t.place_of.size() != t.spans.size())
      throw bad_request(fmt::format("the timeline has {} places of {} spans: expected one for each",
                                    t.place_of.size(), t.spans.size()));
    for (const std::int32_t p : t.place_of)
      within(p + 1, static_cast<std::int64_t>(t.places.size()) + 1, "place + 1 =");
    return t;
  } catch (const json::exception&) {
    throw bad_request("this is no timeline: expected JSON that `antiphase trace` has written");
  }
}

}  // namespace antiphase
