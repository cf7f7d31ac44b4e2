// SPDX-License-Identifier: Apache-2.0
// --trace of the subcommand check: pictures of the schedules that reproduce its findings.
#pragma once
#include <antiphase/checker.hpp>
#include <string>
#include <vector>

#include "tool/commands/check/check.hpp"
#include "tool/pictures/schedule_pictures.hpp"

namespace antiphase::tool {

// A finding with a schedule, as pictures show it; `number`: of its cause.
drawn_finding drawn_of(const finding& f, int number, const std::string& command,
                       const std::string& behind = {});

class finding_trace {
 public:
  // Throws bad_request if the file's name does not imply a format.
  explicit finding_trace(const check_request& r);
  bool wanted() const { return !file_.empty(); }
  void add(const check_report& report, const std::string& command, const std::string& behind = {});
  // Writes the picture. If there is nothing to draw, says so, and that no file was written.
  void finish(const common_options& common) const;

 private:
  std::string file_;
  std::string (*draw_)(std::span<const drawn_finding>) = nullptr;
  std::vector<drawn_finding> findings_;
  std::size_t without_ = 0;  // findings without a kernel thread to draw
  int causes_ = 0;           // so far
};

}  // namespace antiphase::tool
