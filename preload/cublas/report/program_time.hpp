// SPDX-License-Identifier: Apache-2.0
// Gain of a program whose calls would take less: it queues work on the host, which the GPU does later.
#pragma once
#include <algorithm>
#include <limits>

namespace antiphase::cublas {

// A call of the original. All are seconds; begin and end, of the GPU, are by the host's clock, too.
struct timed_call {
  double issued, begin, end;
  bool drained;     // the GPU had nothing left to do when the call was issued
  double profiled;  // of the host, by measuring
  double gpu_saved, host_saved;
};

// Work of the GPU that ends earlier makes the program faster only up to the GPU's lag, the time from a call
// to its work: then the GPU waits for the host. Where the host has waited for the GPU, all of it counts: for
// all its work, or for room in its queue, which holds about a thousand launches. Then calls come at the GPU's
// pace, not at the host's own, which is that of the fastest row of calls.
class program_time {
 public:
  void add(const timed_call& call) {
    const double saved = call.gpu_saved * unshared(call);
    gpu_saved_ += saved;
    const bool waited = has_waited(call);
    const double lag = std::max(0., call.begin - call.issued);
    note_pace(call, lag, waited);
    ours_.issue(lag, waited, blocked_);
    ours_.add(saved, call.profiled + call.host_saved);
    if (calls_++ > 0 && !waited) pauses_ += call.issued - last_.issued, ++usual_;
    const double end = std::max(last_.end, call.end);
    last_ = call, last_.end = end;
  }
  double gpu_saved() const { return gpu_saved_; }
  // Gain of the program, without the time that measuring took.
  double saved() const { return ours_.all(); }

 private:
  // Seconds by which the GPU and the host are earlier than they were.
  struct shift {
    double gpu = 0, host = 0, before_waits = 0;
    // blocked: time for which the host has waited for room in the queue. It would go on earlier by as much as
    // the GPU, and takes that from there.
    void issue(double lag, bool waited, double& blocked) {
      if (waited) before_waits += gpu, gpu = host = 0;
      const double earlier = std::clamp(gpu - host, 0., blocked);
      host += earlier, blocked -= earlier;
      gpu = std::min(gpu, lag + host);
    }
    void add(double of_gpu, double of_host) { gpu += of_gpu, host += of_host; }
    double all() const { return before_waits + gpu; }
  };

  // Share of the call's time in which no call before it ran, in another stream.
  double unshared(const timed_call& call) const {
    const double time = call.end - call.begin;
    return time > 0 ? std::clamp((call.end - last_.end) / time, 0., 1.) : 1;
  }
  // True if the host has waited for the GPU: it stopped when it was several calls ahead, or goes on as soon
  // as the last call ends. Otherwise it was busy.
  bool has_waited(const timed_call& call) const {
    if (!call.drained || calls_ == 0) return false;
    constexpr double several = 4, at_once = .05;
    const double ahead = last_.end - last_.issued;
    return (usual_ > 0 && ahead > several * pauses_ / usual_) || call.issued - last_.end < at_once * ahead;
  }

  // While the GPU has many calls left to do: by what a call is later than at the host's own pace.
  void note_pace(const timed_call& call, double lag, bool waited) {
    constexpr int row = 64;
    constexpr double far = 16;  // calls
    if (waited || calls_ == 0) {
      in_row_ = 0, blocked_ = 0, row_begins_ = call.issued;
      return;
    }
    if (++in_row_ == row) {
      own_ = std::min(own_, (call.issued - row_begins_) / row);
      in_row_ = 0, row_begins_ = call.issued;
    }
    blocked_ = lag > far * own_ ? std::max(0., blocked_ + call.issued - last_.issued - own_) : 0;
  }

  double gpu_saved_ = 0, pauses_ = 0;
  double usual_ = 0, calls_ = 0;
  timed_call last_{};
  double own_ = std::numeric_limits<double>::infinity(), row_begins_ = 0, blocked_ = 0;
  int in_row_ = 0;
  shift ours_;
};

}  // namespace antiphase::cublas
