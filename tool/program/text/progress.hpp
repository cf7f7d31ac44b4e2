// SPDX-License-Identifier: Apache-2.0
// Expected duration of work on the CPU executor, and a progress line for the terminal.
#pragma once
#include <string>
#include <thread>

#include "tool/program/command.hpp"

namespace antiphase::tool {

// Estimated duration of work: wall-clock time, and processor time summed over all threads. Zero: unknown, or
// short.
struct expected_time {
  double seconds = 0, processor_seconds = 0;

  expected_time& operator+=(const expected_time& more) {
    seconds += more.seconds;
    processor_seconds += more.processor_seconds;
    return *this;
  }
  friend expected_time operator*(expected_time time, double factor) {
    return {time.seconds * factor, time.processor_seconds * factor};
  }
};
// Wall-clock and processor time that run() takes.
template <class Run> expected_time time_of(Run run);

std::string time_text(double seconds);  // 12 seconds, 3 minutes

// Shows the share done and the time left while it lives, if standard error is a terminal and the work takes
// more than a few seconds; the destructor erases the line. The share is measured in processor time: other
// load on the machine prolongs the work, but does not distort the share.
class progress_line {
 public:
  progress_line(const common_options& options, const expected_time& whole);
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  ~progress_line();

 private:
  std::jthread shows_;
};

class stop_watch {
 public:
  stop_watch();
  expected_time so_far() const;

 private:
  expected_time start_;
};

template <class Run> expected_time time_of(Run run) {
  const stop_watch watch;
  run();
  return watch.so_far();
}

}  // namespace antiphase::tool
