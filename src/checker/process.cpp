// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <antiphase/core/error.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>

namespace antiphase::checker_detail {
namespace {

using nlohmann::json;

json to_json(const code_place& p) { return {p.file, p.line}; }
code_place place_of(const json& j) { return {j.at(0), j.at(1)}; }
json to_json(const finding_side& s) {
  json through = json::array(), callers = json::array();
  for (const code_place& p : s.through) through.push_back(to_json(p));
  for (const code_place& p : s.callers) callers.push_back(to_json(p));
  return {s.action, to_json(s.at), through, s.block.x, s.block.y, s.block.z, s.thread, s.when, callers};
}
finding_side side_of(const json& j) {
  finding_side s{.action = j.at(0),
                 .at = place_of(j.at(1)),
                 .through = {},
                 .callers = {},
                 .block = {j.at(3), j.at(4), j.at(5)},
                 .thread = j.at(6),
                 .when = j.at(7)};
  for (const json& p : j.at(2)) s.through.push_back(place_of(p));
  for (const json& p : j.at(8)) s.callers.push_back(place_of(p));
  return s;
}
json to_json(const outcome& o, const schedule_script* script) {
  json j{{"accesses", o.accesses}, {"tracked", o.tracked}, {"kept", o.kept}, {"findings", json::array()}, {"notes", o.notes}};
  for (const finding& f : o.findings)
    j["findings"].push_back(
        {static_cast<int>(f.kind), f.kernel, f.memory, to_json(f.access), f.earlier ? to_json(*f.earlier) : json(), f.missing, f.times});
  if (o.refused != nullptr) try {
      std::rethrow_exception(o.refused);
    } catch (const bad_request& e) {
      j["bad_request"] = e.what();
    } catch (const std::exception& e) {
      j["not_supported"] = e.what();
    }
  if (script != nullptr)
    for (const auto& d : script->taken) j["taken"].push_back({d.candidates, d.chosen});
  return j;
}
outcome outcome_of(const json& j, schedule_script* script, const check_run& how) {
  outcome o{.findings = {},
            .notes = j.at("notes"),
            .accesses = j.at("accesses"),
            .tracked = j.at("tracked"),
            .kept = j.at("kept"),
            .refused = nullptr};
  for (const json& f : j.at("findings")) {
    finding& to = o.findings.emplace_back();
    to = {.kind = static_cast<finding_kind>(f.at(0).get<int>()),
          .kernel = f.at(1),
          .memory = f.at(2),
          .access = side_of(f.at(3)),
          .earlier = {},
          .missing = f.at(5),
          .times = f.at(6),
          .first = how};
    if (!f.at(4).is_null()) to.earlier = side_of(f.at(4));
  }
  if (j.contains("bad_request")) o.refused = std::make_exception_ptr(bad_request(j["bad_request"]));
  if (j.contains("not_supported")) o.refused = std::make_exception_ptr(not_supported(j["not_supported"]));
  if (script != nullptr && j.contains("taken")) {
    script->taken.clear();
    for (const json& d : j["taken"]) script->taken.push_back({d.at(0), d.at(1)});
  }
  return o;
}

void silence(program_output shown) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(shown == program_output::first_run ? STDERR_FILENO : nothing, STDOUT_FILENO);
  if (shown != program_output::first_run) dup2(nothing, STDERR_FILENO);
}

[[noreturn]] void be_child(const std::function<outcome()>& run, const schedule_script* script, program_output shown, double seconds,
                           int to) {
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGBUS, SIGPIPE, SIGALRM}) std::signal(s, SIG_DFL);
  silence(shown);
  itimerval limit{};
  limit.it_value.tv_sec = static_cast<time_t>(seconds);
  limit.it_value.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(limit.it_value.tv_sec)) * 1e6);
  setitimer(ITIMER_REAL, &limit, nullptr);
  std::string said;
  try {
    said = to_json(run(), script).dump(-1, ' ', false, json::error_handler_t::replace);
  } catch (const std::exception& e) {
    said = to_json({.findings = {}, .notes = {}, .refused = std::make_exception_ptr(not_supported(e.what()))}, nullptr).dump();
  }
  std::fflush(nullptr);
  for (std::size_t at = 0; at < said.size();) {
    const ssize_t n = write(to, said.data() + at, said.size() - at);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) at += static_cast<std::size_t>(n);
  }
  _exit(0);
}

std::string read_all(int from) {
  std::string all;
  char some[65536];
  for (;;) {
    const ssize_t n = read(from, some, sizeof some);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return all;
    all.append(some, static_cast<std::size_t>(n));
  }
}

}  // namespace

outcome run_in_child(const std::function<outcome()>& run, schedule_script* script, const check_run& how, program_output shown,
                     double seconds) {
  static std::mutex one_at_a_time;  // no other child may inherit the end that is written to
  int ends[2] = {};
  pid_t child = -1;
  {
    const std::lock_guard lock(one_at_a_time);
    std::fflush(nullptr);
    if (pipe2(ends, O_CLOEXEC) != 0) throw device_error(fmt::format("a run needs a pipe: {}", std::strerror(errno)));
    child = fork();
    if (child == 0) be_child(run, script, shown, seconds, ends[1]);
    close(ends[1]);
  }
  if (child < 0) {
    close(ends[0]);
    throw device_error(fmt::format("a run needs a process of its own: {}", std::strerror(errno)));
  }
  const std::string said = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!said.empty() && !WIFSIGNALED(status)) return outcome_of(json::parse(said), script, how);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome o;
  if (signal == SIGALRM) {
    o.unfinished = true;
    o.notes.push_back(
        fmt::format("a run had not ended after {} seconds and was stopped: it may be slow, or wait for what nobody does. Nothing "
                    "is known of it. Smaller input, --blocks or --seconds let it end",
                    seconds));
    return o;
  }
  finding f{
      .kind = finding_kind::wrong_result, .kernel = "", .memory = {}, .access = {}, .earlier = {}, .missing = {}, .times = 1, .first = how};
  f.access.action = fmt::format("the program's host code ended it ({})", signal != 0 ? strsignal(signal) : "_exit");
  o.findings.push_back(std::move(f));
  return o;
}

}  // namespace antiphase::checker_detail
