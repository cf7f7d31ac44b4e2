// SPDX-License-Identifier: Apache-2.0
// The processes of a run: messages between them, time limits, and an end to those that a program has left.
#pragma once
#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace antiphase::checker_detail {

using moment = std::chrono::steady_clock::time_point;
inline moment after(double seconds, moment from = std::chrono::steady_clock::now()) {
  return from + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                    std::chrono::duration<double>(seconds));
}

// How long a process and its children have run or slept. Time in which they wait for a processor, as on a
// busy machine, does not count.
class own_time {
 public:
  explicit own_time(pid_t of) : of_(of) {}
  // To be called every few hundredths of a second: the process is taken to have done the same since the last
  // call.
  double seconds();
  void restart() { counted_ = 0; }

 private:
  pid_t of_;
  moment last_ = std::chrono::steady_clock::now();
  double counted_ = 0, on_processors_ = 0;
};

// The end of a process.
struct process_end {
  int status = 0;            // as wait() gives it
  bool stopped = false;      // at its time limit
  bool left_others = false;  // processes that it had started were still running, and were ended
};

// Between processes: a run comes to its first launch, something that it has found, its answer, or the next
// request.
enum class message_kind : std::uint8_t { begun, finding, answer, request };
struct message {
  message_kind kind = message_kind::answer;
  bool last = false;  // the sender ends
  process_end end;    // of the process that answers
  std::string text;
};
void send(int to, const message& m);
bool receive(int from, message& m);  // waits; false: the other end is closed

// A pipe that new programs do not inherit, and whose ends are no standard descriptors.
bool make_pipe(int (&ends)[2]);

// Kills the children of this process and, if it is their reaper, the processes that those have started; true
// if there were any. They have a moment to end by themselves.
bool end_descendants();

// Waits for a child, which stop() kills after so many seconds of its own time; passes its messages on from
// one pipe to another, except for the answer, which is returned.
struct watched_child {
  process_end end;
  std::string answer;
};
watched_child watch(pid_t child, int from, int to, double seconds, const std::function<void()>& stop);

}  // namespace antiphase::checker_detail
