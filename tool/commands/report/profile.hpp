// SPDX-License-Identifier: Apache-2.0
// The profiling recipe of the report, and what Nsight Compute says when it is followed.
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
  std::string why_not;                  // there are none, in a sentence; empty where nobody has tried
};

// A shell command that profiles one launch of a ladder's step; `program` is this tool.
std::string profiling_recipe(std::string_view program);
// What `ncu --csv` printed. Lines around the table are its messages; if there is no table, an error among
// them says why.
profile read_profile(std::string_view printed);
// Follows the recipe, if ncu is on PATH; takes at most so many seconds. Without ncu there is nothing to say.
profile take_profile(const std::string& program, int seconds);

}  // namespace antiphase::tool
