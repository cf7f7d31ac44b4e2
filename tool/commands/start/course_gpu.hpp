// SPDX-License-Identifier: Apache-2.0
// A lab's kernel on a GPU: compiled by nvcc, timed, next to the ladder's step.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tool/program/text/console.hpp"

namespace antiphase::tool {

struct lab_time {
  std::string kernel;
  double us = 0, amount = 0;  // of a launch; what it does in all
  std::string unit;           // of the amount
  bool right = false;
  std::string reference;    // a step of the ladder, or a copy; empty: none
  double reference_us = 0;  // 0: it could not be measured
  bool alike = false;       // the reference does the same work
};
// `course`: the folder of all labs; `file`: the student's. Throws bad_input if it does not compile,
// not_supported if there is no GPU or no nvcc.
std::vector<lab_time> time_on_gpu(const std::filesystem::path& course, int lab, const std::string& file);
std::string text_of(std::span<const lab_time> times);
json to_json(std::span<const lab_time> times);

}  // namespace antiphase::tool
