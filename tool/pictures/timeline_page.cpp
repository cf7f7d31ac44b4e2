// SPDX-License-Identifier: Apache-2.0
// Inserts data into the HTML page's template.
#include "timeline_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "origin.hpp"
#include "schedule_data.hpp"
#include "xml_text.hpp"

namespace antiphase::tool {
namespace {

using json = nlohmann::ordered_json;

json spans_of(const timeline& t) {
  json all = json::array();
  for (const span_record& s : t.spans)
    for (const std::int64_t n :
         {std::int64_t{s.agent}, std::int64_t{static_cast<int>(s.kind)}, std::int64_t{s.ring},
          std::int64_t{s.event}, std::int64_t{s.step}, std::int64_t{s.slot}, s.begin, s.end - s.begin})
      all.push_back(n);
  return all;
}

json slots_of(const timeline& t, const std::vector<step_times>& steps) {
  json all = json::array();
  for (const step_times& s : steps) {
    for (const std::int64_t n : {std::int64_t{s.slot}, std::int64_t{s.step}, s.issued, s.arrived,
                                 std::int64_t{s.seen_landing ? 1 : 0}, s.compute_begin, s.compute_end})
      all.push_back(n);
    for (std::size_t e = 0; e < t.phases.size(); ++e) all.push_back(e < s.events.size() ? s.events[e] : 0);
  }
  return all;
}

json summary_of(const overlap& o) {
  json causes = json::array();
  for (const waiting_share& w : o.causes) causes.push_back({{"cause", w.cause}, {"share", w.share}});
  return {{"duration", o.duration},         {"rate", o.work_rate},        {"hidden", o.hidden},
          {"steps_hidden", o.steps_hidden}, {"waiting", o.waiting},       {"causes", causes},
          {"mean_bytes", o.mean_bytes},     {"most_bytes", o.most_bytes}, {"limited_by", o.limited_by},
          {"step_time", o.step_time},       {"next_time", o.next_time},   {"loads_block", o.loads_block}};
}

json data_of(const timeline& t) {
  const std::vector<step_times> steps = by_step(t);
  if (steps.empty())
    throw bad_request(
        fmt::format("the timeline of {} has no complete step: expected at least one", t.policy));
  json roles = json::array();
  for (const timeline_role& r : roles_of(t))
    roles.push_back({{"name", r.name},
                     {"first", r.first},
                     {"count", r.count},
                     {"loads", r.loads},
                     {"computes", r.computes}});
  std::int64_t end = 0;
  for (const span_record& s : t.spans) end = std::max(end, s.end);
  return {{"title", title_of(t)},
          {"stages", t.stages},
          {"steps", t.steps},
          {"recorded", t.recorded},
          {"stepIs", t.step_is},
          {"stepBytes", t.step_bytes},
          {"stepWork", t.step_work},
          {"workIs", t.work_is},
          {"phases", t.phases},
          {"rings", t.rings},
          {"roles", roles},
          {"end", end},
          {"summary", summary_of(measure(t))},
          {"places", t.places},
          {"texts", t.texts},
          {"placeOf", t.place_of},
          {"notes", t.notes},
          {"slots", slots_of(t, steps)},
          {"spans", spans_of(t)}};
}

bool is_recorded(const timeline& t) { return t.runs_on == target::cuda; }

constexpr const char* model_clock =
    "A tick is a cycle of a modelled multiprocessor, on which the CPU executor keeps time: nothing was "
    "measured, and the same problem gives the same timeline everywhere. The structure is the kernel's own; "
    "the durations are the model's.";
constexpr const char* gpu_clock =
    "Times are cycles of the multiprocessor's clock, read by the recording twin of the kernel while it ran. "
    "Reading clocks and logging "
    "take time "
    "themselves.";

// `text` with each {{name}} replaced by its value.
std::string filled(std::string_view text,
                   std::initializer_list<std::pair<std::string_view, std::string>> values) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find("{{", at);
    const std::size_t close = open == text.npos ? text.npos : text.find("}}", open);
    const auto name = close == text.npos ? std::string_view() : text.substr(open + 2, close - open - 2);
    const auto value = std::ranges::find(values, name, &std::pair<std::string_view, std::string>::first);
    if (close == text.npos) return out += text.substr(at);
    out += text.substr(at, open - at);
    out += value == values.end() ? text.substr(open, close + 2 - open) : std::string_view(value->second);
    at = close + 2;
  }
  return out;
}

}  // namespace

std::string filled_page(std::string text, std::string_view title, std::string_view page) {
  // Inside a script element only its end tag and comments are markup.
  for (std::size_t at = 0; (at = text.find("</", at)) != text.npos; at += 3) text.insert(at + 1, "\\");
  for (std::size_t at = 0; (at = text.find("<!", at)) != text.npos; at += 6) text.replace(at, 1, "\\u003c");
  return filled(page, {{"title", xml_text(title)}, {"data", text}});
}

std::string timeline_page(std::span<const timeline> timelines, std::string_view title,
                          std::span<const taken_wait> taken) {
  if (timelines.empty()) throw bad_request("there is no timeline to draw: expected at least one");
  json all = json::array();
  // A tick is a cycle of the modelled multiprocessor: a recording and its model share an axis.
  const auto is_cycles = [](const timeline& t) { return t.unit == "cycles" || t.unit == "ticks"; };
  const bool recorded = std::ranges::any_of(timelines, &is_recorded),
             mixed = recorded && !std::ranges::all_of(timelines, &is_recorded);
  for (const timeline& t : timelines) {
    if (t.unit != timelines.front().unit && !(is_cycles(t) && is_cycles(timelines.front())))
      throw bad_request(
          fmt::format("timelines in {} and in {} cannot share a page", timelines.front().unit, t.unit));
    all.push_back(data_of(t));
    if (mixed)
      all.back()["title"] = fmt::format("{}, {}", all.back()["title"].get<std::string>(),
                                        is_recorded(t) ? "recorded" : "modelled");
  }
  for (const taken_wait& w : taken) all.at(w.timeline)["broken"].push_back(schedule_data(w.finding));
  const timeline& first = timelines.front();
  const json data{
      {"unit", mixed ? "cycles" : first.unit},
      {"about", fmt::format("Block {} of the running kernel. {}.", first.block, origin_sentence(timelines))},
      {"clock", mixed      ? fmt::format("{} {}", gpu_clock, model_clock)
                : recorded ? gpu_clock
                           : model_clock},
      {"timelines", all}};
  return filled_page(data.dump(-1, ' ', false, json::error_handler_t::replace),
                     fmt::format("{}, {}", title, origin_of(timelines)));
}

}  // namespace antiphase::tool
