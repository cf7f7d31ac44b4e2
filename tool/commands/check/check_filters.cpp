// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/check/check_filters.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <antiphase/core/names.hpp>
#include <fstream>
#include <sstream>

#include "tool/base/errors.hpp"
#include "tool/files/output_file.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {
namespace {

std::string count(std::size_t n) { return fmt::format("{} finding{}", n, n == 1 ? "" : "s"); }

// a.cu, a.cu:12 or a.cu:12-20 against a place; a.cu is also folder/a.cu.
bool is_place(const std::string& pattern, const code_place& p) {
  std::string file = pattern;
  int from = 0, to = 0;
  if (const std::size_t colon = pattern.rfind(':'); colon != std::string::npos) {
    const int numbers = std::sscanf(pattern.c_str() + colon + 1, "%d-%d", &from, &to);
    if (numbers >= 1) file.resize(colon);
    if (numbers == 1) to = from;
  }
  if (from > 0 && (p.line < from || p.line > to)) return false;
  return fnmatch(file.c_str(), p.file.c_str(), 0) == 0 ||
         fnmatch(("*/" + file).c_str(), p.file.c_str(), 0) == 0;
}

}  // namespace

finding_filters::finding_filters(const check_request& r)
    : leaks_(r.leaks),
      suppressions_file_(r.suppress),
      baseline_file_(r.baseline),
      written_file_(r.write_baseline) {
  const std::vector<std::string> names = tools_and_kinds();
  std::istringstream wanted(r.tool);
  for (std::string name; std::getline(wanted, name, ',');) {
    if (std::ranges::find(names, name) == names.end())
      throw bad_request(fmt::format("--tool '{}': {}", name, suggestion(name, names)));
    for (const finding_kind_row& k : finding_kinds)
      if (name == id(k.kind) || name == k.sanitizer_tool) kinds_.insert(id(k.kind));
  }
  if (!suppressions_file_.empty()) read_suppressions();
  if (!baseline_file_.empty()) read_baseline(baseline_file_);
}

void finding_filters::read_suppressions() {
  std::ifstream in(suppressions_file_);
  if (!in) throw bad_input(fmt::format("--suppress: there is no file '{}'", suppressions_file_));
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    std::istringstream words(text);
    suppression s{number, {}, {}, {}};
    if (!(words >> s.kind) || s.kind.starts_with('#')) continue;
    words >> s.place >> std::ws;
    std::getline(words, s.reason);
    std::vector<std::string> kinds{"*"};
    for (const finding_kind_row& k : finding_kinds) kinds.push_back(id(k.kind));
    if (std::ranges::find(kinds, s.kind) == kinds.end())
      throw bad_request(fmt::format("{}:{}: there is no kind of findings '{}': {}", suppressions_file_,
                                    number, s.kind, suggestion(s.kind, kinds)));
    if (s.reason.empty())
      throw bad_request(
          fmt::format("{}:{}: expected a kind, a place (a.cu, a.cu:12, kernel:NAME) and a reason",
                      suppressions_file_, number));
    suppressions_.push_back(std::move(s));
  }
}

void finding_filters::read_baseline(const std::string& file) {
  std::ifstream in(file);
  if (!in)
    throw bad_input(fmt::format("--baseline: there is no file '{}': --write-baseline makes one", file));
  const json all = json::parse(in, nullptr, false);
  if (!all.is_object() || !all.contains("known") || !all["known"].is_array())
    throw bad_request(fmt::format("{} is no baseline: expected a file of --write-baseline", file));
  for (const json& known : all["known"])
    if (known.is_object()) {
      known_finding& k = known_[known.value("fingerprint", "")];
      const int left = k.left + 1;
      k = {known.value("kind", ""), known.value("kernel", ""), known.value("at", ""), known.value("what", ""),
           left};
    }
}

bool finding_filters::matches(const suppression& s, const finding& f) {
  if (s.kind != "*" && s.kind != id(f.kind)) return false;
  constexpr std::string_view of_kernel = "kernel:";
  if (s.place.starts_with(of_kernel))
    return fnmatch(s.place.c_str() + of_kernel.size(), f.kernel.c_str(), 0) == 0;
  return is_place(s.place, f.access.place) || (f.earlier && is_place(s.place, f.earlier->place));
}

void finding_filters::apply(check_report& report) {
  std::size_t others = 0, known = 0;
  std::map<int, std::size_t> used;
  const auto counts_not = [&](const finding& f) {
    if (!kinds_.empty() && !kinds_.contains(id(f.kind))) return ++others, true;
    const auto by = std::ranges::find_if(suppressions_, [&](const suppression& s) { return matches(s, f); });
    if (by != suppressions_.end()) return ++by->used, ++used[by->line], true;
    if (const auto at = known_.find(fingerprint(f)); at != known_.end() && at->second.left > 0) {
      --at->second.left;
      return ++known, true;
    }
    if (written_file_.empty()) return false;
    written_.push_back({{"fingerprint", fingerprint(f)},
                        {"kind", id(f.kind)},
                        {"kernel", f.kernel},
                        {"at", f.access.place.file},
                        {"what", to_text(f.access)}});
    return true;
  };
  std::vector<finding> left;
  for (finding& f : report.findings)
    if (leaks_ && f.kind == finding_kind::leak) f.in_practice = {};
  for (finding& f : report.findings) (counts_not(f) ? report.left_out : left).push_back(std::move(f));
  report.findings = std::move(left);
  if (others > 0) report.notes.push_back(count(others) + " of kinds that --tool does not name");
  for (const suppression& s : suppressions_)
    if (const auto n = used.find(s.line); n != used.end())
      report.notes.push_back(
          fmt::format("{} suppressed by {}:{}: {}", count(n->second), suppressions_file_, s.line, s.reason));
  if (known > 0) report.notes.push_back(fmt::format("{} known from {}", count(known), baseline_file_));
  if (!written_.empty()) report.notes.push_back(written());
}

std::string finding_filters::written() const {
  return written_.empty() ? "" : fmt::format("{} written to {}", count(written_.size()), written_file_);
}

void finding_filters::finish(const check_request& r) const {
  for (const suppression& s : suppressions_)
    if (s.used == 0)
      say(r.common, fmt::format("{}:{} suppresses nothing: {} {} {}", suppressions_file_, s.line, s.kind,
                                s.place, s.reason));
  for (const auto& [fingerprint, k] : known_)
    if (k.left > 0 && (kinds_.empty() || kinds_.contains(k.kind)))
      say(r.common, fmt::format("{}: not found: {}{} in {}, {}", baseline_file_, k.kind,
                                k.kernel.empty() ? "" : ", kernel " + k.kernel,
                                k.place.empty() ? "an unknown place" : k.place, k.text));
  if (written_file_.empty()) return;
  output_file out(written_file_);
  out.write(json{{"schema", 1}, {"known", written_}}.dump(2) + "\n");
  out.commit();
}

}  // namespace antiphase::tool
