// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/trace/trace_results.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/base/wrap.hpp"
#include "tool/commands/trace/trace_files.hpp"
#include "tool/files/file_names.hpp"
#include "tool/pictures/origin.hpp"
#include "tool/pictures/timeline_page.hpp"
#include "tool/pictures/timeline_svg.hpp"
#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

// "multiply_adds_per_tick"
std::string rate_name(const timeline& t) {
  std::string name = t.work_is + "_per_" + unit_of_one(t);
  std::ranges::replace(name, '-', '_');
  return name;
}

// The time that a step would save if one more stage took away all waits for data that it can: a bound.
std::string gain_text(const overlap& o) {
  const double gain = o.step_time > 0 ? 1 - o.next_time / o.step_time : 0;
  return gain < 0.005 ? "nothing" : fmt::format("at most {:.0f} %", gain * 100);
}

// A sentence of two parts on two lines: a machine's name may be long.
std::string in_a_terminal(std::string sentence) {
  if (const auto colon = sentence.find(": "); colon != sentence.npos) sentence.replace(colon, 2, ":\n");
  return sentence;
}

std::string nothing_recorded(const timeline& t) {
  return fmt::format(
      "{}: nothing was recorded: block {} has no step whose load and computation are both there", t.policy,
      t.block);
}

std::string drawn(picture_format as, std::span<const timeline> timelines, std::span<const taken_wait> taken) {
  switch (as) {
    case picture_format::page: return timeline_page(timelines, "Timelines of a kernel's pipeline", taken);
    case picture_format::still: return timeline_svg(timelines);
    case picture_format::data: break;
  }
  return text_of(timelines);
}

// Share of the time in which at least one warp waits for products that it has begun on Tensor Cores, so that
// these are busy; 0 where there are none.
double tensor_share(const timeline& t, const overlap& o) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (const span_record& s : t.spans)
    if (s.kind == span_kind::wait && s.ring > 0 && s.step < t.recorded &&
        t.rings[static_cast<std::size_t>(s.ring)] == timeline::tensor_cores)
      spans.emplace_back(s.begin, s.end);
  std::ranges::sort(spans);
  std::int64_t busy = 0, end = std::numeric_limits<std::int64_t>::min();
  for (const auto& [from, to] : spans) {
    busy += std::max<std::int64_t>(0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return o.duration > 0 ? static_cast<double>(busy) / static_cast<double>(o.duration) : 0;
}

json to_json(const timeline& t, const overlap& o) {
  json causes = json::object();
  for (const waiting_share& w : o.causes) causes[w.cause] = w.share;
  json steps = json::array();
  for (const step_times& s : by_step(t))
    steps.push_back({s.slot, s.issued, s.landed, s.compute_begin, s.compute_end});
  return {{"kernel", t.kernel},
          {"policy", t.policy},
          {"stages", t.stages},
          {"steps", t.steps},
          {"recorded", t.recorded},
          {"dropped", t.dropped},
          {"block", t.block},
          {"step_bytes", t.step_bytes},
          {"cost", t.cost.runs == 0 ? json()
                                    : json{{"runs", t.cost.runs},
                                           {"plain_ms", t.cost.plain_ms},
                                           {"recorded_ms", t.cost.recorded_ms}}},
          {"unit", t.unit},
          {"origin", origin_of(t)},
          {"steps_hidden", o.steps_hidden},
          {"hidden_share", o.hidden},
          {"mean_wait", o.mean_wait},
          {"mean_compute", o.mean_compute},
          {"duration", o.duration},
          {rate_name(t), o.work_rate > 0 ? json(o.work_rate) : json()},
          {"waiting_share", o.waiting},
          {"waiting_for", causes},
          {"tensor_cores_busy", tensor_share(t, o) > 0 ? json(tensor_share(t, o)) : json()},
          {"bytes_in_flight", {{"mean", o.mean_bytes}, {"most", o.most_bytes}}},
          {"limited_by", o.limited_by},
          {"loads_block", o.loads_block},
          {"step_time", o.step_time},
          {"steady_step_time", steady_time(t) > 0 ? json(steady_time(t)) : json()},
          {"step_time_with_one_more_stage", o.next_time},
          {"step_times", steps}};
}

std::string text_of(const trace_results& r, std::span<const timeline> timelines) {
  return in_a_terminal(origin_sentence(timelines)) + "\n" + table_text(r.table, terminal_columns()) +
         (r.bounded
              ? "\n" + wrapped(
                           "\"At most\" is no forecast: it is the time that warps now wait for data and that "
                           "one more stage could take away. " +
                           r.forecast + "\n")
              : "");
}

}  // namespace

requested_picture::requested_picture(const trace_request& r) {
  if (r.output.empty()) return;
  as_ = format_of(r);
  refuse_mixed_results(r.common, r.output);
  to_.emplace(r.output);
}
void requested_picture::draw(std::span<const timeline> timelines, std::span<const taken_wait> taken) {
  if (!to_) return;
  to_->write(drawn(as_, timelines, taken));
  to_->commit();
}
json output_of(const trace_request& r) { return r.output.empty() ? json() : json(r.output); }

trace_results results_of(const common_options& common, const char* named,
                         std::span<const timeline> timelines) {
  const bool any_work = timelines.front().step_work > 0;
  trace_results r;
  r.table = {{named, "stages", "steps", "loads hidden", "warps wait", "in flight", "limited by",
              "a stage more saves", "steady state"}};
  // Timelines whose steps do different work are compared by work a tick: their durations would mislead.
  const bool same_work = std::ranges::all_of(
      timelines, [&](const timeline& t) { return t.step_work == timelines.front().step_work; });
  const bool multiplies =
      std::ranges::any_of(timelines, [](const timeline& t) { return tensor_share(t, measure(t)) > 0; });
  if (same_work) r.table.front().push_back("duration");
  if (multiplies) r.table.front().push_back("Tensor Cores busy");
  if (any_work) r.table.front().push_back(timelines.front().work_is);
  for (const timeline& t : timelines) {
    const overlap o = measure(t);
    r.list.push_back(to_json(t, o));
    r.bounded = r.bounded || gain_text(o) != "nothing";
    if (o.steps == 0) {
      say(common, nothing_recorded(t));
      continue;
    }
    std::vector<std::string>& row = r.table.emplace_back(std::vector<std::string>{
        t.policy.empty() ? t.kernel : t.policy, fmt::format("{}", t.stages), fmt::format("{}", o.steps),
        fmt::format("{:.0f} %", o.hidden * 100), fmt::format("{:.0f} %", o.waiting * 100),
        fmt::format("{:.1f} KiB", o.mean_bytes / 1024), o.limited_by, gain_text(o),
        steady_time(t) > 0 ? fmt::format("{:.0f} a step", steady_time(t)) : "-"});
    if (same_work) row.push_back(fmt::format("{} {}", o.duration, t.unit));
    if (multiplies) {
      const double share = tensor_share(t, o);
      row.push_back(share > 0 ? fmt::format("{:.0f} %", 100 * share) : "-");
    }
    if (any_work)
      row.push_back(o.work_rate > 0 ? fmt::format("{:.1f} a {}", o.work_rate, unit_of_one(t)) : "-");
    for (const std::string& n : t.notes) say(common, fmt::format("{}: {}", t.policy, n));
    if (o.loads_block && t.stages > 1)
      say(common, fmt::format("{}: loads block their warps: inside a warp nothing overlaps, other warps hide "
                              "{:.0f} %; store after the computation, or copy asynchronously",
                              t.policy, o.hidden * 100));
    if (t.dropped > 0 || (!t.place_of.empty() && t.recorded < t.steps))
      say(common, fmt::format("{}: the first {} of {} steps are recorded; --record says how many", t.policy,
                              t.recorded, t.steps));
  }
  return r;
}

void say_results(const trace_request& of, const trace_results& r, std::span<const timeline> timelines) {
  if (!of.common.json && (of.output.empty() || !is_standard_output(of.output)))
    print(text_of(r, timelines));
  else if (timelines.front().runs_on != target::cuda)
    say(of.common, origin_sentence(timelines));
}

}  // namespace antiphase::tool
