// SPDX-License-Identifier: Apache-2.0
// Checks a lab of the course: its tests are a driver, which also asks what threads did.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>

#include "tool/commands/check/check.hpp"

namespace antiphase::tool {

lab_verdict check_one_lab(const lab_request& r) {
  plain_program program;
  program.sources = {r.file};
  program.driver = r.tests;
  // wide accesses are one act, as on a GPU; what a thread compares is noted, as a load is waited for there
  program.compiler_options = {"-fno-tree-sra", "-fsanitize-coverage=trace-cmp"};
  check_options options;
  constexpr int seconds = 20;  // of one run
  options.process_seconds = seconds;
  options.schedules = r.schedules;
  lab_verdict verdict;
  check_report report;
  try {
    report = check_plain(program, options);
  } catch (const bad_source& e) {
    for (const check_refusal& why : refusals_of(e, r.file))
      verdict.refused.push_back(
          (why.place.line > 0 ? fmt::format("{}:{}: ", why.place.file, why.place.line) : "") + why.text);
    return verdict;
  }
  // Words of the tests come first: they are the lab's own, and findings are often their cause.
  constexpr std::string_view thrown = "the program ended with an exception: ";
  std::vector<std::string>& missing = verdict.missing;
  std::erase_if(report.findings, [&](const finding& f) {
    if (f.kind != finding_kind::wrong_result) return false;
    std::string said = f.access.action;
    if (said.starts_with(thrown)) said.erase(0, thrown.size());
    if (std::ranges::find(missing, said) == missing.end()) missing.push_back(said);
    return true;
  });
  if (report.unfinished > 0)
    missing.push_back(
        fmt::format("a run had not ended after {} seconds of its own, or millions of accesses, and was "
                    "stopped: it may be slow, or wait for what never comes",
                    seconds));
  for (const check_refusal& why : report.refused) missing.push_back(why.text);
  verdict.runs = report.runs, verdict.errors = report.errors(), verdict.json = to_json(report);
  if (verdict.errors > 0) {
    verdict.text = to_text(report, fmt::format("antiphase check {} --kernels {}", r.file, r.tests));
    const auto first = std::ranges::find(report.findings, finding_severity::error, &finding::severity);
    verdict.first_error = fmt::format("{}: missing {}", name(first->kind), to_text(first->missing));
  }
  verdict.passed = missing.empty() && verdict.errors == 0 && report.runs > 0;
  return verdict;
}

}  // namespace antiphase::tool
