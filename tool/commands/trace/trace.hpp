// SPDX-License-Identifier: Apache-2.0
// Request of the subcommand trace.
#pragma once
#include <antiphase/trace.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/commands/check/check.hpp"
#include "tool/pictures/picture_format.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"

namespace antiphase::tool {

struct trace_request {
  std::string kernel = "gemm", compare;
  program_request program;  // of a kernel in a .cu file
  std::vector<std::string> policies, files;
  std::vector<int> stages;
  std::optional<std::int64_t> m, n, k;
  std::int64_t size = 1 << 18, rows = 1, segment = 0;
  unsigned block = 0;
  int recorded = 32, cost_runs = 0;
  std::string output, format;
  bool without_waits = false;
  std::string profile, blocks = "auto", data;
  place_options place;
  common_options common;
};
inline picture_format format_of(const trace_request& r) {
  return picture_format_of(r.output, r.format, "; give --format html, svg or json");
}
// What can be recorded, and by which policies.
std::vector<std::string> trace_families();
std::vector<std::string> recorded_policies();
void run_trace(const trace_request& r);
// Draws the kernels of a program in plain CUDA. `options`: without the machine.
void trace_program(const trace_request& r, trace_options options);

}  // namespace antiphase::tool
