// SPDX-License-Identifier: Apache-2.0
#include "checker/runs/process/process.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/plain_cuda.hpp>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "checker/order/place_table.hpp"
#include "checker/order/places.hpp"
#include "checker/runs/model.hpp"
#include "checker/runs/process/process_family.hpp"

namespace antiphase::checker_detail {
namespace {

using nlohmann::json;

// The host may take so many times the limit of a run before the first launch.
constexpr double before_first_launch = 10;

// Lines appear as they are printed, so that they are not lost if the process is stopped.
void silence(program_output shown) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  if (shown != program_output::first_run || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    dup2(nothing, STDOUT_FILENO);
  if (shown != program_output::first_run) dup2(nothing, STDERR_FILENO);
  std::setvbuf(stdout, nullptr, shown == program_output::first_run ? _IOLBF : _IOFBF, BUFSIZ);
}

int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string to_text(const run_request& r) {
  json j{{"seed", r.run.seed},
         {"order", static_cast<int>(r.run.order)},
         {"copies", static_cast<int>(r.run.copies)},
         {"resident", r.run.resident_blocks},
         {"script", r.run.script},
         {"without", r.run.without},
         {"shown", static_cast<int>(r.shown)},
         {"draw", r.draw}};
  if (r.script != nullptr) j["choices"] = cpu_detail::to_text(r.script->choices);
  return j.dump();
}
run_request request_of(const std::string& text) {
  const json j = json::parse(text);
  run_request r{.run = {.seed = j["seed"],
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

// Files whose position forked processes would share, threads that a fork would not copy, and children that
// only their parent can wait for: with any of them, the process must not be forked.
std::size_t open_files() {
  std::error_code ignored;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    files += target.starts_with("/") && !target.starts_with("/dev/") && !target.starts_with("/proc/") ? 1 : 0;
  }
  return files;
}
bool has_children() {
  siginfo_t ignored{};
  return waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}
std::size_t threads() {
  std::error_code ignored;
  const std::filesystem::directory_iterator tasks("/proc/self/task", ignored);
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

constexpr int not_checked = 77;  // exit status: a crash that is not to be checked

void end_unchecked(int) { _exit(not_checked); }

// The process that makes a run, and what it says. Processes that the program forks have copies of all this,
// and say nothing.
struct speaker {
  pid_t process = 0;
  int pipe = -1;
  bool last = false;  // it ends with its answer
  std::atomic<std::uint64_t>* followed = nullptr;
  bool is_this() const { return getpid() == process; }
  void say(message_kind kind, const std::string& text) const {
    if (is_this()) send(pipe, {.kind = kind, .last = last, .end = {}, .text = text});
  }
};
speaker own;

// Sends the answer of this process, from whichever of its threads comes first, and ends it.
[[noreturn]] void end_with(const std::string& text) {
  static std::atomic<bool> given{false};
  if (!given.exchange(true)) {
    std::fflush(nullptr);
    own.say(message_kind::answer, text);
    _exit(own.is_this() ? 0 : 1);
  }
  for (;;) pause();
}
std::string refusal(const std::string& why) {
  return to_text(outcome{.findings = {}, .notes = {}, .refused = std::make_exception_ptr(not_supported(why))},
                 nullptr);
}

// `where`: what the run was doing, or empty.
std::string stopped_note(double seconds, bool begun, bool found, const std::string& where) {
  if (!begun)
    return fmt::format(
        "the program had launched no kernel after {} seconds, {} times --seconds, and was stopped{}: its "
        "host code takes longer or never ends. It is not checked. Smaller input or a larger --seconds lets "
        "it reach a launch",
        before_first_launch * seconds, before_first_launch, where);
  return fmt::format(
      "a run was stopped after {} seconds of its own{}: it may be slow, or wait for an event that never "
      "comes. "
      "{}. "
      "Smaller "
      "input, --blocks or --seconds let it finish",
      seconds, where,
      found ? "Findings up to then are reported, the rest is not checked" : "It is not checked");
}

outcome outcome_of_end(const process_end& end, const std::string& said, std::vector<finding> found,
                       const run_request& asked, double seconds, bool begun, const std::string& where) {
  if (!said.empty()) return outcome_of(said, asked.script.get(), asked.run);
  const int signal = WIFSIGNALED(end.status) ? WTERMSIG(end.status) : 0;
  outcome o;
  o.findings = std::move(found);
  if (end.stopped) {
    o.unfinished = o.timed_out = true;
    o.unlaunched = !begun;
    o.notes.push_back(stopped_note(seconds, begun, !o.findings.empty(), where));
    return o;
  }
  if (signal == 0 && WEXITSTATUS(end.status) == not_checked) {
    o.unfinished = true;
    o.notes.emplace_back(
        "the program's host code crashed after a launch with skipped blocks, which may be the reason. "
        "--blocks all "
        "runs all blocks");
    return o;
  }
  const char* const by = signal != 0 ? strsignal(signal) : "_exit";
  if (!begun && o.findings.empty()) {
    o.refused = std::make_exception_ptr(
        bad_request(fmt::format("the program's host code ended it ({}) {}", by, before_launches)));
    return o;
  }
  finding f;
  f.kind = finding_kind::wrong_result;
  f.times = 1;
  f.first = asked.run;
  f.access.action = fmt::format("the program's host code ended it ({})", by);
  o.findings.push_back(std::move(f));
  return o;
}

}  // namespace

bool is_run_process() { return own.is_this(); }
void refuse_run(const std::string& why) { end_with(refusal(why)); }

void end_if_forked(int code) {
  if (own.process == 0 || own.is_this()) return;
  std::fflush(nullptr);
  _exit(code);
}

void forgive_crashes() {
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) std::signal(s, end_unchecked);
}

// In memory that all processes share.
struct run_processes::progress {
  std::atomic<bool> begun{false};          // the first process has reached the fork point
  std::atomic<bool> alone{false};          // and went on from there itself
  std::atomic<bool> placed{false};         // the place is complete
  std::atomic<std::uint64_t> accesses{0};  // of this run that have been followed
  char kernel[256] = {};                   // that was running when it was stopped; empty: host code
  char place[256] = {};                    // the line of the program then
  process_end end;                         // of the first process

  void begin_run() { accesses = 0, placed = false, kernel[0] = place[0] = '\0'; }
};

// Asks the process of a run for the line that it is at, and ends it; it has a moment to answer.
void run_processes::stop(pid_t run) {
  if (kill(run, SIGXCPU) == 0) {
    const moment limit = after(1);
    while (!shared_->placed && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(run, SIGKILL);
}

void count_followed(std::uint64_t accesses) {
  if (own.followed != nullptr && own.is_this()) *own.followed = accesses;
}

// In the process of a run: handler of the signal that asks for its place, the innermost line of the program,
// whose functions may have called others. Should libdw wait for a lock that the interrupted code holds, the
// process is ended without a place.
void run_processes::write_place(progress& to) {
  if (active != nullptr) {
    to.accesses = active->history.effort.accesses;
    if (active->current() != nullptr)
      std::strncpy(to.kernel, active->findings.kernel.c_str(), sizeof to.kernel - 1);
  }
  std::array<void*, 64> codes{};
  const int count = backtrace(codes.data(), static_cast<int>(codes.size()));
  for (const void* code : std::span(codes).first(static_cast<std::size_t>(std::max(count, 0)))) {
    Dl_info info{};
    if (dladdr(code, &info) == 0 || reinterpret_cast<std::uintptr_t>(info.dli_fbase) != code_base) continue;
    for (const code_place& p : lines_of(code)) {
      if (p.file.empty() || is_machinery(p)) continue;
      fmt::format_to_n(to.place, sizeof to.place - 1, "{}:{}", shown(p.file), p.line);
      to.placed = true;
      return;
    }
  }
  to.placed = true;
}

// Ends with the first process, which it starts, or with this program; nothing that either has started is
// left.
void run_processes::supervise(const run_request& asked, int requests, int answers, pid_t parent) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t first = getppid() == parent ? fork() : -1;
  if (first == 0) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    be_first(asked, requests, answers);
  }
  close(requests);
  close(answers);
  own_time time(first);
  bool counts_run = false;
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  process_end& end = shared_->end;
  for (pid_t ended = first > 0 ? 0 : -1; ended == 0;) {
    const timespec a_moment{.tv_sec = 0, .tv_nsec = 50'000'000};
    if (sigtimedwait(&awaited, nullptr, &a_moment) == SIGTERM) kill(first, SIGKILL);
    ended = waitpid(first, &end.status, WNOHANG);
    if (ended != 0 || end.stopped) continue;
    const bool alone = shared_->alone;
    if (alone && !std::exchange(counts_run, true)) time.restart();
    if (alone || !shared_->begun) end.stopped = time.seconds() > (alone ? 1 : before_first_launch) * seconds_;
    if (end.stopped) stop(first);
  }
  end.left_others = end_descendants();
  _exit(0);
}

void run_processes::be_first(run_request asked, int requests, int answers) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);  // what the program sends to its group is not for this one
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGBUS, SIGPIPE}) std::signal(s, SIG_DFL);
  silence(asked.shown);
  own = {.process = getpid(), .pipe = answers, .last = true, .followed = &shared_->accesses};
  static progress& here = *shared_;
  struct sigaction asked_for_place {};
  asked_for_place.sa_flags = SA_ONSTACK;  // libdw needs more of it than a kernel's thread has
  asked_for_place.sa_handler = [](int) {
    if (!own.is_this()) return;
    write_place(here);
    for (;;) pause();  // a sleep that it has interrupted does not end: the process is killed here
  };
  sigaction(SIGXCPU, &asked_for_place, nullptr);
  const std::size_t files = open_files();
  const auto go_on_alone = [&] {
    shared_->alone = true;
    return asked;
  };
  const auto serve = [&]() -> run_request {
    if (!own.is_this()) return asked;
    shared_->begun = true;
    own.say(message_kind::begun, "");
    if (open_files() > files || threads() > 1 || has_children()) return go_on_alone();
    std::fflush(nullptr);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (bool first = true;; first = false) {
      int ends[2] = {};
      if (!make_pipe(ends)) return go_on_alone();
      shared_->begin_run();
      const pid_t child = fork();
      if (child < 0) return go_on_alone();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_CHILD_SUBREAPER, 0);
        setpgid(0, 0);
        close(requests);
        close(answers);
        close(ends[0]);
        own = {.process = getpid(), .pipe = ends[1], .last = false, .followed = &shared_->accesses};
        if (!first) silence(asked.shown);
        return asked;
      }
      close(ends[1]);
      watched_child seen = watch(child, ends[0], answers, seconds_, [&] { stop(child); });
      close(ends[0]);
      seen.end.left_others = end_descendants();
      send(answers, {.kind = message_kind::answer, .last = false, .end = seen.end, .text = seen.answer});
      message next;
      if (!receive(requests, next)) _exit(0);
      asked = request_of(next.text);
    }
  };
  const auto found = [](const finding& f) { own.say(message_kind::finding, to_text(f)); };
  try {
    const outcome o = run_(asked, serve, found);
    end_with(to_text(o, asked.script.get()));
  } catch (const std::exception& e) {
    end_with(refusal(e.what()));
  }
}

void run_processes::start(const run_request& asked) {
  static std::mutex one_at_a_time;  // no other process may inherit the write ends
  const std::lock_guard lock(one_at_a_time);
  if (shared_ == nullptr) {
    void* const page =
        mmap(nullptr, sizeof *shared_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
      throw device_error(fmt::format("a run needs memory to share: {}", std::strerror(errno)));
    shared_ = static_cast<progress*>(page);
  }
  new (shared_) progress;
  int to[2] = {}, from[2] = {};
  std::fflush(nullptr);
  if (!make_pipe(to) || !make_pipe(from))
    throw device_error(fmt::format("a run needs a pipe: {}", std::strerror(errno)));
  const pid_t parent = getpid();
  supervisor_ = fork();
  if (supervisor_ == 0) {
    close(to[1]);
    close(from[0]);
    supervise(asked, to[0], from[1], parent);
  }
  const int failed = errno;
  close(to[0]);
  close(from[1]);
  requests_ = to[1];
  answers_ = from[0];
  if (supervisor_ < 0) {
    end();
    throw device_error(fmt::format("a run needs a process of its own: {}", std::strerror(failed)));
  }
}

void run_processes::end() {
  for (int* pipe_end : {&requests_, &answers_})
    if (const int open = std::exchange(*pipe_end, -1); open >= 0) close(open);
  if (const pid_t supervisor = std::exchange(supervisor_, -1); supervisor > 0) status_of(supervisor);
}

run_processes::~run_processes() {
  end();
  if (shared_ != nullptr) munmap(shared_, sizeof *shared_);
}

outcome run_processes::run(const run_request& asked, const findings_seen& seen) {
  if (supervisor_ > 0)
    send(requests_, {.kind = message_kind::request, .last = false, .end = {}, .text = to_text(asked)});
  else
    start(asked);
  std::vector<finding> found;
  message answer;
  for (bool answered = false; !answered;) {
    if (!receive(answers_, answer)) {
      end();
      answer = {.kind = message_kind::answer, .last = true, .end = shared_->end, .text = {}};
    }
    answered = answer.kind == message_kind::answer;
    if (answer.kind == message_kind::finding) {
      finding f = finding_of(answer.text, asked.run);
      const auto known = std::ranges::find_if(found, [&](const finding& g) { return is_same(f, g); });
      if (known != found.end())
        *known = std::move(f);  // it is an error after all
      else
        found.push_back(std::move(f));
    }
    if (seen && !answered) seen(found);
  }
  if (answer.last && supervisor_ > 0) {
    end();
    answer.end.left_others = shared_->end.left_others;
  }
  std::string where;
  if (shared_->place[0] != '\0')
    where = fmt::format("{}{} at {}",
                        shared_->kernel[0] != '\0' ? " in kernel "
                        : shared_->begun           ? " in host code"
                                                   : "",
                        shared_->kernel, shared_->place);
  outcome o =
      outcome_of_end(answer.end, answer.text, std::move(found), asked, seconds_, shared_->begun, where);
  if (answer.text.empty()) o.accesses = shared_->accesses;
  if (answer.end.left_others && !o.timed_out)
    o.notes.emplace_back(
        "processes that the program had started were still running when it ended, and were killed");
  return o;
}

}  // namespace antiphase::checker_detail
