// SPDX-License-Identifier: Apache-2.0
// Which findings of the subcommand check count: --tool, --suppress, --baseline.
#pragma once
#include <antiphase/checker.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tool/commands/check/check.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

// What --tool takes: compute-sanitizer's tools and the ids of the kinds of findings.
std::vector<std::string> tools_and_kinds();
// "racecheck for race, ...; memcheck for ..."
std::string kinds_by_tool();

class finding_filters {
 public:
  // Reads the files. Throws bad_input if one is not there, bad_request for a name or line that is not as it
  // should be.
  explicit finding_filters(const check_request& r);
  // Leaves findings out, and notes in the report which and why.
  void apply(check_report& report);
  // After all reports: writes --write-baseline, and says which suppressions were of no use, and what of the
  // baseline was not found.
  void finish(const check_request& r) const;
  // "2 findings written to FILE", or nothing.
  std::string written() const;

 private:
  struct suppression {
    int line;
    std::string kind, place, reason;
    int used = 0;
  };
  static bool matches(const suppression& s, const finding& f);
  void read_suppressions();
  void read_baseline(const std::string& file);

  bool leaks_;  // are errors
  std::string suppressions_file_, baseline_file_, written_file_;
  std::set<std::string> kinds_;  // of --tool; empty: all
  std::vector<suppression> suppressions_;
  struct known_finding {
    std::string kind, kernel, place, text;
    int left = 0;  // not found yet
  };
  std::map<std::string, known_finding> known_;  // of the baseline, by fingerprint
  std::vector<json> written_;
};

}  // namespace antiphase::tool
