// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <antiphase/core/error.hpp>
#include <antiphase/plain_cuda.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

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
json to_json(const finding_schedule& s) {
  json lanes = json::array();
  for (const schedule_lane& l : s.lanes) {
    json events = json::array();
    for (const schedule_event& e : l.events)
      events.push_back({static_cast<int>(e.kind), e.action, to_json(e.at), e.times, e.begin, e.end,
                        static_cast<int>(e.mark), e.open});
    lanes.push_back({l.name, events});
  }
  return {s.end, lanes};
}
finding_schedule schedule_of(const json& j) {
  finding_schedule s{.lanes = {}, .end = j.at(0)};
  for (const json& l : j.at(1)) {
    schedule_lane& lane = s.lanes.emplace_back(schedule_lane{.name = l.at(0), .events = {}});
    for (const json& e : l.at(1))
      lane.events.push_back({.kind = static_cast<event_kind>(e.at(0).get<int>()),
                             .action = e.at(1),
                             .at = place_of(e.at(2)),
                             .times = e.at(3),
                             .begin = e.at(4),
                             .end = e.at(5),
                             .mark = static_cast<event_mark>(e.at(6).get<int>()),
                             .open = e.at(7)});
  }
  return s;
}
json to_json(const outcome& o, const schedule_script* script) {
  json j{{"accesses", o.accesses},    {"tracked", o.tracked},     {"kept", o.kept},
         {"findings", json::array()}, {"notes", o.notes},         {"counts", json::array()},
         {"timed", json::array()},    {"timed_out", o.timed_out}, {"unfinished", o.unfinished}};
  for (const timed_kernel& k : o.timed)
    j["timed"].push_back({to_json(k.drawn), k.grid.x, k.grid.y, k.grid.z, k.threads, k.shared_bytes,
                          k.resident, k.slot_bytes, k.by_roles, k.asynchronous, k.bulk, k.of_results,
                          k.step_ticks, k.compute_ticks, k.load_ticks, k.issue_ticks, k.load_bytes,
                          k.in_cache});
  for (const line_count& c : o.counts)
    j["counts"].push_back({c.kernel, to_json(c.at), static_cast<int>(c.memory), static_cast<int>(c.what),
                           c.requests, c.lanes, c.bytes, c.units, c.ideal});
  for (const finding& f : o.findings)
    j["findings"].push_back({static_cast<int>(f.kind), f.kernel, f.memory, to_json(f.access),
                             f.earlier ? to_json(*f.earlier) : json(), f.missing, f.times, to_json(f.drawn),
                             f.in_practice});
  if (o.refused != nullptr) try {
      std::rethrow_exception(o.refused);
    } catch (const bad_request& e) {
      j["bad_request"] = e.what();
    } catch (const bad_source& e) {
      j["bad_source"] = e.what();
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
            .refused = nullptr,
            .unfinished = j.at("unfinished"),
            .timed_out = j.at("timed_out")};
  for (const json& c : j.at("counts"))
    o.counts.push_back({.kernel = c.at(0),
                        .at = place_of(c.at(1)),
                        .memory = static_cast<line_memory>(c.at(2).get<int>()),
                        .what = static_cast<line_action>(c.at(3).get<int>()),
                        .requests = c.at(4),
                        .lanes = c.at(5),
                        .bytes = c.at(6),
                        .units = c.at(7),
                        .ideal = c.at(8)});
  for (const json& k : j.at("timed"))
    o.timed.push_back({.drawn = timeline_of(k.at(0).get<std::string>()),
                       .grid = {k.at(1), k.at(2), k.at(3)},
                       .threads = k.at(4),
                       .shared_bytes = k.at(5),
                       .resident = k.at(6),
                       .slot_bytes = k.at(7),
                       .by_roles = k.at(8),
                       .asynchronous = k.at(9),
                       .bulk = k.at(10),
                       .of_results = k.at(11),
                       .step_ticks = k.at(12),
                       .compute_ticks = k.at(13),
                       .load_ticks = k.at(14),
                       .issue_ticks = k.at(15),
                       .load_bytes = k.at(16),
                       .in_cache = k.at(17)});
  for (const json& f : j.at("findings")) {
    finding& to = o.findings.emplace_back();
    to = {.kind = static_cast<finding_kind>(f.at(0).get<int>()),
          .kernel = f.at(1),
          .memory = f.at(2),
          .access = side_of(f.at(3)),
          .earlier = {},
          .missing = f.at(5),
          .in_practice = f.at(8),
          .times = f.at(6),
          .first = how,
          .drawn = schedule_of(f.at(7))};
    if (!f.at(4).is_null()) to.earlier = side_of(f.at(4));
  }
  if (j.contains("bad_request")) o.refused = std::make_exception_ptr(bad_request(j["bad_request"]));
  if (j.contains("bad_source")) o.refused = std::make_exception_ptr(bad_source(j["bad_source"]));
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

void limit_time(double seconds) {
  itimerval limit{};
  limit.it_value.tv_sec = static_cast<time_t>(seconds);
  limit.it_value.tv_usec =
      static_cast<suseconds_t>((seconds - static_cast<double>(limit.it_value.tv_sec)) * 1e6);
  setitimer(ITIMER_REAL, &limit, nullptr);
}

void write_all(int to, const void* what, std::size_t bytes) {
  for (const auto* at = static_cast<const char*>(what); bytes > 0;) {
    const ssize_t n = write(to, at, bytes);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) at += n, bytes -= static_cast<std::size_t>(n);
  }
}
bool read_all(int from, void* what, std::size_t bytes) {
  for (auto* at = static_cast<char*>(what); bytes > 0;) {
    const ssize_t n = read(from, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}
std::string read_to_end(int from) {
  std::string all;
  char some[65536];
  for (;;) {
    const ssize_t n = read(from, some, sizeof some);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return all;
    all.append(some, static_cast<std::size_t>(n));
  }
}
int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Between processes: how a run ended and its outcome as JSON, or the next request.
struct message {
  int status = 0;
  bool last = false;  // the sender ends
  std::string text;
};
void send(int to, const message& m) {
  const std::uint64_t head[3] = {static_cast<std::uint64_t>(static_cast<unsigned>(m.status)), m.last,
                                 m.text.size()};
  write_all(to, head, sizeof head);
  write_all(to, m.text.data(), m.text.size());
}
bool receive(int from, message& m) {
  std::uint64_t head[3] = {};
  if (!read_all(from, head, sizeof head)) return false;
  m = {static_cast<int>(head[0]), head[1] != 0, std::string(head[2], '\0')};
  return read_all(from, m.text.data(), m.text.size());
}

std::string to_text(const run_request& r) {
  json j{{"seed", r.how.seed},
         {"order", static_cast<int>(r.how.order)},
         {"copies", static_cast<int>(r.how.copies)},
         {"resident", r.how.resident_blocks},
         {"script", r.how.script},
         {"without", r.how.without},
         {"shown", static_cast<int>(r.shown)},
         {"draw", r.draw}};
  if (r.script != nullptr) j["choices"] = cpu_detail::to_text(r.script->choices);
  return j.dump();
}
run_request request_of(const std::string& text) {
  const json j = json::parse(text);
  run_request r{.how = {.seed = j["seed"],
                        .order = static_cast<schedule>(j["order"].get<int>()),
                        .copies = static_cast<landing>(j["copies"].get<int>()),
                        .resident_blocks = j["resident"],
                        .script = j["script"],
                        .without = j["without"]},
                .script = nullptr,
                .shown = static_cast<program_output>(j["shown"].get<int>()),
                .draw = j["draw"]};
  if (j.contains("choices"))
    r.script = std::make_shared<schedule_script>(
        schedule_script{cpu_detail::from_text(j["choices"].get<std::string>()), {}});
  return r;
}

// Files whose position forked processes would share, and threads that a fork would not copy: with either, the
// process must not be forked.
std::size_t open_files() {
  std::error_code ignored;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    files += target.starts_with("/") && !target.starts_with("/dev/") && !target.starts_with("/proc/") ? 1 : 0;
  }
  return files;
}
std::size_t threads() {
  std::error_code ignored;
  const std::filesystem::directory_iterator tasks("/proc/self/task", ignored);
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

constexpr int not_judged = 77;  // exit status: a crash that is not to be judged

pid_t run_process = 0;

void end_unjudged(int) { _exit(not_judged); }

// Sends the answer of this process, from whichever of its threads comes first, and ends it.
std::function<void(const std::string& text)> give_answer;
[[noreturn]] void end_with(const std::string& text) {
  static std::atomic<bool> given{false};
  if (!given.exchange(true) && give_answer) {
    std::fflush(nullptr);
    give_answer(text);
    _exit(0);
  }
  for (;;) pause();
}
std::string refusal(const std::string& why) {
  return to_json({.findings = {}, .notes = {}, .refused = std::make_exception_ptr(not_supported(why))},
                 nullptr)
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

outcome outcome_of_end(int status, const std::string& said, const run_request& asked, double seconds,
                       bool begun) {
  if (!said.empty() && !WIFSIGNALED(status))
    return outcome_of(json::parse(said), asked.script.get(), asked.how);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome o;
  if (signal == SIGALRM) {
    o.unfinished = o.timed_out = true;
    o.notes.push_back(
        fmt::format("a run had not ended after {} seconds and was stopped: it may be slow, or wait for what "
                    "nobody does. Nothing "
                    "is known of it. Smaller input, --blocks or --seconds let it end",
                    seconds));
    return o;
  }
  if (signal == 0 && WEXITSTATUS(status) == not_judged) {
    o.unfinished = true;
    o.notes.emplace_back(
        "the program's host code crashed after a launch of which only some blocks ran: its fault or not, "
        "nobody knows. --blocks all runs "
        "them all");
    return o;
  }
  const char* const by = signal != 0 ? strsignal(signal) : "_exit";
  if (!begun) {
    o.refused = std::make_exception_ptr(
        bad_request(fmt::format("the program's host code ended it ({}) {}", by, before_launches)));
    return o;
  }
  finding f{.kind = finding_kind::wrong_result,
            .kernel = "",
            .memory = {},
            .access = {},
            .earlier = {},
            .missing = {},
            .times = 1,
            .first = asked.how};
  f.access.action = fmt::format("the program's host code ended it ({})", by);
  o.findings.push_back(std::move(f));
  return o;
}

}  // namespace

bool is_run_process() { return getpid() == run_process; }
void refuse_run(const std::string& why) { end_with(refusal(why)); }

void forgive_crashes() {
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) std::signal(s, end_unjudged);
}

void run_processes::be_first(run_request asked, int requests, int answers) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGBUS, SIGPIPE, SIGALRM}) std::signal(s, SIG_DFL);
  silence(asked.shown);
  limit_time(seconds_);
  const std::size_t files = open_files();
  run_process = getpid();
  bool alone = true;  // this process answers itself: it is no child that the fork point made
  const auto serve = [&]() -> run_request {
    *begun_ = true;
    if (open_files() > files || threads() > 1) return asked;
    limit_time(0);
    std::fflush(nullptr);
    for (bool first = true;; first = false) {
      int ends[2] = {};
      if (pipe2(ends, O_CLOEXEC) != 0) return asked;
      const pid_t child = fork();
      if (child < 0) return asked;
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alone = false;
        run_process = getpid();
        close(requests);
        close(answers);
        answers = ends[1];
        if (!first) silence(asked.shown);
        limit_time(seconds_);
        return asked;
      }
      close(ends[1]);
      message answer;
      answer.text = read_to_end(ends[0]);
      close(ends[0]);
      answer.status = status_of(child);
      send(answers, answer);
      message next;
      if (!receive(requests, next)) _exit(0);
      asked = request_of(next.text);
    }
  };
  give_answer = [&](const std::string& text) {
    if (alone)
      send(answers, {.status = 0, .last = true, .text = text});
    else
      write_all(answers, text.data(), text.size());
  };
  try {
    const outcome o = run_(asked, serve);
    end_with(to_json(o, asked.script.get()).dump(-1, ' ', false, json::error_handler_t::replace));
  } catch (const std::exception& e) {
    end_with(refusal(e.what()));
  }
}

void run_processes::start(const run_request& asked) {
  static std::mutex one_at_a_time;  // no other process may inherit the write ends
  const std::lock_guard lock(one_at_a_time);
  if (begun_ == nullptr) {
    void* const page =
        mmap(nullptr, sizeof *begun_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
      throw device_error(fmt::format("a run needs memory to share: {}", std::strerror(errno)));
    begun_ = static_cast<bool*>(page);
  }
  int to[2] = {}, from[2] = {};
  std::fflush(nullptr);
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
    throw device_error(fmt::format("a run needs a pipe: {}", std::strerror(errno)));
  *begun_ = false;
  first_ = fork();
  if (first_ == 0) {
    close(to[1]);
    close(from[0]);
    be_first(asked, to[0], from[1]);
  }
  const int failed = errno;
  close(to[0]);
  close(from[1]);
  requests_ = to[1];
  answers_ = from[0];
  if (first_ < 0) {
    end();
    throw device_error(fmt::format("a run needs a process of its own: {}", std::strerror(failed)));
  }
}

int run_processes::end() {
  for (int* pipe_end : {&requests_, &answers_})
    if (const int open = std::exchange(*pipe_end, -1); open >= 0) close(open);
  const pid_t first = std::exchange(first_, -1);
  return first > 0 ? status_of(first) : 0;
}

run_processes::~run_processes() {
  end();
  if (begun_ != nullptr) munmap(begun_, sizeof *begun_);
}

outcome run_processes::run(const run_request& asked) {
  if (first_ > 0)
    send(requests_, {.status = 0, .last = false, .text = to_text(asked)});
  else
    start(asked);
  message answer;
  if (!receive(answers_, answer)) return outcome_of_end(end(), "", asked, seconds_, *begun_);
  if (answer.last) end();
  return outcome_of_end(answer.status, answer.text, asked, seconds_, *begun_);
}

}  // namespace antiphase::checker_detail
