// SPDX-License-Identifier: Apache-2.0
// Origin of timelines, as pictures and pages state it.
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

}  // namespace antiphase::tool
