// SPDX-License-Identifier: Apache-2.0
// When a signal ends the program: temporary files are removed, results so far are written, then the program
// exits.
#pragma once
#include <atomic>
#include <string>
#include <string_view>

namespace antiphase::tool {

// To be called once, at the start of main. SIGINT, SIGTERM and SIGHUP remove the temporary files, write the
// last words and end the program with the exit code 128 + signal (130, 143, 129); a signal that the parent
// had ignored stays ignored, as nohup needs it. SIGBUS, which comes when a mapped input file is cut short
// while it is used, does the same with a message and exit code 3. SIGPIPE and SIGXFSZ are ignored, so that
// writing reports them as errors.
void install_signal_handlers();
// Before another program takes this one's place: it would inherit what is ignored.
void restore_signals();

// Whether the last line on standard error has no end, since another one is to be written over it; a signal
// blanks it.
inline std::atomic<bool> line_is_open{false};
inline constexpr std::string_view blank_line = "\r                                                   \r";

// While it lives, a signal removes the file `path`. To be made before the file exists: the handler may run at
// any time.
class removed_on_signal {
 public:
  // throws output_failed if the path is too long or too many are in use
  explicit removed_on_signal(std::string_view path);
  removed_on_signal(const removed_on_signal&) = delete;
  removed_on_signal& operator=(const removed_on_signal&) = delete;
  ~removed_on_signal();

 private:
  int slot_;
};

// What a signal still lets the program say, while this lives: results so far for standard output, a message
// for standard error. Where nobody reads them for five seconds, it ends without. There is one object of this
// kind at a time.
class last_words {
 public:
  last_words() = default;
  last_words(const last_words&) = delete;
  last_words& operator=(const last_words&) = delete;
  ~last_words() { withdraw(); }

  void set(std::string output, std::string message);
  // To be called before the same results are printed in the ordinary way: from then on a signal says nothing.
  void withdraw();

 private:
  bool armed_ = false;
};

}  // namespace antiphase::tool
