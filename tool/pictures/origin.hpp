// SPDX-License-Identifier: Apache-2.0
// Origin of timelines, names of their slots, their steady state and their rate of work, as pictures, pages
// and tables state them.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/trace.hpp>
#include <span>
#include <string>
#include <vector>

namespace antiphase::tool {

// "recorded on NVIDIA H200", or "modelled on the CPU executor", with "for" the simulated device if there is
// one.
inline std::string origin_of(const timeline& t) {
  if (t.runs_on == target::cuda) return "recorded on " + t.device;
  return "modelled on the CPU executor" +
         (t.device.empty() || t.device == "CPU executor" ? "" : ", for " + t.device);
}
inline std::string slot_name(const timeline& t, int slot) {
  return t.rings.front() == "registers" ? "registers" : "buffer " + std::to_string(slot);
}
// "gemm async-2"; not "softmax softmax-2".
inline std::string title_of(const timeline& t) {
  return t.policy.starts_with(t.kernel) ? t.policy : t.kernel + " " + t.policy;
}
// Origins of several timelines, without duplicates.
inline std::string origin_of(std::span<const timeline> all) {
  std::string text;
  for (const timeline& t : all)
    if (const std::string one = origin_of(t); text.find(one) == text.npos)
      text += (text.empty() ? "" : "; ") + one;
  return text;
}
// "Modelled on the CPU executor, for NVIDIA H200: a tick is a cycle of the model, nothing was measured", or
// "Recorded on NVIDIA H200, in clock cycles".
inline std::string origin_sentence(std::span<const timeline> all) {
  std::string text = origin_of(all);
  text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + (all.front().runs_on == target::cuda
                     ? ", in clock cycles"
                     : ": a tick is a cycle of the model, nothing was measured");
}

inline std::string unit_of_one(const timeline& t) { return t.unit == "cycles" ? "cycle" : "tick"; }
// "121.6 multiply-adds a tick"; empty if that is not known.
inline std::string work_text(const timeline& t, const overlap& o) {
  return o.work_rate > 0 ? fmt::format("{:.1f} {} a {}", o.work_rate, t.work_is, unit_of_one(t)) : "";
}
// Ticks or cycles from a step's computation to the next one's, once every slot has been filled and until none
// is filled again, over at least a round of the ring; 0: too few steps are recorded.
inline double steady_time(const timeline& t) {
  const std::vector<step_times> steps = by_step(t);
  const auto stages = static_cast<std::ptrdiff_t>(std::max(1, t.stages)), first = stages,
             last = std::ssize(steps) - (t.recorded == t.steps ? stages : 1);
  if (last - first < stages) return 0;
  return static_cast<double>(steps[static_cast<std::size_t>(last)].compute_begin -
                             steps[static_cast<std::size_t>(first)].compute_begin) /
         static_cast<double>(last - first);
}

// Whether their steps do the same work, so that durations can be compared.
inline bool same_work(std::span<const timeline> all) {
  for (const timeline& t : all)
    if (t.step_work != all.front().step_work) return false;
  return true;
}

}  // namespace antiphase::tool
