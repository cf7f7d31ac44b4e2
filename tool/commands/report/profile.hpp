// SPDX-License-Identifier: Apache-2.0
// The profiling recipe of the report, and Nsight Compute's output for it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::tool {

struct profile_figure {
  std::string metric, unit, value;
};
struct profile {
  std::vector<profile_figure> figures;  // of one launch
  std::string why_not;                  // reason for missing figures, a sentence; empty if none was requested
};

// A shell command that profiles one launch of a ladder's step; `program` is this tool.
std::string profiling_recipe(std::string_view program);
// Parses the output of `ncu --csv`. Lines around the table are messages; if there is no table, an error among
// them becomes why_not.
profile read_profile(std::string_view printed);
// Follows the recipe if ncu is on PATH, for at most `seconds`. Without ncu the result is empty.
profile take_profile(const std::string& program, int seconds);

}  // namespace antiphase::tool
