// SPDX-License-Identifier: Apache-2.0
// An executor that launches the recording twin in the place of one kernel.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/trace.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "src/trace/twin.hpp"

namespace antiphase {

// The library's calls, on a context of it, run as ever, but for the first launch of a kernel with a twin: that one is recorded. The
// executor that it stands before must outlive it.
class recording_executor final : public executor {
 public:
  // `timed` launches are waited for: the twin's, or, with `as_is`, that of the kernel itself, which is not recorded.
  enum class mode { record, timed, timed_as_is };
  recording_executor(const executor& on, const std::vector<twin>& twins, const trace_options& options, mode how = mode::record);

  // The launch that was recorded, once the stream's work is done; nothing if there was none. Throws bad_request if it had no such block.
  std::optional<timeline> take(timeline empty) const;
  // How long the launch took, if it was timed; 0: there was none.
  double milliseconds() const { return milliseconds_; }
  // The kernels that were launched, for a message that there was none with a twin.
  const std::vector<const char*>& launched() const { return launched_; }

  target kind() const override { return on_.kind(); }
  const device_limits& limits() const override { return on_.limits(); }
  bool shares_memory_with(const executor& other) const override { return this == &other || on_.shares_memory_with(other); }
  void* allocate(std::size_t bytes) const override { return on_.allocate(bytes); }
  void deallocate(void* memory) const noexcept override { on_.deallocate(memory); }
  void copy_in(void* device, const void* host, std::size_t bytes, stream s) const override { on_.copy_in(device, host, bytes, s); }
  void copy_out(void* host, const void* device, std::size_t bytes, stream s) const override { on_.copy_out(host, device, bytes, s); }
  void copy(void* to, const void* from, std::size_t bytes, stream s) const override { on_.copy(to, from, bytes, s); }
  std::unique_lock<std::recursive_mutex> hold(stream s) const override { return on_.hold(s); }
  std::span<std::byte> scratch(std::size_t bytes, stream s) const override { return on_.scratch(bytes, s); }
  void forget_scratch(stream s) const override { on_.forget_scratch(s); }
  void* borrow(std::size_t bytes, stream s) const override { return on_.borrow(bytes, s); }
  void give_back(void* memory, stream s) const noexcept override { on_.give_back(memory, s); }
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream s) const override;
  kernel_usage usage(const kernel& k) const override { return on_.usage(k); }
  void synchronize(stream s) const override { on_.synchronize(s); }
  tensor_map encode(const tensor_layout& tensor) const override { return on_.encode(tensor); }
  double milliseconds(const std::function<void(stream)>& queue, stream s) const override { return on_.milliseconds(queue, s); }

 private:
  static constexpr int most_warps = 32;

  const executor& on_;
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
