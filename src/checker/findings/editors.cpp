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

// A sentence for each kind, for SARIF's rules.
const char* about(finding_kind kind) {
  switch (kind) {
    case finding_kind::race:
      return "Two accesses to the same memory, one of them a write, and nothing orders them.";
    case finding_kind::read_before_landing:
      return "The bytes of an asynchronous copy are read, and nobody has waited for it.";
    case finding_kind::overwritten_in_use:
      return "Memory is written while others may still read it, or a copy may still land in it.";
    case finding_kind::uninitialised: return "Memory is read that nobody has written.";
    case finding_kind::outside_memory:
      return "An access to memory that is not the kernel's, or not allocated.";
    case finding_kind::missing_proxy_fence:
      return "Ordinary writes are handed to a copy engine or a Tensor Core without a proxy fence.";
    case finding_kind::divergent_barrier:
      return "Threads that should meet are at different barriers or warp operations.";
    case finding_kind::deadlock: return "No thread can go on.";
    case finding_kind::never_waited_for:
      return "An asynchronous copy is in flight when its thread or block ends.";
    case finding_kind::barrier_misuse:
      return "A barrier is used before it is initialised, or not as it expects.";
    case finding_kind::bad_copy:
      return "A copy that is misaligned, of a bad size, or does not fit its pointers.";
    case finding_kind::gave_up: return "The kernel trapped, or an assertion in it failed.";
    case finding_kind::misaligned:
      return "An access by a type that wants a larger alignment than the address has.";
    case finding_kind::bad_launch: return "A launch that the device refuses.";
    case finding_kind::leak: return "Device memory that is never given back.";
    case finding_kind::wrong_result: break;
  }
  return "The program's own check of its results failed, or it ended by a fault.";
}

// Reasons why a program was not checked.
constexpr struct {
  const char *why, *about;
} refusals[] = {
    {"does not compile", "The program does not compile, so it has not been checked."},
    {"not supported", "The program uses what antiphase check does not follow, so it has not been checked."},
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
  return side.when.empty() ? s : s + ", " + side.when;
}
std::string what(const finding& f) {
  return fmt::format("{}{}{}{}{}: {}", name(f.kind), f.kernel.empty() ? "" : ": kernel ", f.kernel,
                     f.memory.empty() ? "" : ", ", f.memory, who(f.access));
}
// Editors show nothing without a place: a finding that has none gets the source's first line.
code_place place_of(const finding_side& side, const std::string& source) {
  return side.at.file.empty() ? code_place{source, 1} : side.at;
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
  if (f.earlier && !f.earlier->at.file.empty()) add(f.earlier->at, "earlier: " + who(*f.earlier));
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

std::string id(finding_kind kind) { return id(std::string(name(kind))); }

std::string fingerprint(const finding& f) {
  return fingerprint(id(f.kind) + '|' + f.kernel + '|' + f.access.at.file + '|' + f.access.action + '|' +
                     (f.earlier ? f.earlier->at.file + '|' + f.earlier->action : ""));
}

const char* sanitizer_tool(finding_kind kind) {
  switch (kind) {
    case finding_kind::race:
    case finding_kind::read_before_landing:
    case finding_kind::overwritten_in_use: return "racecheck";
    case finding_kind::uninitialised: return "initcheck";
    case finding_kind::divergent_barrier:
    case finding_kind::barrier_misuse: return "synccheck";
    case finding_kind::outside_memory:
    case finding_kind::misaligned:
    case finding_kind::bad_copy:
    case finding_kind::bad_launch:
    case finding_kind::leak: return "memcheck";
    case finding_kind::missing_proxy_fence:
    case finding_kind::deadlock:
    case finding_kind::never_waited_for:
    case finding_kind::gave_up:
    case finding_kind::wrong_result: break;
  }
  return "";
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
      line(at, "note", "also seen as " + what(f) + " [" + id(f.kind) + "]");
      continue;
    }
    const bool letter = f.severity() == finding_severity::by_the_letter;
    line(at, letter ? "warning" : "error", what(f) + " [" + id(f.kind) + "]");
    if (f.earlier && !f.earlier->at.file.empty()) line(f.earlier->at, "note", "earlier: " + who(*f.earlier));
    if (!f.missing.empty()) line(at, "note", "missing: " + f.missing);
    if (letter) line(at, "note", "by the letter: " + f.in_practice);
  }
  for (const std::string& n : report.notes) line({source, 1}, "note", n);
  return out;
}

std::string to_sarif(const check_report& report, const std::string& source, const std::string& command,
                     const std::string& behind) {
  json rules = json::array(), results = json::array(), notes = json::array();
  for (int k = 0; k <= static_cast<int>(finding_kind::leak); ++k) {
    const auto kind = static_cast<finding_kind>(k);
    rules.push_back({{"id", id(kind)},
                     {"name", name(kind)},
                     {"shortDescription", {{"text", name(kind)}}},
                     {"fullDescription", {{"text", about(kind)}}},
                     {"help", {{"text", about(kind)}}},
                     {"defaultConfiguration", {{"level", "error"}}},
                     {"properties", {{"tags", json::array({"correctness", "cuda", "concurrency"})}}}});
  }
  const auto first_refusal = static_cast<int>(rules.size());
  for (const auto& [why, about] : refusals)
    rules.push_back({{"id", id(why)},
                     {"name", why},
                     {"shortDescription", {{"text", why}}},
                     {"fullDescription", {{"text", about}}},
                     {"help", {{"text", about}}},
                     {"defaultConfiguration", {{"level", "error"}}}});
  for (const check_refusal& r : report.refused) {
    int which = 0;
    while (which + 1 < static_cast<int>(std::size(refusals)) && r.why != refusals[which].why) ++which;
    json at = location(r.at);
    if (r.column > 0) at["physicalLocation"]["region"]["startColumn"] = r.column;
    results.push_back({{"ruleId", id(r.why)},
                       {"ruleIndex", first_refusal + which},
                       {"level", "error"},
                       {"message", {{"text", r.text}}},
                       {"locations", json::array({at})},
                       {"partialFingerprints",
                        {{"antiphaseFinding/v1", fingerprint(r.why + '|' + r.at.file + '|' + r.text)}}}});
  }
  // One cause is one result, as code hosts show an alert for each.
  for (auto f = report.findings.begin(); f != report.findings.end();) {
    const auto next = std::find_if(std::next(f), report.findings.end(), [&](const finding& other) {
      return f->group == 0 || other.group != f->group;
    });
    const bool is_error =
        std::any_of(f, next, [](const finding& of) { return of.severity() == finding_severity::error; });
    std::string text = what(*f) + ".";
    if (f->earlier) text += " Earlier: " + who(*f->earlier) + ".";
    if (!f->missing.empty()) text += " Missing: " + f->missing + ".";
    if (!f->in_practice.empty()) text += " By the letter: " + f->in_practice + ".";
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
    if (f->earlier && !f->earlier->at.file.empty()) relate(f->earlier->at, "earlier: " + who(*f->earlier));
    for (auto of = std::next(f); of != next; ++of)
      relate(place_of(of->access, source), "also seen as " + what(*of));
    if (!related.empty()) result["relatedLocations"] = related;
    if (!command.empty()) result["properties"] = {{"replay", replay_command(*f, command, behind)}};
    results.push_back(std::move(result));
    f = next;
  }
  const auto notify = [&](const char* level, const std::string& text) {
    notes.push_back({{"level", level}, {"message", {{"text", text}}}});
  };
  if (report.unfinished > 0)
    notify("error", fmt::format("{} of {} runs had not ended, so the program is not known to be right",
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
