// SPDX-License-Identifier: Apache-2.0
// How long work on the CPU executor will take, and a line on the terminal that says how far it has come.
#pragma once
#include <string>
#include <thread>

#include "tool/program/command.hpp"

namespace antiphase::tool {

// Of work that has been estimated: by the clock, and of all processors together. Nothing: not known, or soon
// over.
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
// What `run` takes.
template <class Run> expected_time time_of(Run run);

std::string time_text(double seconds);  // 12 seconds, 3 minutes

// As long as it lives, somebody who watches sees a share and the time left, of work that takes more than a
// few seconds; at the end the line is gone. The share is that of the processors' time: what else runs on the
// machine makes the work take longer, but not the share wrong.
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
