// SPDX-License-Identifier: Apache-2.0
// Temporary folders, files and commands in them; a watcher removes what an interrupted process leaves.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "checker/plain/translate/compile/compile.hpp"
#include "checker/plain/translate/compile/compile_steps.hpp"
#include "checker/plain/translate/prepared.hpp"
#include "checker/runs/process/process_family.hpp"

extern char** environ;

namespace antiphase::plain {
namespace fs = std::filesystem;

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return std::move(all).str();
}

namespace {

// Pipes to those who watch over folders, by folder.
std::map<fs::path, int>& watchers() {
  static std::map<fs::path, int> all;
  return all;
}
std::mutex watchers_mutex;

// A group of processes that works in the folder begins, or, if negative, has ended.
void tell_watcher(const fs::path& folder, pid_t group) {
  const std::lock_guard lock(watchers_mutex);
  const auto to = watchers().find(folder);
  if (to != watchers().end() && write(to->second, &group, sizeof group) != sizeof group) watchers().erase(to);
}

}  // namespace

void fail_to_write(const fs::path& file, const std::string& why) {
  throw device_error(
      fmt::format("{} cannot be written: {}. The compiled program goes to a folder of {}, and TMPDIR "
                  "names another place",
                  file.string(), why, temporary_place().string()));
}

fs::path temporary_place() {
  std::error_code failed;
  fs::path place = fs::temp_directory_path(failed);
  const char* const named = std::getenv("TMPDIR");
  if (failed)
    throw device_error(fmt::format("there is no folder {}: expected one, for compiled programs, in TMPDIR",
                                   named != nullptr ? named : "/tmp"));
  return place;
}

void write_file(const fs::path& file, std::string_view text) {
  std::ofstream out(file, std::ios::binary);
  errno = 0;
  if (!out.write(text.data(), static_cast<std::streamsize>(text.size())).flush())
    fail_to_write(file, std::strerror(errno != 0 ? errno : EIO));
}

int run_command(const words& command, const fs::path& said) {
  const int to = open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (to < 0) fail_to_write(said, std::strerror(errno));
  std::vector<char*> argv;
  for (const std::string& w : command) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_adddup2(&files, to, output);
  posix_spawnattr_t group;
  posix_spawnattr_init(&group);
  posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &files, &group, argv.data(), environ);
  posix_spawnattr_destroy(&group);
  posix_spawn_file_actions_destroy(&files);
  close(to);
  if (failed != 0)
    throw not_supported(
        fmt::format("checking plain CUDA needs a g++ to compile it with, and '{}' does not start: {}",
                    command[0], std::strerror(failed)));
  tell_watcher(said.parent_path(), child);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  tell_watcher(said.parent_path(), -child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

namespace {

// Forks a watcher that removes the folder, and ends the compilers that work in it, when this process closes
// the returned end of a pipe, or ends in any way, by a signal too.
int watch_over(const fs::path& folder, pid_t& watcher) {
  int ends[2] = {};
  watcher = -1;
  if (!checker_detail::make_pipe(ends)) return -1;
  watcher = fork();
  if (watcher != 0) {
    close(ends[0]);
    return ends[1];
  }
  setsid();  // signals from the terminal are not for the watcher
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
  close(ends[1]);
  std::set<pid_t> groups;
  for (;;) {
    pid_t group = 0;
    const ssize_t n = ::read(ends[0], &group, sizeof group);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof group) break;
    if (group > 0)
      groups.insert(group);
    else
      groups.erase(-group);
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  std::error_code failed;
  for (int i = 0; i < 10; ++i) {  // until those have ended
    fs::remove_all(folder, failed);
    if (!failed) break;
    usleep(10'000);
  }
  _exit(0);
}

}  // namespace

temporary_folder::temporary_folder(const fs::path& in) {
  std::string pattern = in / "antiphase-check-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr)
    throw device_error(fmt::format("no folder can be made in {}: {}", in.string(), std::strerror(errno)));
  path_ = pattern;
  watched_ = watch_over(path_, watcher_);
  const std::lock_guard lock(watchers_mutex);
  if (watched_ >= 0) watchers()[path_] = watched_;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  {
    const std::lock_guard lock(watchers_mutex);
    watchers().erase(path_);
  }
  if (watched_ >= 0) close(watched_);
  if (watcher_ > 0) waitpid(watcher_, nullptr, 0);
}

}  // namespace antiphase::plain
