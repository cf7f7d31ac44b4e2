// SPDX-License-Identifier: Apache-2.0
// --trace of the subcommand check: the schedules that show what was found, drawn.
#pragma once
#include <antiphase/checker.hpp>
#include <string>
#include <vector>

#include "tool/commands/check/check.hpp"
#include "tool/pictures/schedule_pictures.hpp"

namespace antiphase::tool {

class finding_trace {
 public:
  // Refuses a file whose name does not say its form.
  explicit finding_trace(const check_request& r);
  bool wanted() const { return !file_.empty(); }
  void add(const check_report& report, const std::string& command, const std::string& behind = {});
  // Writes what there is to draw; says so if there is nothing, and that no file was written.
  void finish(const common_options& common) const;

 private:
  std::string file_;
  std::string (*draw_)(std::span<const drawn_finding>) = nullptr;
  std::vector<drawn_finding> findings_;
  std::size_t without_ = 0;  // findings that no thread of a kernel was at
};

}  // namespace antiphase::tool
