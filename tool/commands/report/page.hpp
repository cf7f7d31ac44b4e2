// SPDX-License-Identifier: Apache-2.0
// The report as one HTML page.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <antiphase/trace.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tool/commands/report/profile.hpp"
#include "tool/program/console.hpp"

namespace antiphase::tool {

struct named_result {
  std::string name;  // of the file
  json content;
};
// A self-contained HTML page: style and charts are inline. `from`: a sentence on the origin of the results.
// `recorded`: output of `trace --json` on that machine, for one kernel with one buffer and with more.
// `overlap`: freshly recorded timelines of that kind, drawn if `recorded` is empty. `counted` is shown below
// the profiling recipe. Throws bad_input for records that do not follow docs/measuring.md.
std::string report_page(const machine_profile& on, const std::vector<named_result>& results,
                        const std::string& from, const std::vector<named_result>& recorded,
                        const std::vector<timeline>& overlap, const profile& counted = {});

}  // namespace antiphase::tool
