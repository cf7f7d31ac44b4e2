// SPDX-License-Identifier: Apache-2.0
// Runs one scan by the library.
#pragma once
#include <antiphase/scan.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tool/commands/scan/scan_job.hpp"
#include "tool/files/npy/npy.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

// `x` and `keys` (none: only the job's lines) are in C order. Integers are converted to floats or wider
// integers as the job's type requires.
struct scan_outcome {
  std::vector<std::byte> data;  // of the job's type
  std::string policy;
  launch_counts counts = {};
};
// Warns beforehand if the scan will be slow.
scan_outcome scan_on_device(const common_options& common, const context& where, const scan_job& job,
                            const std::string& policy, const npy_array& x,
                            const std::optional<npy_array>& keys);

// What scan_on_device() would run. Uses only the arrays' types and shapes.
scan_choice choice_of_scan(const context& where, const scan_job& job, const std::string& policy,
                           const npy_array& x, const std::optional<npy_array>& keys);
json to_json(const scan_choice& chosen);
std::string choice_text(const scan_choice& chosen);  // one line, without reasons

}  // namespace antiphase::tool
