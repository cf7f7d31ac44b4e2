// SPDX-License-Identifier: Apache-2.0
// Recording a single-pass scan.
#include <antiphase/trace.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/scan.hpp>
#include <string>

#include "build_config.hpp"
#include "src/trace/record_call.hpp"
#include "src/trace/twin_lists.hpp"

namespace antiphase {
namespace {

const std::vector<twin>& scan_twins(target where) {
  static const std::vector<twin> on_cpu = scans::cpu::scan_twins();
#if ANTIPHASE_HAS_CUDA
  static const std::vector<twin> on_cuda = scans::cuda::scan_twins();
#else
  static const std::vector<twin> on_cuda;
#endif
  return where == target::cuda ? on_cuda : on_cpu;
}

}  // namespace

timeline record_scan(const context& where, std::string_view policy, const scan_problem& p, const trace_options& options) {
  scans::find_step(policy);
  if (p.outer * p.length * p.inner == 0) throw bad_request("there is nothing to record: the arrays have no elements");
  const bool sum_of_a_line = p.outer == 1 && p.inner == 1 && p.type == element::f32 && p.accumulate.value_or(p.type) == element::f32 &&
                             p.operation == scan_operation::sum;
  if (!sum_of_a_line)
    throw bad_request("only sums of f32 in one line are recorded: expected outer = inner = 1, operation sum, elements and results f32");
  return record_call(where, scan_twins(where.kind()), {.policy = std::string(policy), .kernel = "scan"}, options, p.in == p.out,
                     [&](const context& recording) { scan(recording, p, {.policy = policy, .on = options.on}); });
}

}  // namespace antiphase
