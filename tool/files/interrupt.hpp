// SPDX-License-Identifier: Apache-2.0
// Handling of signals that end the program: remove temporary files, write the results so far, exit.
#pragma once
#include <atomic>
#include <string>
#include <string_view>

namespace antiphase::tool {

// To be called once, at the start of main. SIGINT, SIGTERM and SIGHUP remove the temporary files, write the
// last words and end the program with exit code 128 + signal (130, 143, 129). A signal that the parent
// process ignored stays ignored, as nohup needs. SIGBUS, which is raised when a mapped input file is
// truncated during use, prints a message, removes the temporary files and ends the program with exit code 3.
// SIGPIPE and SIGXFSZ are ignored, so that writes report them as errors.
void install_signal_handlers();
// To be called before exec: the new program would inherit ignored signals.
void restore_signals();

// Whether the last line on standard error is a progress line without a newline; a signal handler blanks it.
inline std::atomic<bool> line_is_open{false};
inline constexpr std::string_view blank_line = "\r                                                   \r";

// While this object lives, a signal removes the file `path`. Create it before the file: the handler may run
// at any time.
class removed_on_signal {
 public:
  // Throws output_failed if the path is too long or all slots are in use.
  explicit removed_on_signal(std::string_view path);
  removed_on_signal(const removed_on_signal&) = delete;
  removed_on_signal& operator=(const removed_on_signal&) = delete;
  ~removed_on_signal();

 private:
  int slot_;
};

// What a signal handler still writes while this object lives: results so far to standard output, a message to
// standard error. If no process reads for five seconds, the rest is dropped. At most one such object exists
// at a time.
class last_words {
 public:
  last_words() = default;
  last_words(const last_words&) = delete;
  last_words& operator=(const last_words&) = delete;
  ~last_words() { withdraw(); }

  void set(std::string output, std::string message);
  // Call before printing the same results in the ordinary way: from then on a handler writes nothing.
  void withdraw();

 private:
  bool armed_ = false;
};

}  // namespace antiphase::tool
