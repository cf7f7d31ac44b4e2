// SPDX-License-Identifier: Apache-2.0
// Runs a part of a test in a child process, for what a process can do only once: die, or close its standard
// output.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tool/files/interrupt.hpp"

namespace antiphase::testing {

// Runs `action` in a child process with the signal handlers installed, and returns its exit code; 1000 +
// signal if it was killed. `action` returns the exit code.
inline int in_a_process(const std::function<int()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 99;
    try {
      tool::install_signal_handlers();
      code = action();
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// The same without root's rights, so that a fault in the code under test cannot replace a device file.
// Returns 98 if the rights cannot be dropped.
inline int without_rights(const std::function<int()>& action) {
  constexpr unsigned nobody = 65534;
  return in_a_process(
      [&] { return geteuid() == 0 && (setgid(nobody) != 0 || setuid(nobody) != 0) ? 98 : action(); });
}

}  // namespace antiphase::testing
