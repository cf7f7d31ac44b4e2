// SPDX-License-Identifier: Apache-2.0
// Properties of every timeline of a GEMM kernel.
#pragma once
#include <antiphase/trace.hpp>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace antiphase::testing {

// One sentence per fault; empty for a consistent timeline.
inline std::vector<std::string> faults_of(const timeline& t) {
  std::vector<std::string> faults;
  const auto fault = [&](const span_record& s, const std::string& what) {
    faults.push_back("warp " + std::to_string(s.agent) + ", step " + std::to_string(s.step) + ": " + what);
  };
  constexpr std::size_t kinds = 5;
  std::vector<std::vector<std::array<int, kinds>>> seen(static_cast<std::size_t>(t.warps));
  for (auto& steps : seen) steps.assign(static_cast<std::size_t>(t.steps), {});
  std::vector<std::vector<std::int64_t>> landed(static_cast<std::size_t>(t.warps));
  for (auto& steps : landed) steps.assign(static_cast<std::size_t>(t.steps), -1);

  const span_record* before = nullptr;
  for (const span_record& s : t.spans) {
    if (s.agent < 0 || s.agent >= t.warps || s.step < 0 || s.step >= t.steps) {
      fault(s, "no such warp or step");
      continue;
    }
    const auto warp = static_cast<std::size_t>(s.agent), step = static_cast<std::size_t>(s.step);
    if (s.slot != s.step % t.stages) fault(s, "in the wrong slot");
    if (s.begin < 0 || s.end < s.begin) fault(s, "ends before it begins");
    if (before != nullptr && before->agent == s.agent && s.begin < before->end)
      fault(s, "begins before the warp's previous span ends");
    before = &s;
    ++seen[warp][step][static_cast<std::size_t>(s.kind)];
    if (s.kind == span_kind::wait) landed[warp][step] = s.end;
    if (s.kind == span_kind::compute && (landed[warp][step] < 0 || s.begin < landed[warp][step]))
      fault(s, "computed before it was waited for");
  }
  for (int warp = 0; warp < t.warps; ++warp)
    for (int step = 0; step < t.recorded; ++step)
      for (std::size_t kind = 0; kind < kinds; ++kind) {
        const int expected = kind == static_cast<std::size_t>(span_kind::release) && t.stages > 1 ? 0 : 1;
        const int count = seen[static_cast<std::size_t>(warp)][static_cast<std::size_t>(step)][kind];
        if (count != expected)
          fault({.begin = 0, .end = 0, .kind = {}, .step = step, .slot = 0, .agent = warp},
                std::to_string(count) + " spans of kind " + std::to_string(kind) + ", expected " +
                    std::to_string(expected));
      }
  const std::vector<step_times> steps = by_step(t);
  for (std::size_t i = static_cast<std::size_t>(t.stages); i < steps.size(); ++i)
    if (steps[i].issued < steps[i - static_cast<std::size_t>(t.stages)].compute_end)
      faults.push_back("step " + std::to_string(i) + " is loaded into a slot that is still computed from");
  for (const step_times& s : steps)
    if (s.landed > s.compute_begin)
      faults.push_back("step " + std::to_string(s.step) + " is computed before it has landed");
  return faults;
}

// A made-up timeline of one warp: the load of a step takes 10 units, its computation 20. With one stage they
// follow each other; with more, the next load runs during the computation. Times are multiples of 10.
inline timeline made_up(int stages, int steps) {
  timeline t{.policy = "made-up",
             .device = "a test",
             .runs_on = target::cuda,
             .unit = "cycles",
             .stages = stages,
             .steps = steps,
             .recorded = steps,
             .warps = 1};
  std::int64_t now = 0;
  const auto add = [&](span_kind kind, int step, std::int64_t duration) {
    t.spans.push_back(
        {.begin = now, .end = now + duration, .kind = kind, .step = step, .slot = step % stages, .agent = 0});
    now += duration;
  };
  const int lead = stages - 1;
  for (int i = 0; i < lead && i < steps; ++i) add(span_kind::load, i, 0), add(span_kind::commit, i, 0);
  for (int i = 0; i < steps; ++i) {
    if (lead == 0) add(span_kind::load, i, 0), add(span_kind::commit, i, 0);
    add(span_kind::wait, i, lead == 0 || i == 0 ? 10 : 0);
    if (lead > 0 && i + lead < steps) add(span_kind::load, i + lead, 0);
    add(span_kind::compute, i, 20);
    if (lead > 0 && i + lead < steps) add(span_kind::commit, i + lead, 0);
    if (lead == 0) add(span_kind::release, i, 0);
  }
  return t;
}

}  // namespace antiphase::testing
