// SPDX-License-Identifier: Apache-2.0
// Running one scan: by the library, or by plain loops.
#pragma once
#include <antiphase/scan.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tool/commands/scan/scan_job.hpp"
#include "tool/files/npy.hpp"
#include "tool/program/command.hpp"
#include "tool/program/console.hpp"

namespace antiphase::tool {

// `x` and `keys` (none: the job's lines) are in C order; integers become floats and wider integers as the
// job's type asks for.
struct scan_outcome {
  std::vector<std::byte> data;  // of the job's type
  std::string policy;
  launch_counts counts = {};
};
// Says beforehand if it will be slow.
scan_outcome scan_on_device(const common_options& common, const context& where, const scan_job& job,
                            const std::string& policy, const npy_array& x,
                            const std::optional<npy_array>& keys);
scan_outcome scan_on_reference(const scan_job& job, const npy_array& x, const std::optional<npy_array>& keys);

// What scan_on_device() would run. Of the arrays only types and shapes are looked at.
scan_choice choice_of_scan(const context& where, const scan_job& job, const std::string& policy,
                           const npy_array& x, const std::optional<npy_array>& keys);
json to_json(const scan_choice& chosen);
std::string choice_text(const scan_choice& chosen);  // one line, without the reasons

}  // namespace antiphase::tool
