// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/check/trace/trace_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/checker.hpp>

#include "tool/commands/check/check_cases.hpp"
#include "tool/commands/check/trace/check_trace.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

std::vector<taken_wait> waits_taken_from(std::span<const timeline> timelines, const common_options& common) {
  std::vector<taken_wait> taken;
  for (std::size_t i = 0; i < timelines.size(); ++i) {
    const std::string kernel = timelines[i].kernel + "/" + timelines[i].policy;
    const auto known = std::ranges::find(checked_cases(), kernel, &checked_case::name);
    if (known == checked_cases().end()) {
      say(common,
          fmt::format("{}: the checker runs no kernel of that name, so none of its waits can be taken away",
                      timelines[i].policy));
      continue;
    }
    for (const ring_wait wait : {ring_wait::data, ring_wait::slot, ring_wait::barrier}) {
      if (who_watches(common) == audience::person)
        complain(fmt::format("checking {} without {}", kernel, name(wait)));
      const check_report report =
          check(known->program, {.schedules = 3, .without = wait, .draw = true, .limits = known->limits});
      const auto shown =
          std::ranges::find_if(report.findings, [](const finding& f) { return !f.drawn.lanes.empty(); });
      if (shown != report.findings.end())
        taken.push_back({.timeline = i, .finding = drawn_of(*shown, 1, "antiphase check " + kernel)});
    }
  }
  return taken;
}

}  // namespace antiphase::tool
