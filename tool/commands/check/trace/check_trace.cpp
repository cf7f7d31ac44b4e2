// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/check/trace/check_trace.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <utility>

#include "tool/files/file_names.hpp"
#include "tool/files/output_file.hpp"
#include "tool/pictures/picture_format.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

namespace {

// Of the lines of a schedule, those whose file can be read.
std::vector<std::pair<code_place, std::string>> lines_of(const finding_schedule& schedule) {
  std::map<std::string, std::map<int, std::string>> by_file;
  for (const schedule_lane& l : schedule.lanes)
    for (const schedule_event& e : l.events)
      if (e.place.line > 0) by_file[e.place.file][e.place.line];
  std::vector<std::pair<code_place, std::string>> lines;
  for (const auto& [file, wanted] : by_file) {
    std::ifstream in(file);
    std::string text;
    for (int line = 1; std::getline(in, text); ++line)
      if (wanted.contains(line)) lines.emplace_back(code_place{file, line}, text);
  }
  return lines;
}

}  // namespace

drawn_finding drawn_of(const finding& f, int number, const std::string& command, const std::string& behind) {
  const std::string title = fmt::format("{}. {}", number, name(f.kind));
  return {.title = f.kernel.empty() ? title : fmt::format("{}: kernel {}", title, f.kernel),
          .memory = f.memory,
          .now = to_text(f.access),
          .earlier = f.earlier ? to_text(*f.earlier) : "",
          .missing = missing_text(f),
          .replay = replay_command(f, command, behind),
          .schedule = f.drawn,
          .lines = lines_of(f.drawn),
          .without = f.first.without == ring_wait::none ? "" : name(f.first.without)};
}

finding_trace::finding_trace(const check_request& r) : file_(r.trace) {
  if (!wanted()) return;
  switch (picture_format_of(file_, "", "")) {
    case picture_format::page: draw_ = schedule_page; break;
    case picture_format::still: draw_ = schedule_svg; break;
    case picture_format::data: draw_ = schedule_json; break;
  }
}

void finding_trace::add(const check_report& report, const std::string& command, const std::string& behind) {
  if (!wanted()) return;
  int group = 0;
  for (const finding& f : report.findings) {
    if (f.group == 0 || f.group != std::exchange(group, f.group)) ++causes_;
    if (f.drawn.lanes.empty()) {
      ++without_;
      continue;
    }
    findings_.push_back(drawn_of(f, causes_, command, behind));
  }
}

void finding_trace::finish(const common_options& common) const {
  if (!wanted()) return;
  if (without_ > 0)
    say(common,
        fmt::format(
            "{} of {} findings are not drawn: no thread of a kernel took part, as where a launch is refused",
            without_, without_ + findings_.size()));
  if (findings_.empty())
    return say(common, fmt::format("there is no schedule to draw: {} is not written", file_));
  output_file out(file_);
  out.write(draw_(findings_));
  out.commit();
}

}  // namespace antiphase::tool
