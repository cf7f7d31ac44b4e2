// SPDX-License-Identifier: Apache-2.0
// Schedules that show a finding of the checker, drawn.
#pragma once
#include <antiphase/checker.hpp>
#include <span>
#include <string>

namespace antiphase::tool {

// A finding in words, and its schedule, which has at least one lane.
struct drawn_finding {
  std::string title, memory, now, earlier, missing, replay;
  finding_schedule schedule;
};

// Lanes of threads, of their copies in flight and of the memory, in the order in which the schedule ran them;
// the sides of the finding are framed. As a page for a browser (timeline_page.hpp), as a still picture, and
// as a trace for Perfetto, where an event takes a microsecond. The same findings give the same text. Throws
// bad_request if there are none.
std::string schedule_page(std::span<const drawn_finding> findings);
std::string schedule_svg(std::span<const drawn_finding> findings);
std::string schedule_json(std::span<const drawn_finding> findings);

}  // namespace antiphase::tool
