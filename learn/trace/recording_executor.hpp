// SPDX-License-Identifier: Apache-2.0
// An executor that launches the recording twin in place of one kernel.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/executor/forwarding_executor.hpp>
#include <antiphase/trace.hpp>
#include <optional>
#include <vector>

#include "learn/trace/twins/twin.hpp"

namespace antiphase {

// What a recorded call does.
struct recorded_work {
  double bytes = 0;  // that it loads
  // On the CPU executor, the multiprocessors that are modelled, of a kernel whose blocks run all along and
  // wait for each other: a slice of the machine, with its share of memory; 0: all.
  int multiprocessors = 0;
};

// Calls on its context run unchanged, except for the first launch of a kernel with a twin: the twin is
// launched instead. launch() throws bad_request if the grid has no block options.block. The executor it
// forwards to must outlive it.
class recording_executor final : public forwarding_executor {
 public:
  // timed: waits for the twin's launch and takes its time. timed_as_is: the same for the kernel itself.
  enum class mode { record, timed, timed_as_is };
  recording_executor(const executor& on, const std::vector<twin>& twins, const trace_options& options,
                     const recorded_work& work = {}, mode how = mode::record);

  // The timeline of the recorded launch; nothing if there was none. Call it when the stream's work is done.
  std::optional<timeline> take(timeline empty) const;
  // Duration of the timed launch; 0 if there was none.
  double milliseconds() const { return milliseconds_; }
  using forwarding_executor::milliseconds;  // of work
  // The kernels launched, for the message that none has a twin.
  const std::vector<const char*>& launched() const { return launched_; }

  bool shares_memory_with(const executor& other) const override {
    return this == &other || to().shares_memory_with(other);
  }
  const device_limits& limits() const override { return limits_; }
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream s) const override;

 private:
  static constexpr int most_warps = 32;

  device_limits limits_;
  double bytes_;
  int multiprocessors_;
  const std::vector<twin>& twins_;
  trace_options options_;
  int capacity_;
  device_array<span_record> spans_;
  device_array<std::int32_t> counts_;
  mutable std::vector<const char*> launched_;
  mutable const twin* recorded_ = nullptr;
  mutable std::uint64_t blocks_ = 0;
  mode how_;
  mutable double milliseconds_ = 0;
};

}  // namespace antiphase
