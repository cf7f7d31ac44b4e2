// SPDX-License-Identifier: Apache-2.0
// Figures from the spans of a timeline.
#include <antiphase/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace antiphase {

std::vector<step_times> by_step(const timeline& t) {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  std::vector<step_times> steps(static_cast<std::size_t>(t.recorded), {.issued = never, .landed = never, .compute_begin = never});
  for (int i = 0; i < t.recorded; ++i) steps[static_cast<std::size_t>(i)].step = i;
  for (const span_record& s : t.spans) {
    if (s.step >= t.recorded) continue;
    step_times& step = steps[static_cast<std::size_t>(s.step)];
    switch (s.kind) {
      case span_kind::load:
        step.slot = s.slot;
        step.issued = std::min(step.issued, s.begin);
        break;
      case span_kind::wait: step.landed = std::min(step.landed, s.end); break;
      case span_kind::compute:
        step.compute_begin = std::min(step.compute_begin, s.begin);
        step.compute_end = std::max(step.compute_end, s.end);
        break;
      case span_kind::commit:
      case span_kind::release: break;
    }
  }
  return steps;
}

namespace {

// How much of [begin, end) some computation covers. Computations of different steps may overlap: a fast warp is ahead of a slow one.
std::int64_t covered(const std::vector<step_times>& steps, std::int64_t begin, std::int64_t end) {
  std::int64_t total = 0;
  for (const step_times& s : steps) {  // in the order of their beginnings
    const std::int64_t from = std::max(begin, s.compute_begin), to = std::min(end, s.compute_end);
    if (to <= from) continue;
    total += to - from;
    begin = to;
  }
  return total;
}

}  // namespace

overlap measure(const timeline& t) {
  const std::vector<step_times> steps = by_step(t);
  overlap result{.steps = t.recorded};
  if (steps.empty() || t.warps == 0) return result;

  std::int64_t in_flight = 0, hidden = 0;
  for (const step_times& s : steps) {
    const std::int64_t by_computation = covered(steps, s.issued, s.landed);
    in_flight += s.landed - s.issued;
    hidden += by_computation;
    result.steps_hidden += by_computation > 0;
  }
  if (in_flight > 0) result.hidden = static_cast<double>(hidden) / static_cast<double>(in_flight);

  double waited = 0, computed = 0;
  for (const span_record& s : t.spans) {
    if (s.step >= t.recorded || s.kind == span_kind::load) continue;
    (s.kind == span_kind::compute ? computed : waited) += static_cast<double>(s.end - s.begin);
  }
  const double shares = static_cast<double>(t.recorded) * t.warps;
  result.mean_wait = waited / shares;
  result.mean_compute = computed / shares;
  result.duration = steps.back().compute_end - steps.front().issued;
  return result;
}

}  // namespace antiphase
