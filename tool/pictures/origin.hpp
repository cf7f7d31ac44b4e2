// SPDX-License-Identifier: Apache-2.0
// Origin of timelines and names of their slots, as pictures and pages state them.
#pragma once
#include <antiphase/trace.hpp>
#include <span>
#include <string>

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
// Origins of several timelines, without duplicates.
inline std::string origin_of(std::span<const timeline> all) {
  std::string text;
  for (const timeline& t : all)
    if (const std::string one = origin_of(t); text.find(one) == text.npos)
      text += (text.empty() ? "" : "; ") + one;
  return text;
}

}  // namespace antiphase::tool
