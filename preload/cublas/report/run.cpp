// SPDX-License-Identifier: Apache-2.0
// Runs a program as a child, and reports what it and its children did not.
#include <antiphase_cublas.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "preload/cublas/report/record.hpp"
#include "preload/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

// The terminal sends SIGINT and SIGQUIT to the program too; the others would keep this process from
// reporting.
constexpr int ignored[] = {SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ};
constexpr int forwarded[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
std::atomic<pid_t> program = 0;
std::atomic<int> early = 0;  // signal that came before the child existed
static_assert(std::atomic<pid_t>::is_always_lock_free);

void forward(int signal) {
  const int before = errno;
  if (const pid_t to = program; to != 0)
    kill(to, signal);
  else
    early = signal;
  errno = before;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

// Returns errno: it failed.
int execute(char* const words[]) {
  if (setenv("ANTIPHASE_STARTED", std::to_string(getpid()).c_str(), 1) != 0) return errno;
  execvp(words[0], words);
  return errno;
}

// A temporary folder for records.
class records {
 public:
  records() {
    constexpr const char* cannot =
        "antiphase: cannot make the folder '%s': %s; "
        "a program that is killed or crashes tells nothing\n";
    const char* const named = std::getenv("TMPDIR");
    std::string path = named == nullptr || *named == '\0' ? "/tmp" : named;
    path += "/antiphase-run-XXXXXX";
    if (mkdtemp(path.data()) != nullptr)
      folder_ = std::filesystem::absolute(path).string();
    else
      std::fprintf(stderr, cannot, path.c_str(), std::strerror(errno));
    setenv("ANTIPHASE_RECORDS", folder_.c_str(), 1);
  }
  records(const records&) = delete;
  records& operator=(const records&) = delete;
  // Retries: a child that is still alive may create a file meanwhile.
  ~records() {
    constexpr int tries = 10;
    std::error_code failed;
    for (int i = 0; i < tries && !folder_.empty() && std::filesystem::exists(folder_, failed); ++i)
      std::filesystem::remove_all(folder_, failed);
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

// Signal state of this process at the start, for the child to inherit.
struct signals {
  sigset_t mask{};
  struct sigaction of_children {};

  signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    sigaction(SIGCHLD, nullptr, &of_children);
    handle(SIGCHLD, SIG_DFL);  // with SIGCHLD ignored, no exit status can be had
  }
  void restore() const {
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction now {};
      if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) handle(signal, SIG_DFL);
    }
    sigaction(SIGCHLD, &of_children, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  }
};

[[noreturn]] void be_program(char* const words[], const signals& before, pid_t parent, int failure) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  before.restore();
  const int error = execute(words);
  [[maybe_unused]] const ssize_t unknown = write(failure, &error, sizeof error);
  _exit(1);
}

// Waits for the child and returns its status. Also reaps orphans, which the first process of a container
// inherits.
int status_of(pid_t child) {
  for (;;) {
    siginfo_t ended{};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) == 0 && ended.si_pid != child)
      waitpid(ended.si_pid, nullptr, 0);
    else if (ended.si_pid == child || errno != EINTR)
      break;
  }
  program = 0;  // the pid may be reused
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

[[noreturn]] void end_with(int status) {
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  prctl(PR_SET_DUMPABLE, 0);
  handle(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  kill(getpid(), signal);
  _exit(128 + signal);  // signals do not kill the first process of a container
}

// Returns errno if the program could not be started; otherwise does not return.
int run_as_child(char* const words[]) {
  mark_told();  // this process may itself be a started one: its program reports
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return errno;
  int status = 0;
  {
    const records kept;
    const signals before;
    const pid_t parent = getpid(), child = fork();
    if (child == 0) be_program(words, before, parent, failure[1]);
    int error = child < 0 ? errno : 0;
    close(failure[1]);
    for (const int signal : ignored) handle(signal, SIG_IGN);
    for (const int signal : forwarded) handle(signal, forward);
    program = child > 0 ? child : 0;
    pthread_sigmask(SIG_SETMASK, &before.mask, nullptr);
    if (const int signal = early; signal != 0 && child > 0) kill(child, signal);
    while (child > 0 && read(failure[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
    close(failure[0]);
    if (child > 0) status = status_of(child);
    if (error != 0) return error;
    if (!kept.folder().empty()) tell_what_is_left(kept.folder(), child);
  }
  end_with(status);
}

}  // namespace
}  // namespace antiphase::cublas

int antiphase_cublas_run(char* const words[]) try {
  using namespace antiphase::cublas;
  std::fflush(stdout);
  return telling_of_environment().is_asked_for() ? run_as_child(words) : execute(words);
} catch (...) {
  return ENOMEM;
}
