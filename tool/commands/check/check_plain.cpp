// SPDX-License-Identifier: Apache-2.0
// The subcommand check on programs in plain CUDA.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/plain_cuda.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "tool/base/errors.hpp"
#include "tool/base/shell.hpp"
#include "tool/base/wrap.hpp"
#include "tool/commands/check/check.hpp"
#include "tool/commands/check/check_filters.hpp"
#include "tool/commands/check/trace/check_trace.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/files/file_names.hpp"
#include "tool/files/output_file.hpp"
#include "tool/measure/provenance.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/unfinished.hpp"

namespace antiphase::tool {
namespace {

// Outputs must not overwrite the inputs or each other.
void require_outputs_of_their_own(const check_request& r, const plain_program& p) {
  for (const std::string& output : {r.sarif, r.trace, r.write_baseline}) {
    if (output.empty()) continue;
    for (const std::string& s : p.sources) refuse_same_file(output, s);
    if (!p.driver.empty()) refuse_same_file(output, p.driver);
  }
  const auto place = [](const std::string& file) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file));
  };
  if (!r.sarif.empty() && !r.trace.empty() && place(r.sarif) == place(r.trace))
    throw bad_request(
        fmt::format("--sarif and --trace both write to {}: expected a file for each", output_name(r.sarif)));
}

std::string text_of(const plain_fix& f, int schedules) {
  const std::string tried = fmt::format("{} change{} tried{}", f.tried, f.tried == 1 ? "" : "s",
                                        f.all_tried ? "" : ", then time ran out");
  if (f.tried == 0 && f.all_tried)
    return fmt::format("fix of {}: no added barrier, wait or fence helps against such a finding\n", f.group);
  if (f.change.empty())
    return fmt::format("fix of {}: no single barrier, wait, fence or count was found ({})\n", f.group, tried);
  return fmt::format("fix of {}: {}: none of its findings remain in {} schedules ({})\n{}", f.group, f.change,
                     schedules, tried, f.diff);
}
std::string text_of(const plain_needless& n, int schedules) {
  std::string out;
  for (const auto& o : n.needless)
    out += fmt::format("{}:{}: needless: {} (without it alone nothing is found in {} schedules)\n",
                       o.place.file, o.place.line, o.statement, schedules);
  if (n.tried == 0)
    return out +
           "no barrier, wait or fence stands in these sources: those of headers, such as ring.cuh, are not "
           "tried\n";
  return out + fmt::format("{} of {} barriers, waits and fences can go, each alone{}{}\n", n.needless.size(),
                           n.tried, n.not_run > 0 ? fmt::format("; {} were never run", n.not_run) : "",
                           n.all_tried ? "" : "; then time ran out");
}

// The command for a replay, without the schedule, which is appended.
std::string command_of(const check_request& r, const plain_program& p) {
  std::string command = "antiphase check";
  for (const std::string& s : p.sources) command += " " + quoted_for_shell(s);
  for (const std::string& o : p.compiler_options) command += " " + quoted_for_shell(o);
  if (!p.driver.empty())
    command += (r.launch.empty() ? " --kernels " : " --launch ") + quoted_for_shell(p.driver);
  if (r.nvcc) command += " --nvcc" + (p.nvcc == "sm_90a" ? "" : " --arch " + p.nvcc);
  if (!r.blocks.empty()) command += " --blocks " + r.blocks;
  return command;
}

}  // namespace

void run_check_plain(const check_request& r) {
  const plain_program program = program_of(r);
  require_outputs_of_their_own(r, program);
  refuse_mixed_results(r.common, r.sarif);
  refuse_mixed_results(r.common, r.trace);
  finding_trace trace(r);
  finding_filters filters(r);
  check_options options;
  options.draw = trace.wanted();
  for (const auto& [name, value] : r.settings) set_option(options, name, value);
  options.process_seconds = r.run_seconds();
  options.output = r.common.quiet || r.common.json ? program_output::none : program_output::first_run;
  const std::string command = command_of(r, program), name = program.sources.front();
  std::string behind;
  for (const std::string& a : program.arguments) behind += " " + quoted_for_shell(a);
  if (!behind.empty()) behind = " --" + behind;

  const auto entry_of = [&](const check_report& report, double seconds) {
    json entry{{"program", name}, {"seconds", seconds}, {"refused", json::array()}};
    entry.update(json::parse(to_json(report, command, behind)));
    entry.erase("schema");
    return json::array({entry});
  };
  const json document{{"schema", 1}, {"command", "check"}, {"commit", built_from()}};
  const int planned = options.exhaustive > 0 ? 0 : options.schedules;
  unfinished_results so_far(r.common, document, "programs", static_cast<std::size_t>(std::max(planned, 1)),
                            "runs");
  so_far.remark(", before the program had launched a kernel");
  so_far.show(
      0, [] { return json::array(); }, [] { return std::string(); });
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const bool watched = who_watches(r.common) == audience::person;
  for (const std::string& s : r.said) say(r.common, s);
  if (watched) complain("compiling " + name);
  double told = 0;
  options.progress = [&](const check_report& report) {
    so_far.remark("");
    so_far.show(
        static_cast<std::size_t>(report.runs - report.unfinished),
        [&] { return entry_of(report, seconds()); }, [&] { return to_text(report, command, behind); });
    if (!watched || seconds() - told < 2) return;
    told = seconds();
    complain(fmt::format("{} of {} schedules, {} so far", report.runs, planned, summary(report)));
  };
  const bool is_python = std::any_of(program.sources.begin(), program.sources.end(),
                                     [](const std::string& s) { return s.ends_with(".py"); });
  std::string told_of_extensions;
  check_report report;
  json fixes = json::array(), needless = json::array();
  const auto write_for_programs = [&] {
    if (!r.sarif.empty()) {
      output_file file(r.sarif);
      file.write(to_sarif(report, name, command, behind));
      file.commit();
    }
    if (!r.common.json) return;
    json result = document;
    result["programs"] = entry_of(report, seconds());
    if (r.fix) result["programs"][0]["fixes"] = fixes;
    if (r.needless) result["programs"][0]["needless"] = needless;
    print_json(result);
  };
  try {
    report =
        is_python ? check_python(r, program, options, told_of_extensions) : check_plain(program, options);
  } catch (const error& e) {
    so_far.finish();
    report.refused = refusals_of(e, name);
    write_for_programs();
    if (dynamic_cast<const bad_source*>(&e) != nullptr) throw bad_input(e.what());
    throw;
  }
  if (const char* const language = std::getenv("ANTIPHASE_CHECK_LANGUAGE"))  // for capture()
    say_in(language, report);
  so_far.finish();
  for (check_refusal& why : report.refused)
    if (why.place.file.empty()) why.place.file = name;
  filters.apply(report);
  filters.finish(r);
  trace.add(report, command, behind);
  trace.finish(r.common);
  std::string more;
  if (r.fix)
    for (const plain_fix& f : find_fixes(program, options, report, r.other_seconds())) {
      more += text_of(f, options.schedules);
      fixes.push_back({{"group", f.group},
                       {"change", f.change},
                       {"file", f.place.file},
                       {"line", f.place.line},
                       {"diff", f.diff},
                       {"tried", f.tried},
                       {"all_tried", f.all_tried}});
    }
  if (r.needless && report.errors() == 0) {
    const plain_needless n = find_needless(program, options, r.other_seconds());
    more += text_of(n, options.schedules);
    for (const auto& o : n.needless)
      needless.push_back({{"file", o.place.file}, {"line", o.place.line}, {"statement", o.statement}});
  } else if (r.needless) {
    more += "--needless needs a program without findings\n";
  }
  write_for_programs();
  if (r.lines && !r.common.json) {
    print(to_lines(report, name));
  } else if (!r.common.json) {
    const bool unchecked = report.runs == 0 && report.clean() && !report.refused.empty();
    std::string found = unchecked ? "not checked" : summary(report);
    constexpr std::string_view none = "no finding";
    if (const std::string written = filters.written(); !written.empty() && found.starts_with(none))
      found.replace(0, none.size(), written + ", none besides");
    print(fmt::format(
        "{:<32} {:<40} {:.1f} s\n{}", name, found, seconds(),
        (report.clean() && report.notes.empty()) || unchecked ? "" : to_text(report, command, behind)));
    if (!more.empty()) print(more);
    print(told_of_extensions);
    for (const std::string& n : report.notes)
      if (unchecked) print(fmt::format("note: {}\n", n));
  }
  for (const check_refusal& why : report.refused)
    complain((why.place.line > 0 ? fmt::format("{}:{}: ", why.place.file, why.place.line) : "") + why.text);
  if (r.fails(report)) throw verification_failed(fmt::format("the checker has found faults in {}", name));
  if (report.unfinished > 0)
    throw not_supported(fmt::format("{} of {} runs of {} did not finish, so it is not known to be correct",
                                    report.unfinished, report.runs, name));
  if (!report.refused.empty()) throw bad_input(fmt::format("{} was not checked, or not all of it", name));
}

void show_dialect(const check_request& r) {
  if (!r.common.json) return print(wrapped(dialect_text()));
  json groups = json::array();
  for (const dialect_group& g : plain_dialect()) {
    json entries = json::array();
    for (const dialect_entry& e : g.entries)
      entries.push_back({{"supported", e.support == supported::yes      ? "yes"
                                       : e.support == supported::partly ? "partly"
                                                                        : "no"},
                         {"names", e.names},
                         {"about", e.about}});
    groups.push_back({{"name", g.name}, {"entries", entries}});
  }
  print_json({{"schema", 1}, {"command", "check"}, {"dialect", groups}});
}

}  // namespace antiphase::tool
