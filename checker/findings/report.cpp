// SPDX-License-Identifier: Apache-2.0
// Reports as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/checker.hpp>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

#include "checker/findings/groups.hpp"
#include "checker/order/missing.hpp"

namespace antiphase {

bool checker_detail::numbers_for_sentences = false;

namespace {
const checker_detail::sentence_row& row_of(const explanation& e) {
  return checker_detail::sentences[static_cast<std::size_t>(e.row)];
}
}  // namespace

const std::string* checker_detail::language_of(const explanation& e) {
  std::size_t blanks = 0;
  for (const char* c = row_of(e).text; *c != '\0'; ++c) blanks += c[0] == '{' && c[1] == '}' ? 1 : 0;
  return e.values.size() > blanks ? &e.values.back() : nullptr;
}
missing_order explanation::order() const { return row_of(*this).order; }
order_scope explanation::scope() const { return row_of(*this).scope; }
std::string to_text(const explanation& e) {
  std::string out;
  if (checker_detail::numbers_for_sentences && !e.empty()) {
    out = fmt::format("#{}", static_cast<int>(e.row));
    const std::ptrdiff_t named = checker_detail::language_of(e) != nullptr ? 1 : 0;
    std::for_each(e.values.begin(), e.values.end() - named, [&](const std::string& v) { out += ' ' + v; });
    return out;
  }
  auto value = e.values.begin();
  for (const char* c = row_of(e).text; *c != '\0'; ++c)
    if (c[0] == '{' && c[1] == '}' && value != e.values.end())
      out += *value++, ++c;
    else
      out += *c;
  return out;
}
namespace {
// Names of operations: in sentences, which use those of the library or of CUDA, and in other languages.
// Longer words come first; where a language has none, CUDA's stands.
constexpr std::array languages{"CUDA", "Triton", "Gluon", "Numba", "CuTe DSL", "TileLang"};
struct word_row {
  std::string_view word;
  std::array<const char*, languages.size()> in;
};
constexpr word_row words[] = {
    {"__syncwarp() or __syncthreads()",
     {nullptr, "tl.debug_barrier()", "gl.barrier()", "cuda.syncwarp() or cuda.syncthreads()",
      "cute.arch.sync_warp() or cute.arch.sync_threads()", "T.sync_warp() or T.sync_threads()"}},
    {"__syncthreads()",
     {nullptr, "tl.debug_barrier()", "gl.barrier()", "cuda.syncthreads()", "cute.arch.sync_threads()",
      "T.sync_threads()"}},
    {"__syncwarp()",
     {nullptr, "tl.debug_barrier()", "gl.barrier()", "cuda.syncwarp()", "cute.arch.sync_warp()",
      "T.sync_warp()"}},
    {"atomicAdd()",
     {nullptr, "tl.atomic_add()", "gl.atomic_add()", "cuda.atomic.add()", "cute.arch.atomic_add()",
      "T.atomic_add()"}},
    {"__pipeline_wait_prior or cp.async.wait_group",
     {nullptr, "cp.async.wait_group", "async_copy.wait_group()", "cp.async.wait_group",
      "cute.arch.cp_async_wait_group()", "T.ptx_wait_group()"}},
    {"copy_async_wait",
     {"__pipeline_wait_prior or cp.async.wait_group", "cp.async.wait_group", "async_copy.wait_group()",
      "cp.async.wait_group", "cute.arch.cp_async_wait_group()", "T.ptx_wait_group()"}},
    {"copy_async_arrive",
     {"cp.async.mbarrier.arrive.noinc", nullptr, "async_copy.mbarrier_arrive()", nullptr, nullptr, nullptr}},
    {"bulk_wait_read",
     {"cp.async.bulk.wait_group.read", nullptr, "tma.store_wait()", nullptr,
      "cute.arch.cp_async_bulk_wait_group(read=True)", "T.tma_store_wait()"}},
    {"bulk_wait",
     {"cp.async.bulk.wait_group", nullptr, "tma.store_wait(read_only=False)", nullptr,
      "cute.arch.cp_async_bulk_wait_group()", nullptr}},
    {"bulk_commit",
     {"cp.async.bulk.commit_group", nullptr, nullptr, nullptr, "cute.arch.cp_async_bulk_commit_group()",
      "T.tma_store_arrive()"}},
    {"fence_async_global",
     {"fence.proxy.async", nullptr, nullptr, nullptr, "cute.arch.fence_proxy()", nullptr}},
    {"fence_async",
     {"fence.proxy.async", nullptr, "fence_async_shared()", nullptr, "cute.arch.fence_proxy()",
      "T.fence_proxy_async()"}},
    {"fence_mbarrier_init",
     {"fence.mbarrier_init or a proxy fence", nullptr, nullptr, nullptr, "cute.arch.mbarrier_init_fence()",
      nullptr}},
    {"wait_for_previous_grid",
     {"cudaGridDependencySynchronize() or griddepcontrol.wait", "tl.extra.cuda.gdc_wait()", nullptr, nullptr,
      "cute.arch.griddepcontrol_wait()", "T.pdl_sync()"}}};

// The sentence in the words of a language, without those of CUDA in brackets.
std::string in_words_of(std::size_t language, std::string text) {
  constexpr std::string_view aside = " (in CUDA: ";
  if (const auto at = text.find(aside); at != text.npos) text.erase(at, text.find(')', at) + 1 - at);
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto* const row = std::ranges::find_if(words, [&](const word_row& w) {
      const std::size_t end = at + w.word.size();
      return text.compare(at, w.word.size(), w.word) == 0 && (at == 0 || !in_word(text[at - 1])) &&
             (end == text.size() || !in_word(w.word.back()) || !in_word(text[end]));
    });
    if (row == std::end(words)) {
      out += text[at++];
      continue;
    }
    const char* const word = row->in[language] != nullptr ? row->in[language] : row->in[0];
    out += word != nullptr ? word : row->word;
    at += row->word.size();
  }
  return out;
}

}  // namespace

bool checker_detail::calls_library(const finding& f) {
  const auto is_of_library = [](const code_place& p) { return p.file.starts_with("antiphase/"); };
  const auto calls = [&](const finding_side& side) {
    return is_of_library(side.place) || std::ranges::any_of(side.through, is_of_library);
  };
  return calls(f.access) || (f.earlier && calls(*f.earlier)) || f.access.place.file.empty();
}

std::string missing_text(const finding& f) {
  std::string out = to_text(f.missing);
  for (const explanation& e : f.remarks) out += "; " + to_text(e);
  if (checker_detail::numbers_for_sentences) return out;
  const std::string* const named = checker_detail::language_of(f.missing);
  if (named == nullptr) return out;
  const auto at = std::ranges::find(languages, *named);
  return in_words_of(at == languages.end() ? 0 : static_cast<std::size_t>(at - languages.begin()), out);
}

const char* name(finding_severity severity) {
  return severity == finding_severity::error ? "error" : "pedantic";
}

std::size_t check_report::errors() const {
  return static_cast<std::size_t>(std::ranges::count(findings, finding_severity::error, &finding::severity));
}

std::size_t check_report::causes() const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < findings.size(); ++i)
    n += findings[i].group == 0 || i == 0 || findings[i - 1].group != findings[i].group ? 1 : 0;
  return n;
}

const char* name(line_memory memory) {
  constexpr const char* names[] = {"shared", "global", "constant"};
  return names[static_cast<std::size_t>(memory)];
}
const char* name(line_action what) {
  constexpr const char* names[] = {"read", "write", "atomic", "async copy", "bulk copy"};
  return names[static_cast<std::size_t>(what)];
}
const char* name(schedule order) {
  constexpr const char* names[] = {"random", "forward", "reversed", "starved", "priority", "script"};
  return names[static_cast<int>(order)];
}

const char* name(landing copies) {
  constexpr const char* names[] = {"early", "late", "mixed"};
  return names[static_cast<int>(copies)];
}

const char* name(ring_wait wait) {
  constexpr const char* names[] = {"none", "data", "slot", "barrier"};
  return names[static_cast<int>(wait)];
}

std::string to_text(const check_run& run) {
  std::string text = fmt::format("--seed {} --order {} --landing {} --resident {}", run.seed, name(run.order),
                                 name(run.copies), run.resident_blocks);
  if (!run.script.empty()) text += fmt::format(" --script '{}'", run.script);
  if (run.without != ring_wait::none) text += fmt::format(" --without {}", name(run.without));
  return text;
}

namespace {

std::string text(const code_place& p) { return p.line == 0 ? p.file : fmt::format("{}:{}", p.file, p.line); }
std::string text(extent3 b) {
  return b.y == 0 && b.z == 0 ? fmt::format("{}", b.x) : fmt::format("({}, {}, {})", b.x, b.y, b.z);
}

// "<action> by block <b>, thread <t>, <when>"
std::string action_text(const finding_side& side) {
  std::string out = side.action;
  if (side.thread >= 0) out += fmt::format(" by block {}, thread {}", text(side.block), side.thread);
  if (!side.moment.empty()) out += ", " + side.moment;
  return out;
}

void append(std::string& out, const char* label, const finding_side& side) {
  out += fmt::format("  {:<8} {}\n", label, action_text(side));
  if (!side.place.file.empty()) {
    out += fmt::format("           at {}", text(side.place));
    for (const code_place& p : side.through)
      out += fmt::format("{} {}", &p == side.through.data() ? ", in" : " <", text(p));
    out += '\n';
    for (const code_place& p : side.callers)
      out += fmt::format("{}{}", &p == side.callers.data() ? "           called from " : " < ", text(p));
    if (!side.callers.empty()) out += '\n';
  }
}

// The first of its group, or without one.
bool leads(const check_report& report, const finding& f) {
  return f.group == 0 || &f == report.findings.data() || (&f)[-1].group != f.group;
}
// "race at a.cu:12, earlier at a.cu:20"; without a place what happened
std::string in_short(const finding& f) {
  if (f.access.place.file.empty()) return fmt::format("{}: {}", name(f.kind), f.access.action);
  return fmt::format(
      "{} at {}{}", name(f.kind), text(f.access.place),
      f.earlier && !f.earlier->place.file.empty() ? ", earlier at " + text(f.earlier->place) : "");
}

nlohmann::json json(const code_place& p) { return {{"file", p.file}, {"line", p.line}}; }
nlohmann::json json(const finding_side& side) {
  nlohmann::json through = nlohmann::json::array();
  for (const code_place& p : side.through) through.push_back(json(p));
  nlohmann::json callers = nlohmann::json::array();
  for (const code_place& p : side.callers) callers.push_back(json(p));
  return {{"action", side.action},
          {"at", json(side.place)},
          {"through", through},
          {"callers", callers},
          {"block",
           side.thread < 0 ? nlohmann::json() : nlohmann::json{side.block.x, side.block.y, side.block.z}},
          {"thread", side.thread},
          {"when", side.moment}};
}

nlohmann::json json_of_missing(const finding& f) {
  return {{"order", name(f.missing.order())}, {"scope", name(f.missing.scope())}, {"text", missing_text(f)}};
}

}  // namespace

std::string to_text(const finding_side& side) {
  return side.place.file.empty() ? action_text(side)
                                 : fmt::format("{}, at {}", action_text(side), text(side.place));
}

std::string replay_command(const finding& f, const std::string& command, const std::string& arguments) {
  return fmt::format("{} {} --schedules 1{}", command, to_text(f.first), arguments);
}

std::string summary(const check_report& report) {
  const std::size_t n = report.causes();
  const auto pedantic =
      static_cast<std::size_t>(std::ranges::count_if(report.findings, [&](const finding& f) {
        return leads(report, f) && f.severity() == finding_severity::pedantic;
      }));
  std::string more;
  if (pedantic > 0 && pedantic < n) more += fmt::format(", {} of them pedantic", pedantic);
  if (report.findings.size() != n) more += fmt::format(", seen in {} ways", report.findings.size());
  return fmt::format("{} {}finding{}{}{} in {} schedule{}{}{}", n == 0 ? "no" : fmt::format("{}", n),
                     pedantic > 0 && pedantic == n ? "pedantic " : "", n <= 1 ? "" : "s", more,
                     more.empty() ? "" : ",", report.runs, report.runs == 1 ? "" : "s",
                     report.complete ? ", all there are" : "",
                     report.unfinished > 0 ? fmt::format(", {} of them not ended", report.unfinished) : "");
}

std::string to_text(const check_report& report, const std::string& command, const std::string& arguments) {
  std::string out;
  int number = 0;
  for (const finding& f : report.findings) {
    if (!leads(report, f)) {
      out += fmt::format("  also seen as {}\n", in_short(f));
      continue;
    }
    const bool pedantic = f.severity() == finding_severity::pedantic;
    out += fmt::format("{}. {}{}{}{}{}{}\n", ++number, pedantic ? "pedantic: " : "", name(f.kind),
                       f.kernel.empty() ? "" : ": kernel ", f.kernel, f.memory.empty() ? "" : ", ", f.memory);
    append(out, "now", f.access);
    if (f.earlier) append(out, "earlier", *f.earlier);
    if (!f.missing.empty()) out += fmt::format("  {:<8} {}\n", "missing", missing_text(f));
    if (pedantic) out += fmt::format("  {:<8} {}\n", "on GPUs", to_text(f.in_practice));
    out += fmt::format("  {:<8} {} time{}, first with {}\n", "seen", f.times, f.times == 1 ? "" : "s",
                       to_text(f.first));
    if (!command.empty()) out += fmt::format("  {:<8} {}\n", "replay", replay_command(f, command, arguments));
  }
  for (const std::string& n : report.notes) out += fmt::format("note: {}\n", n);
  return out + fmt::format("{}, {} accesses followed\n", summary(report), report.accesses);
}

std::string to_json(const check_report& report, const std::string& command, const std::string& arguments) {
  nlohmann::json findings = nlohmann::json::array();
  for (const finding& f : report.findings) {
    nlohmann::json j{{"kind", name(f.kind)},
                     {"severity", name(f.severity())},
                     {"in_practice", to_text(f.in_practice)},
                     {"kernel", f.kernel},
                     {"memory", f.memory},
                     {"access", json(f.access)},
                     {"missing", json_of_missing(f)},
                     {"times", f.times},
                     {"group", f.group},
                     {"run",
                      {{"seed", f.first.seed},
                       {"order", name(f.first.order)},
                       {"landing", name(f.first.copies)},
                       {"resident", f.first.resident_blocks},
                       {"script", f.first.script},
                       {"without", name(f.first.without)}}}};
    j["earlier"] = f.earlier ? json(*f.earlier) : nlohmann::json();
    if (!command.empty()) j["replay"] = replay_command(f, command, arguments);
    findings.push_back(std::move(j));
  }
  nlohmann::json refused = nlohmann::json::array();
  for (const check_refusal& r : report.refused)
    refused.push_back({{"why", r.why},
                       {"file", r.place.file},
                       {"line", r.place.line},
                       {"column", r.column},
                       {"text", r.text}});
  nlohmann::json all{{"schema", 1},
                     {"schedules", report.runs},
                     {"unfinished", report.unfinished},
                     {"complete", report.complete},
                     {"accesses", report.accesses},
                     {"tracked_bytes", report.tracked_bytes},
                     {"checker_bytes", report.checker_bytes},
                     {"notes", report.notes},
                     {"findings", findings}};
  if (!refused.empty()) all["refused"] = refused;
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace antiphase
