// SPDX-License-Identifier: Apache-2.0
#include "checker/runs/process/process_family.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace antiphase::checker_detail {
namespace {

constexpr int look_again = 20;  // milliseconds between two looks whether a child has ended

struct message_head {
  std::uint64_t bytes = 0;
  std::int32_t status = 0;
  message_kind kind{};
  bool last = false, stopped = false, left_others = false;
};

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
message message_of(const message_head& head) {
  return {.kind = head.kind,
          .last = head.last,
          .end = {.status = head.status, .stopped = head.stopped, .left_others = head.left_others},
          .text = std::string(head.bytes, '\0')};
}

// Messages of a child as they arrive: it may end in the middle of one.
class inbox {
 public:
  explicit inbox(int from) : from_(from) { fcntl(from, F_SETFL, O_NONBLOCK); }

  void wait(int milliseconds) const {
    pollfd until{.fd = from_, .events = POLLIN, .revents = 0};
    poll(closed_ ? nullptr : &until, closed_ ? 0 : 1, milliseconds);
  }
  void fill() {
    char some[65536];
    for (;;) {
      const ssize_t n = read(from_, some, sizeof some);
      if (n < 0 && errno == EINTR) continue;
      closed_ = closed_ || n == 0;
      if (n <= 0) return;
      all_.append(some, static_cast<std::size_t>(n));
    }
  }
  std::optional<message> next() {
    message_head head;
    if (all_.size() < sizeof head) return {};
    std::memcpy(&head, all_.data(), sizeof head);
    if (all_.size() - sizeof head < head.bytes) return {};
    message m = message_of(head);
    m.text = all_.substr(sizeof head, head.bytes);
    all_.erase(0, sizeof head + head.bytes);
    return m;
  }

 private:
  int from_;
  bool closed_ = false;
  std::string all_;
};

std::vector<pid_t> children(const std::string& of_task = "/proc/thread-self") {
  std::ifstream in(of_task + "/children");
  std::vector<pid_t> all;
  for (pid_t child = 0; in >> child;) all.push_back(child);
  return all;
}

// What a process does, and its children: whether a thread runs or would run if there were a processor, and
// the seconds that they have had of processors.
struct activity {
  bool runs = false;
  double on_processors = 0;
};
void add_activity(pid_t process, activity& to) {
  clockid_t clock = 0;
  timespec used{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return;
  to.on_processors += static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  // A process may end at any time: no read of its files may throw.
  std::error_code ended;
  std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", process), ended);
  for (; !ended && tasks != std::filesystem::directory_iterator(); tasks.increment(ended)) {
    const std::filesystem::path& task = tasks->path();
    std::ifstream in(task / "stat");
    std::string line;
    std::getline(in, line, '\0');
    const std::size_t name_ends = line.rfind(") ");  // it may have brackets itself
    to.runs |= name_ends != line.npos && line[name_ends + 2] == 'R';
    for (const pid_t child : children(task)) add_activity(child, to);
  }
}

// Takes leave of children that have ended; false: there are no others.
bool reap() {
  for (;;) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended == 0) return true;
    if (ended < 0 && errno != EINTR) return false;
  }
}

}  // namespace

double own_time::seconds() {
  activity now;
  add_activity(of_, now);
  const moment at = std::chrono::steady_clock::now();
  const double passed = std::chrono::duration<double>(at - last_).count(),
               had = std::max(0., now.on_processors - on_processors_);
  counted_ += now.runs ? std::min(passed, had) : passed;
  last_ = at, on_processors_ = now.on_processors;
  return counted_;
}

void send(int to, const message& m) {
  const message_head head{.bytes = m.text.size(),
                          .status = m.end.status,
                          .kind = m.kind,
                          .last = m.last,
                          .stopped = m.end.stopped,
                          .left_others = m.end.left_others};
  std::string all(sizeof head, '\0');
  std::memcpy(all.data(), &head, sizeof head);
  all += m.text;
  write_all(to, all.data(), all.size());
}

bool receive(int from, message& m) {
  message_head head;
  if (!read_all(from, &head, sizeof head)) return false;
  m = message_of(head);
  return read_all(from, m.text.data(), m.text.size());
}

bool make_pipe(int (&ends)[2]) {
  int made[2] = {};
  if (pipe2(made, O_CLOEXEC) != 0) return false;
  for (int i = 0; i < 2; ++i) {
    ends[i] = made[i] > STDERR_FILENO ? made[i] : fcntl(made[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (ends[i] != made[i]) close(made[i]);
  }
  return ends[0] >= 0 && ends[1] >= 0;
}

bool end_descendants() {
  constexpr int patience = 10;  // looks
  for (int i = 0; i < patience; ++i) {
    if (!reap()) return false;
    poll(nullptr, 0, look_again);
  }
  while (reap()) {
    const std::vector<pid_t> all = children();
    if (all.empty()) break;  // a system that does not list them
    for (const pid_t child : all) kill(child, SIGKILL);
    poll(nullptr, 0, 1);
  }
  return true;
}

watched_child watch(pid_t child, int from, int to, double seconds, const std::function<void()>& stop) {
  own_time time(child);
  inbox in(from);
  watched_child seen;
  bool answered = false, ended = false;
  const auto listen = [&] {
    in.fill();
    while (const auto m = in.next())
      if (m->kind == message_kind::answer)
        seen.answer = m->text, answered = true;
      else
        send(to, *m);
  };
  while (!answered && !ended) {
    if (time.seconds() > seconds) {
      seen.end.stopped = true;
      stop();
      break;
    }
    in.wait(look_again);
    ended = waitpid(child, &seen.end.status, WNOHANG) == child;
    listen();
  }
  while (!ended && waitpid(child, &seen.end.status, 0) < 0 && errno == EINTR) {
  }
  listen();
  if (answered) seen.end.stopped = false;
  return seen;
}

}  // namespace antiphase::checker_detail
