// SPDX-License-Identifier: Apache-2.0
// The report as one page.
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
// HTML that asks for nothing else: style and charts are in it. `from` is a sentence that says whence the
// results are. Throws bad_input for records that are not as docs/measuring.md says. `recorded`: what `trace
// --json` wrote on that machine of a kernel with one buffer and with more. Where there is none, `overlap` is
// drawn: such timelines, just made. `counted` stands below the profiling recipe.
std::string report_page(const machine_profile& on, const std::vector<named_result>& results,
                        const std::string& from, const std::vector<named_result>& recorded,
                        const std::vector<timeline>& overlap, const profile& counted = {});

}  // namespace antiphase::tool
