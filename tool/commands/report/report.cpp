// SPDX-License-Identifier: Apache-2.0
// The subcommand report: one page about a machine, from result files, from runs on its GPU, or from shipped
// results of an H200.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/trace.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include "tool/base/errors.hpp"
#include "tool/base/shell.hpp"
#include "tool/commands/common/record.hpp"
#include "tool/commands/report/page.hpp"
#include "tool/commands/report/shipped_results.hpp"
#include "tool/files/file_names.hpp"
#include "tool/files/output_file.hpp"
#include "tool/files/whole_file.hpp"
#include "tool/measure/verify.hpp"
#include "tool/program/command.hpp"
#include "tool/program/console.hpp"
#include "tool/program/place.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Without a GPU the page is about an H200, and says so.\n\n"
    "The page holds all it needs, for light and dark. Without files it runs ladders and products on the GPU, "
    "until --seconds are over; "
    "without a GPU it shows an H200's figures, and says so. Timelines are those recorded on the machine, in "
    "a file of trace --json or "
    "shipped with antiphase; where there are none, they are modelled for that machine on the CPU executor.\n"
    "\n"
    "Examples:\n"
    "  antiphase report --output report.html\n"
    "  antiphase report --output report.html bench/results/*.json";

struct request {
  std::vector<std::string> files;
  std::string output;
  int seconds = 120;
  place_options place;
  common_options common;
};

json parsed(const std::string& text, const std::string& name) {
  json content = json::parse(text, nullptr, false);
  if (!content.is_object() || !content.contains("command") || !content["command"].is_string())
    throw bad_input(fmt::format(
        "{} is no result file: expected JSON of bench or ladder with 'command' and 'records'", name));
  const char* const list = content["command"] == "trace" ? "timelines" : "records";
  if (!content.contains(list) || !content[list].is_array())
    throw bad_input(fmt::format(
        "{} is no result file: expected JSON of bench or ladder with 'command' and '{}'", name, list));
  return content;
}

// Output of another process of this program; empty if it failed or exceeded the time.
std::string output_of(const std::string& arguments, int seconds) {
  const std::string tool = quoted_for_shell(std::filesystem::canonical("/proc/self/exe").string());
  const shell_output all =
      output_of_shell(fmt::format("timeout {} {} {} --json --quiet", seconds, tool, arguments));
  return all.status == 0 ? all.text : std::string();
}

std::vector<named_result> measured(const request& r, const std::string& on) {
  std::vector<named_result> results;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(r.seconds);
  for (const char* what : {"ladder gemm --size 4096", "ladder scan --size 268435456", "bench gemm --suite",
                           "ladder gemm --size 1024", "ladder scan --size 1048576",
                           "bench gemm --size 512,1024,2048,4096,8192"}) {
    const auto left =
        std::chrono::duration_cast<std::chrono::seconds>(end - std::chrono::steady_clock::now()).count();
    if (left < 5) break;
    say_progress(r.common, what);
    const std::string text = output_of(fmt::format("{} --on {}", what, on), static_cast<int>(left));
    if (!text.empty()) results.push_back({what, parsed(text, what)});
  }
  if (results.empty())
    throw not_supported(
        fmt::format("no run on {} ended within {} seconds: expected more (--seconds)", on, r.seconds));
  return results;
}

// Moves the timelines out of the results.
std::vector<named_result> recordings_among(std::vector<named_result>& results) {
  std::vector<named_result> taken;
  for (named_result& r : results)
    if (r.content["command"] == "trace") taken.push_back(std::move(r));
  std::erase_if(results, [](const named_result& r) { return r.content.is_null(); });
  return taken;
}
std::vector<named_result> shipped() {
  std::vector<named_result> all;
  for (const shipped_result& s : shipped_results())
    all.push_back({std::string(s.name), parsed(std::string(s.text), std::string(s.name))});
  return all;
}

// The device that the files were measured on; it must be the same in all.
std::string device_of(const std::vector<named_result>& results) {
  std::string name;
  for (const named_result& r : results) {
    if (!r.content.contains("machine") || !r.content["machine"].contains("name") ||
        !r.content["machine"]["name"].is_string())
      throw bad_input(fmt::format(
          "'{}' says of no machine ('machine', 'name'): expected a result file of a GPU", r.name));
    const std::string of = r.content["machine"]["name"];
    if (!name.empty() && of != name)
      throw bad_input(fmt::format("the files are of {} and of {}: expected one machine", name, of));
    name = of;
  }
  return name;
}

std::string origin(const std::vector<named_result>& results, std::string_view first) {
  std::string least, most, driver;
  for (const named_result& r : results) {
    const std::string date = r.content.value("date", "").substr(0, 10);
    if (least.empty() || date < least) least = date;
    if (date > most) most = date;
    driver = r.content["machine"].value("driver", driver);
  }
  return fmt::format("{} {} result files, {}{}; driver {}. Medians; every result verified.", first,
                     results.size(), least, least == most ? "" : " to " + most, driver);
}

// Timelines of the asynchronous kernel's first steps with one, two and three buffers: recorded on a GPU, on
// the CPU executor modelled for the machine `as`.
std::vector<timeline> overlap_of(const context& where, const machine_profile& as) {
  const std::int64_t m = where.kind() == target::cuda ? 4096 : 128, k = 512;
  const std::vector<float> values = random_values(static_cast<std::size_t>(m * k), 1);
  const device_array<float> a(where, values), b(where, values);
  device_array<float> c(where, static_cast<std::size_t>(m * m));
  std::vector<timeline> all;
  for (const char* policy : {"async-1", "async-2", "async-3"})
    all.push_back(record_gemm(
        where, policy,
        {.a = row_major(a.data(), m, k), .b = row_major(b.data(), k, m), .c = row_major(c.data(), m, m)},
        {.profile = std::make_shared<const machine_profile>(as)}));
  return all;
}

void finish(const request& r, output_file& out, const std::string& machine,
            const std::vector<named_result>& results) {
  out.commit();
  if (!r.common.json) return;
  json files = json::array();
  for (const named_result& n : results) files.push_back(n.name);
  print_json(
      {{"schema", 1}, {"command", "report"}, {"output", r.output}, {"machine", machine}, {"results", files}});
}

void run(const request& r) {
  for (const std::string& path : r.files) refuse_same_file(r.output, path);
  refuse_mixed_results(r.common, r.output);
  output_file out{r.output};
  std::vector<named_result> results;
  std::string first = "From";
  if (!r.files.empty()) {
    for (const std::string& path : r.files)
      results.push_back({path, parsed(whole_file(path), fmt::format("'{}'", path))});
  } else {
    const place at = choose_place(r.place, reference::not_offered);
    if (at.context->kind() == target::cuda) {
      results = measured(r, at.executor);
      const machine_profile on = profile_of(at.context->limits());
      out.write(report_page(on, results, origin(results, "Measured just now:"), {},
                            overlap_of(*at.context, on),
                            take_profile(std::filesystem::canonical("/proc/self/exe").string(), r.seconds)));
      return finish(r, out, on.limits.name, results);
    }
    results = shipped();
    first = "No GPU is usable here: this is an H200, from";
    say(r.common, "no GPU is usable here, so the report is about an H200");
  }
  const std::string device = device_of(results);
  std::vector<named_result> recordings = recordings_among(results);
  if (results.empty())
    throw bad_input("the files are timelines alone: expected results of bench or ladder next to them");
  if (recordings.empty()) {  // shipped ones of this machine
    std::vector<named_result> known = shipped();
    recordings = recordings_among(known);
    std::erase_if(recordings,
                  [&](const named_result& of) { return of.content["machine"]["name"] != device; });
  }
  const auto& shipped = shipped_profiles();
  const auto of_device =
      std::ranges::find_if(shipped, [&](const machine_profile& p) { return p.limits.name == device; });
  if (of_device == shipped.end())
    throw not_supported(
        fmt::format("there is no machine profile of {}: run report on it, without files", device));
  out.write(
      report_page(*of_device, results, origin(results, first), recordings,
                  recordings.empty() ? overlap_of(context::on("cpu"), *of_device) : std::vector<timeline>()));
  finish(r, out, device, results);
}

}  // namespace

void add_report(arguments program) {
  arguments command =
      program.add_subcommand("report", "One page about this machine: ladders, roofline, model, accuracy");
  const auto r = std::make_shared<request>();
  command.add_option("files", r->files, "Result files of bench, ladder and trace (--json), of one machine")
      .type_name("FILE")
      .values(0, option::any);
  command.add_option("-o,--output", r->output, "Where to write the page")
      .required()
      .type_name("FILE")
      .otherwise("--out");
  command.add_option("--seconds", r->seconds, "How long to measure on a GPU (default 120)")
      .check(integer_between(10, 3600))
      .type_name("N");
  add_place_options(command, r->place, reference::not_offered);
  add_common_options(command, r->common);
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
