// SPDX-License-Identifier: Apache-2.0
// The compiled kernels of the one-wave scan, and the plan of a request for them.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/scan/detail/passes.hpp>
#include <antiphase/scan/detail/wave_policy.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/problem.hpp>
#include <span>
#include <string>

namespace antiphase::scans {

struct request;
struct plan;
enum class misfit;

// One kernel. Signed integers share the kernels of unsigned ones.
struct wave_instance {
  element type;
  scan_operation operation;
  wave_policy policy;
  kernel code;
  int tile;  // elements
};
std::span<const wave_instance> wave_instances(target where);

// Columns of the table in choose.hpp, for the step one-wave. The workspace is laid out as in single_pass.hpp.
misfit wave_suits(const step& how, const request& r);
std::string wave_words(misfit why, const step& how, const request& r);
std::size_t wave_workspace(const step& how, const problem& p, const scan_keys* keys);
std::size_t most_wave_workspace(const step& how, const problem& p, const scan_keys* keys);  // of any problem
plan plan_wave(const step& how, const request& r);

// A given kernel, without a choice: its workspace for a problem with elements, and its launch. `initial`: the
// bits of the element that an exclusive scan starts from.
std::size_t one_wave_workspace(const wave_instance& with, const problem& p);
launchable prepare_one_wave(const wave_instance& with, const problem& p, std::uint64_t initial,
                            std::span<std::byte> workspace);

}  // namespace antiphase::scans
