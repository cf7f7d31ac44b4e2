// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/trace/trace_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <array>
#include <filesystem>
#include <system_error>

#include "tool/files/folders.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

std::string recorded_file(const std::string& name) {
  std::error_code ignored;
  if (name == "-" || name.find_first_of("./") != std::string::npos || std::filesystem::exists(name, ignored))
    return name;
  const std::filesystem::path shipped =
      shipped_folder("recordings", ANTIPHASE_SOURCE_RECORDINGS, "h200.json", "recordings") / (name + ".json");
  return std::filesystem::exists(shipped, ignored) ? shipped.string() : name;
}

namespace {

// One of the timelines in the results of `antiphase trace --json`: two agents, one that begins the loads, one
// that computes.
timeline of_steps(const json& one, const std::string& device) {
  timeline t;
  t.kernel = one.value("kernel", ""), t.policy = one.value("policy", ""), t.device = device;
  t.unit = one.at("unit").get<std::string>();
  t.stages = one.at("stages"), t.steps = one.at("steps"), t.dropped = one.value("dropped", std::int64_t{0});
  t.block = one.at("block"), t.step_bytes = one.value("step_bytes", std::int64_t{0}), t.warps = 2;
  t.runs_on = t.unit == "ticks" ? target::cpu : target::cuda;
  if (one.contains("loads_block")) t.loads_block = one["loads_block"].get<bool>();
  if (!one.contains("step_times") || one["step_times"].empty())
    throw bad_request(fmt::format(
        "the timeline of '{}' has no steps: expected step_times, as `antiphase trace --json` writes them",
        t.policy.empty() ? t.kernel : t.policy));
  t.notes.emplace_back(
      "drawn from its steps: the first warp to load and the last to compute, not every warp");
  std::int64_t computed = 0;  // the end of the computation before
  for (const json& times : one["step_times"]) {
    const auto [slot, issued, landed, begin, end] = times.get<std::array<std::int64_t, 5>>();
    if (slot < 0 || slot >= t.stages || issued > landed || begin > end)
      throw bad_request(fmt::format("step {} has the times {}: expected a slot, and times in order",
                                    t.recorded, times.dump()));
    const auto add = [&, of = slot](span_kind kind, int agent, std::int64_t from, std::int64_t to) {
      t.spans.push_back({.begin = from,
                         .end = to,
                         .kind = kind,
                         .ring = 0,
                         .event = 0,
                         .step = t.recorded,
                         .slot = static_cast<std::int32_t>(of),
                         .agent = agent});
    };
    add(span_kind::load, 0, issued, issued);
    // data that had landed before the computation ended were not waited for
    if (landed > computed)
      add(span_kind::wait, 1, std::max(issued, computed), landed);
    else
      add(span_kind::wait, 0, landed, landed);
    add(span_kind::compute, 1, std::max(begin, computed), std::max(end, computed));
    computed = std::max(end, computed);
    ++t.recorded;
  }
  return t;
}

}  // namespace

std::vector<timeline> timelines_of(std::string_view text) {
  const json all = json::parse(text, nullptr, false);
  if (all.is_array() && !all.empty()) {
    std::vector<timeline> list;
    for (const json& one : all) list.push_back(timeline_of(one.dump()));
    return list;
  }
  if (!all.is_object() || all.value("command", "") != "trace") return {timeline_of(text)};
  try {
    std::vector<timeline> list;
    const std::string device = all.contains("machine") ? all["machine"].value("name", "") : "";
    for (const json& one : all.at("timelines")) list.push_back(of_steps(one, device));
    return list;
  } catch (const json::exception&) {
    throw bad_request("this is no timeline: expected JSON that `antiphase trace` has written");
  }
}

std::string text_of(std::span<const timeline> timelines) {
  std::string all;
  for (const timeline& t : timelines) all += (all.empty() ? "[" : ",") + to_json(t);
  return all + "]\n";
}

}  // namespace antiphase::tool
