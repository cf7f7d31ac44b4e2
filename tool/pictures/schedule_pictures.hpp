// SPDX-License-Identifier: Apache-2.0
// Pictures of schedules that reproduce a finding of the checker.
#pragma once
#include <antiphase/checker.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace antiphase::tool {

// Texts of a finding, and its schedule, which has at least one lane.
struct drawn_finding {
  std::string title, memory, now, earlier, missing, replay;
  finding_schedule schedule;
  std::vector<std::pair<code_place, std::string>> lines{};  // the text of the lines, where it is known
  std::string without{};  // "data", ...: the wait that was left out (check_options::without); or empty
};

// Lanes for threads, their copies in flight and the memory, in the order of the schedule; the two sides of
// the finding are framed. schedule_page(): an HTML page (timeline_page.hpp). schedule_svg(): a still picture.
// schedule_json(): Trace Event Format, one microsecond per event. Equal findings give equal text. Throws
// bad_request if there are none.
std::string schedule_page(std::span<const drawn_finding> findings);
std::string schedule_svg(std::span<const drawn_finding> findings);
std::string schedule_json(std::span<const drawn_finding> findings);

}  // namespace antiphase::tool
