// SPDX-License-Identifier: Apache-2.0
// An executor that launches the recording twin in the place of one kernel.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/executor/forwarding_executor.hpp>
#include <antiphase/trace.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "src/trace/twin.hpp"

namespace antiphase {

// The library's calls, on a context of it, run as ever, but for the first launch of a kernel with a twin:
// that one is recorded. The executor that it stands before must outlive it.
class recording_executor final : public forwarding_executor {
 public:
  // `timed` launches are waited for: the twin's, or, with `as_is`, that of the kernel itself, which is not
  // recorded.
  enum class mode { record, timed, timed_as_is };
  recording_executor(const executor& on, const std::vector<twin>& twins, const trace_options& options,
                     mode how = mode::record);

  // The launch that was recorded, once the stream's work is done; nothing if there was none. Throws
  // bad_request if it had no such block.
  std::optional<timeline> take(timeline empty) const;
  // How long the launch took, if it was timed; 0: there was none.
  double milliseconds() const { return milliseconds_; }
  using forwarding_executor::milliseconds;  // of work
  // The kernels that were launched, for a message that there was none with a twin.
  const std::vector<const char*>& launched() const { return launched_; }

  bool shares_memory_with(const executor& other) const override {
    return this == &other || to().shares_memory_with(other);
  }
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream s) const override;

 private:
  launch_counts launch_twin(const kernel& k, extent3 grid, const void* params, stream s) const;

  static constexpr int most_warps = 32;

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
