// SPDX-License-Identifier: Apache-2.0
// Reports for editors and code hosts: lines as compilers print them, and SARIF 2.1.0.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/checker.hpp>
#include <antiphase/version.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

namespace antiphase {
namespace {

using nlohmann::json;

// Reasons why a program was not checked.
constexpr struct {
  const char *why, *about;
} refusals[] = {
    {"does not compile", "The program does not compile, so it has not been checked."},
    {"not supported",
     "The program uses a feature that antiphase check does not model, so it has not been checked."},
    {"not run",
     "The program ended before it launched a kernel, or could not be run, so it has not been checked."}};

std::string id(std::string s) {
  for (char& c : s) c = c == ' ' ? '-' : c;
  return s;
}

std::string who(const finding_side& side) {
  std::string s = side.action;
  if (side.thread >= 0)
    s += fmt::format(" by block ({}, {}, {}), thread {}", side.block.x, side.block.y, side.block.z,
                     side.thread);
  return side.moment.empty() ? s : s + ", " + side.moment;
}
std::string title(const finding& f) {
  return fmt::format("{}{}{}{}{}: {}", name(f.kind), f.kernel.empty() ? "" : ": kernel ", f.kernel,
                     f.memory.empty() ? "" : ", ", f.memory, who(f.access));
}
// Editors show nothing without a place: a finding that has none gets the source's first line.
code_place place_of(const finding_side& side, const std::string& source) {
  return side.place.file.empty() ? code_place{source, 1} : side.place;
}

std::string uri_of(const std::string& path) {
  std::string out = path.starts_with("/") ? "file://" : "";
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("-._~/+@").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}
json location(const code_place& p, const std::string& text = {}) {
  json artifact{{"uri", uri_of(p.file)}};
  if (!p.file.starts_with("/")) artifact["uriBaseId"] = "SRCROOT";
  json l{{"physicalLocation",
          {{"artifactLocation", artifact}, {"region", {{"startLine", std::max(p.line, 1)}}}}}};
  if (!text.empty()) l["message"] = {{"text", text}};
  return l;
}

// SARIF code flow: the earlier side, then the calls that led to the later one, outermost first, then the
// later one.
json flow_of(const finding& f, const std::string& source) {
  json steps = json::array();
  const auto add = [&](const code_place& p, const std::string& text) {
    steps.push_back({{"location", location(p, text)}});
  };
  if (f.earlier && !f.earlier->place.file.empty()) add(f.earlier->place, "earlier: " + who(*f.earlier));
  for (auto p = f.access.callers.rbegin(); p != f.access.callers.rend(); ++p) add(*p, "calls");
  add(place_of(f.access, source), "now: " + who(f.access));
  return json::array({{{"threadFlows", json::array({{{"locations", steps}}})}}});
}

std::string fingerprint(const std::string& all) {
  std::uint64_t h = 14695981039346656037u;
  for (const char c : all) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{:016x}", h);
}

}  // namespace

std::string fingerprint(const finding& f) {
  return fingerprint(id(f.kind) + '|' + f.kernel + '|' + f.access.place.file + '|' + f.access.action + '|' +
                     (f.earlier ? f.earlier->place.file + '|' + f.earlier->action : ""));
}

std::string to_lines(const check_report& report, const std::string& source) {
  std::string out;
  const auto line = [&](const code_place& p, const char* kind, const std::string& text) {
    out += fmt::format("{}:{}:1: {}: {}\n", p.file, p.line, kind, text);
  };
  int group = 0;
  for (const finding& f : report.findings) {
    const code_place at = place_of(f.access, source);
    if (f.group != 0 && f.group == std::exchange(group, f.group)) {
      line(at, "note", "also seen as " + title(f) + " [" + id(f.kind) + "]");
      continue;
    }
    const bool pedantic = f.severity() == finding_severity::pedantic;
    line(at, pedantic ? "warning" : "error", title(f) + " [" + id(f.kind) + "]");
    if (f.earlier && !f.earlier->place.file.empty())
      line(f.earlier->place, "note", "earlier: " + who(*f.earlier));
    if (!f.missing.empty()) line(at, "note", "missing: " + missing_text(f));
    if (pedantic) line(at, "note", "on GPUs: " + to_text(f.in_practice));
  }
  for (const std::string& n : report.notes) line({source, 1}, "note", n);
  return out;
}

std::string to_sarif(const check_report& report, const std::string& source, const std::string& command,
                     const std::string& arguments) {
  json rules = json::array(), results = json::array(), notes = json::array();
  const auto add_rule = [&](const std::string& rule, const char* name, const char* about) {
    rules.push_back({{"id", rule},
                     {"name", name},
                     {"shortDescription", {{"text", name}}},
                     {"fullDescription", {{"text", about}}},
                     {"help", {{"text", about}}},
                     {"defaultConfiguration", {{"level", "error"}}}});
  };
  for (const finding_kind_row& k : finding_kinds) {
    add_rule(id(k.kind), k.name, k.about);
    rules.back()["properties"] = {{"tags", json::array({"correctness", "cuda", "concurrency"})}};
  }
  const auto first_refusal = static_cast<int>(rules.size());
  for (const auto& [why, about] : refusals) add_rule(id(why), why, about);
  for (const check_refusal& r : report.refused) {
    int which = 0;
    while (which + 1 < static_cast<int>(std::size(refusals)) && r.why != refusals[which].why) ++which;
    json at = location(r.place);
    if (r.column > 0) at["physicalLocation"]["region"]["startColumn"] = r.column;
    results.push_back({{"ruleId", id(r.why)},
                       {"ruleIndex", first_refusal + which},
                       {"level", "error"},
                       {"message", {{"text", r.text}}},
                       {"locations", json::array({at})},
                       {"partialFingerprints",
                        {{"antiphaseFinding/v1", fingerprint(r.why + '|' + r.place.file + '|' + r.text)}}}});
  }
  // One cause is one result, as code hosts show an alert for each.
  for (auto f = report.findings.begin(); f != report.findings.end();) {
    const auto next = std::find_if(std::next(f), report.findings.end(), [&](const finding& other) {
      return f->group == 0 || other.group != f->group;
    });
    const bool is_error =
        std::any_of(f, next, [](const finding& one) { return one.severity() == finding_severity::error; });
    std::string text = title(*f) + ".";
    if (f->earlier) text += " Earlier: " + who(*f->earlier) + ".";
    if (!f->missing.empty()) text += " Missing: " + missing_text(*f) + ".";
    if (!f->in_practice.empty()) text += " On GPUs: " + to_text(f->in_practice) + ".";
    json result{{"ruleId", id(f->kind)},
                {"ruleIndex", static_cast<int>(f->kind)},
                {"level", is_error ? "error" : "note"},
                {"message", {{"text", text}}},
                {"locations", json::array({location(place_of(f->access, source))})},
                {"codeFlows", flow_of(*f, source)},
                {"partialFingerprints", {{"antiphaseFinding/v1", fingerprint(*f)}}},
                {"occurrenceCount", f->times}};
    json related = json::array();
    const auto relate = [&](const code_place& at, const std::string& said) {
      related.push_back(location(at, said));
      related.back()["id"] = related.size();
    };
    if (f->earlier && !f->earlier->place.file.empty())
      relate(f->earlier->place, "earlier: " + who(*f->earlier));
    for (auto other = std::next(f); other != next; ++other)
      relate(place_of(other->access, source), "also seen as " + title(*other));
    if (!related.empty()) result["relatedLocations"] = related;
    result["properties"] = {
        {"missing", {{"order", name(f->missing.order())}, {"scope", name(f->missing.scope())}}}};
    if (!command.empty()) result["properties"]["replay"] = replay_command(*f, command, arguments);
    results.push_back(std::move(result));
    f = next;
  }
  const auto notify = [&](const char* level, const std::string& text) {
    notes.push_back({{"level", level}, {"message", {{"text", text}}}});
  };
  if (report.unfinished > 0)
    notify("error", fmt::format("{} of {} runs did not finish, so the program is not known to be correct",
                                report.unfinished, report.runs));
  for (const std::string& n : report.notes) notify("note", n);
  const std::string here = uri_of(std::filesystem::current_path().string()) + "/";
  const json run{
      {"tool",
       {{"driver", {{"name", "antiphase check"}, {"version", build_info().version}, {"rules", rules}}}}},
      {"originalUriBaseIds", {{"SRCROOT", {{"uri", here}}}}},
      {"columnKind", "utf16CodeUnits"},
      {"invocations", json::array({{{"executionSuccessful", report.refused.empty() && report.unfinished == 0},
                                    {"toolExecutionNotifications", notes}}})},
      {"results", results}};
  return json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
              {"version", "2.1.0"},
              {"runs", json::array({run})}}
             .dump(2, ' ', false, json::error_handler_t::replace) +
         "\n";
}

}  // namespace antiphase
