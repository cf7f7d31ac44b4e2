// SPDX-License-Identifier: Apache-2.0
// Checks a lab of the course: its tests are a driver, which also asks what threads did.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>

#include "tool/base/errors.hpp"
#include "tool/commands/check/check.hpp"
#include "tool/measure/provenance.hpp"
#include "tool/program/console.hpp"

namespace antiphase::tool {

void run_lab(const lab_request& r) {
  plain_program program;
  program.sources = {r.file};
  program.driver = r.tests;
  check_options options;
  constexpr int seconds = 20;  // of one run
  options.process_seconds = seconds;
  options.schedules = r.schedules;
  check_report report;
  try {
    report = check_plain(program, options);
  } catch (const bad_source& e) {
    for (const check_refusal& why : refusals_of(e, r.file))
      complain((why.place.line > 0 ? fmt::format("{}:{}: ", why.place.file, why.place.line) : "") + why.text);
    throw bad_input(
        fmt::format("{} was not checked: expected a program that compiles, with the name and the parameters "
                    "of lab {}'s kernel",
                    r.file, r.number));
  }
  // Words of the tests come first: they are the lab's own, and findings are often their cause.
  constexpr std::string_view thrown = "the program ended with an exception: ";
  std::vector<std::string> missing;
  std::erase_if(report.findings, [&](const finding& f) {
    if (f.kind != finding_kind::wrong_result) return false;
    std::string said = f.access.action;
    if (said.starts_with(thrown)) said.erase(0, thrown.size());
    if (std::ranges::find(missing, said) == missing.end()) missing.push_back(said);
    return true;
  });
  if (report.unfinished > 0)
    missing.push_back(
        fmt::format("it had not ended after {} seconds: a loop waits for what never comes", seconds));
  for (const check_refusal& why : report.refused) missing.push_back(why.text);
  const bool passed = missing.empty() && report.errors() == 0 && report.runs > 0;
  if (r.common.json) {
    json found = json::parse(to_json(report));
    print_json({{"schema", 1},
                {"command", "course"},
                {"commit", built_from()},
                {"lab", r.number},
                {"name", r.name},
                {"file", r.file},
                {"passed", passed},
                {"missing", missing},
                {"findings", found["findings"]}});
  } else {
    std::string text;
    for (const std::string& m : missing) text += fmt::format("- {}\n", m);
    if (report.errors() > 0)
      text += to_text(report, fmt::format("antiphase check {} --kernels {}", r.file, r.tests));
    if (passed)
      text = fmt::format(
          "lab {} is done: right, and no finding in {} schedules.{}\n", r.number, report.runs,
          r.last ? " That was the last." : fmt::format(" Next: antiphase course start {}", r.number + 1));
    print(text);
  }
  if (!passed) throw verification_failed(fmt::format("lab {} is not done yet", r.number));
}

}  // namespace antiphase::tool
