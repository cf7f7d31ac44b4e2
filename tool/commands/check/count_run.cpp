// SPDX-License-Identifier: Apache-2.0
// Runs the subcommand count in a build with the checker.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <fstream>
#include <map>

#include "tool/base/errors.hpp"
#include "tool/commands/check/check.hpp"
#include "tool/commands/check/check_cases.hpp"
#include "tool/commands/common/count_requests.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/files/output_file.hpp"
#include "tool/measure/provenance.hpp"
#include "tool/pictures/count_svg.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {
namespace {

// Lines of source files, read once each; empty if a file cannot be read.
class sources {
 public:
  std::string line(const code_place& at) {
    const auto [file, fresh] = files_.try_emplace(at.file);
    if (fresh) {
      std::ifstream in(at.file);
      for (std::string text; std::getline(in, text);) file->second.push_back(text);
    }
    if (at.line < 1 || static_cast<std::size_t>(at.line) > file->second.size()) return {};
    const std::string& text = file->second[static_cast<std::size_t>(at.line) - 1];
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

void add(request_totals& t, const line_count& c) {
  if (c.action == line_action::bulk_copy) {
    t.copied_bytes += c.bytes;
    return;
  }
  t.requests += c.requests, t.lanes += c.lanes;
  if (c.memory == line_memory::global) {
    t.global_requests += c.requests, t.global_bytes += c.bytes;
    t.global_sectors += c.units, t.global_ideal += c.ideal;
  }
  if (c.memory == line_memory::shared) {
    t.shared_requests += c.requests, t.shared_bytes += c.bytes;
    t.wavefronts += c.units, t.ideal += c.ideal;
  }
}

const char* unit_of(const line_count& c) { return c.memory == line_memory::shared ? "wavefront" : "sector"; }

std::vector<std::string> kernels_of(const std::vector<line_count>& lines) {
  std::vector<std::string> all;
  for (const line_count& c : lines)
    if (std::ranges::find(all, c.kernel) == all.end()) all.push_back(c.kernel);
  return all;
}

std::string text_of(const std::vector<line_count>& lines) {
  std::string text;
  sources read;
  for (const std::string& kernel : kernels_of(lines)) {
    std::vector<const line_count*> its;
    for (const line_count& c : lines)
      if (c.kernel == kernel) its.push_back(&c);
    const std::string& file = its.front()->place.file;
    const auto place_of = [&](const line_count& c) {
      return c.place.file == file ? fmt::format("{}", c.place.line)
                                  : fmt::format("{}:{}", c.place.file, c.place.line);
    };
    std::size_t width = 4;
    for (const line_count* c : its) width = std::max(width, place_of(*c).size());
    text += fmt::format("{}kernel {}, {}\n{:>{}}  {:<17} {:>8} {:>6}  {:<16} {:>5} {:>10}\n",
                        text.empty() ? "" : "\n", kernel, file, "line", width, "access", "requests", "lanes",
                        "per request", "ideal", "bytes");
    for (const line_count* c : its)
      text += fmt::format("{:>{}}  {:<17} {:>8} {:>6.4g}  {:<16} {:>5} {:>10}  {}\n", place_of(*c), width,
                          fmt::format("{} {}", name(c->memory), name(c->action)), c->requests,
                          ratio(c->lanes, c->requests),
                          c->units > 0 ? fmt::format("{:.4g} {}{}", ratio(c->units, c->requests), unit_of(*c),
                                                     c->units == c->requests ? "" : "s")
                                       : "",
                          c->units > 0 ? fmt::format("{:.4g}", ratio(c->ideal, c->requests)) : "", c->bytes,
                          read.line(c->place));
    request_totals t;
    for (const line_count* c : its) add(t, *c);
    if (t.global_bytes > 0)
      text += fmt::format("global memory: {} bytes asked for, {} in sectors ({:.2f} times as many)\n",
                          t.global_bytes, sector_bytes * t.global_sectors,
                          ratio(sector_bytes * t.global_sectors, t.global_bytes));
    if (t.shared_bytes > 0)
      text += fmt::format("shared memory: {} bytes asked for, {} wavefronts ({:.2f} times the ideal)\n",
                          t.shared_bytes, t.wavefronts, ratio(t.wavefronts, t.ideal));
  }
  return text;
}

std::string picture_of(const std::vector<line_count>& lines) {
  std::vector<drawn_kernel> all;
  sources read;
  for (const std::string& kernel : kernels_of(lines)) {
    drawn_kernel drawn{.name = kernel, .requests = {}};
    for (const line_count& c : lines)
      if (c.kernel == kernel && c.units > 0)
        drawn.requests.push_back(
            {.text = fmt::format("line {}: {} {}", c.place.line, name(c.memory), name(c.action)),
             .source = read.line(c.place),
             .unit = unit_of(c),
             .each = ratio(c.units, c.requests),
             .ideal = ratio(c.ideal, c.requests)});
    all.push_back(std::move(drawn));
  }
  return count_svg(all);
}

json json_of(const std::vector<line_count>& lines) {
  json kernels = json::array();
  sources read;
  for (const std::string& kernel : kernels_of(lines)) {
    json all = json::array();
    for (const line_count& c : lines)
      if (c.kernel == kernel)
        all.push_back({{"file", c.place.file},
                       {"line", c.place.line},
                       {"source", read.line(c.place)},
                       {"memory", name(c.memory)},
                       {"access", name(c.action)},
                       {"requests", c.requests},
                       {"lanes", c.lanes},
                       {"bytes", c.bytes},
                       {fmt::format("{}s", unit_of(c)), c.units},
                       {"ideal", c.ideal}});
    kernels.push_back({{"kernel", kernel}, {"lines", all}});
  }
  return kernels;
}

check_options counting() {
  return {.schedules = 1, .replay = check_run{.seed = 1, .order = schedule::forward}, .count = true};
}

}  // namespace

request_totals count_requests(const std::function<void(const context&)>& program) {
  const check_report report = check(program, counting());
  if (report.errors() > 0) throw verification_failed("a counted run has faults:\n" + to_text(report));
  request_totals t;
  for (const line_count& c : report.counts) add(t, c);
  return t;
}

void run_count(const program_request& r) {
  refuse_mixed_results(r.common, r.picture);
  check_options options = counting();
  check_report report;
  json result{{"schema", 1}, {"command", "count"}, {"commit", built_from()}};
  std::string text;
  for (const std::string& s : r.said) say(r.common, s);
  if (is_source(r.kernels.front())) {
    const plain_program program = program_of(r);
    for (const std::string& s : program.sources)
      if (s.ends_with(".py"))
        throw bad_request(fmt::format("{} is in Python: count takes programs in CUDA (.cu)", s));
    options.process_seconds = r.other_seconds();
    options.output = r.common.quiet || r.common.json ? program_output::none : program_output::first_run;
    try {
      report = check_plain(program, options);
    } catch (const bad_source& e) {
      throw bad_input(e.what());
    }
    if (report.unfinished > 0)
      throw not_supported(
          fmt::format("the run of {} had not ended after {} seconds, so nothing is counted: "
                      "expected smaller input, or a larger number for --seconds",
                      program.sources.front(), r.other_seconds()));
  } else {
    for (const checked_case* c : cases_of(r.kernels)) {
      options.limits = c->limits;
      check_report one = check(c->program, options);
      report.findings.insert(report.findings.end(), one.findings.begin(), one.findings.end());
      for (line_count& l : one.counts) report.counts.push_back(std::move(l));
    }
  }
  if (report.counts.empty()) complain("no access to memory was seen in a kernel");
  if (report.errors() > 0)
    complain(fmt::format("the run has faults, so the counts may be wrong: see antiphase check {}",
                         r.kernels.front()));
  if (!r.picture.empty()) {
    output_file out{r.picture};
    out.write(picture_of(report.counts));
    out.commit();
    if (!r.common.json) return;
  }
  if (r.common.json) {
    result["notes"] = report.notes;
    result["kernels"] = json_of(report.counts);
    return print_json(result);
  }
  print(text_of(report.counts));
  for (const std::string& n : report.notes) print(fmt::format("note: {}\n", n));
}

}  // namespace antiphase::tool
