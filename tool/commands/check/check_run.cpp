// SPDX-License-Identifier: Apache-2.0
// Runs the subcommand check in a build with the checker.
#include <fmt/format.h>
#include <antiphase/checker.hpp>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "tool/base/errors.hpp"
#include "tool/commands/check/check.hpp"
#include "tool/commands/check/check_cases.hpp"
#include "tool/commands/check/check_filters.hpp"
#include "tool/commands/check/trace/check_trace.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/measure/provenance.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/unfinished.hpp"

namespace antiphase::tool {
namespace {

void list(const check_request& r, const std::vector<const checked_case*>& cases) {
  json names = json::array();
  std::string text;
  for (const checked_case* c : cases) {
    names.push_back(c->name);
    text += fmt::format("{:<32} {}\n", c->name, c->about);
  }
  if (r.common.json)
    print_json({{"schema", 1}, {"command", "check"}, {"kernels", names}});
  else
    print(text);
}

}  // namespace

std::vector<const checked_case*> cases_of(const std::vector<std::string>& names) {
  const std::vector<checked_case>& all = checked_cases();
  std::vector<bool> wanted(all.size(), names.empty());
  for (const std::string& name : names) {
    bool found = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (name != "all" && name != all[i].name && !all[i].name.starts_with(name + "/")) continue;
      wanted[i] = found = true;
    }
    if (std::error_code ignored; !found && std::filesystem::exists(name, ignored))
      throw bad_request(
          fmt::format("{} is no source: expected a file whose name ends in .cu, .cuh, .cpp, .cc, .cxx or .py",
                      tool::quoted(name)));
    if (!found && name.find('.') != std::string::npos)
      throw bad_input(fmt::format(
          "there is no file {}: expected a .cu file, or a kernel as 'antiphase check --list' names them",
          tool::quoted(name)));
    if (!found) {
      std::vector<std::string> known = names_of(all);
      known.insert(known.begin(), {"all", "gemm", "scan"});
      const std::string* const closest = closest_name(name, known);
      throw bad_request(fmt::format(
          "there is no kernel {}: {}xpected all, gemm, scan, or a name that 'antiphase check --list' gives",
          tool::quoted(name), closest != nullptr ? fmt::format("did you mean {}? E", *closest) : "e"));
    }
  }
  std::vector<const checked_case*> cases;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (wanted[i]) cases.push_back(&all[i]);
  return cases;
}

void run_check(const check_request& r) {
  const std::vector<const checked_case*> cases = cases_of(r.kernels);
  if (r.list) return list(r, cases);
  check_options options;
  for (const auto& [name, value] : r.settings) set_option(options, name, value);

  finding_trace trace(r);
  finding_filters filters(r);
  options.draw = trace.wanted();
  refuse_mixed_results(r.common, r.trace);
  json kernels = json::array();
  const json document{{"schema", 1}, {"command", "check"}, {"commit", built_from()}};
  unfinished_results so_far(r.common, document, "kernels", cases.size(), "kernels");
  std::string faulty;
  std::size_t done = 0;
  for (const checked_case* c : cases) {
    if (who_watches(r.common) == audience::person) complain("checking " + c->name);
    options.limits = c->limits;
    const auto start = std::chrono::steady_clock::now();
    check_report report = check(c->program, options);
    filters.apply(report);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string command = "antiphase check " + c->name;
    trace.add(report, command);
    if (r.fails(report)) faulty += (faulty.empty() ? "" : ", ") + c->name;
    if (r.common.json) {
      json entry{{"kernel", c->name}, {"seconds", seconds}};
      entry.update(json::parse(to_json(report, command)));
      entry.erase("schema");
      kernels.push_back(entry);
    } else {
      print(fmt::format("{:<32} {:<40} {:.1f} s\n{}", c->name, summary(report), seconds,
                        report.clean() && report.notes.empty() ? "" : to_text(report, command)));
    }
    so_far.show(
        ++done, [&] { return kernels; }, [] { return std::string(); });  // the text has been printed
  }
  so_far.finish();
  filters.finish(r);
  trace.finish(r.common);
  if (r.common.json) {
    json result = document;
    result["kernels"] = kernels;
    print_json(result);
  }
  if (!faulty.empty()) throw verification_failed(fmt::format("the checker has found faults in {}", faulty));
}

}  // namespace antiphase::tool
