// SPDX-License-Identifier: Apache-2.0
// The executor interface: memory, copies and launches, on a GPU or the CPU.
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/executor/kernel.hpp>
#include <antiphase/executor/limits.hpp>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>

namespace antiphase {

// Launches kernels of one's own (device/kernel.cuh):
//
//   const executor& on = where.runs_on();
//   on.launch(kernel_of<my_kernel>("my kernel"), {blocks, 1, 1}, &params, stream);
//   on.synchronize(stream);
//
// Immutable; host threads may share one. Work on one stream runs in order, also if several threads queue it:
// each launch or copy is atomic in that order. Work on different streams may run concurrently. (The CPU
// executor has done the work when the call returns; a call on a stream that another thread is using waits.)
// Every failure is an exception of core/error.hpp.
class executor {
 public:
  executor() = default;
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  virtual ~executor() = default;

  virtual target kind() const = 0;
  virtual const device_limits& limits() const = 0;

  // Whether kernels of this executor can access what the other allocates: both on one device, or on the host.
  virtual bool shares_memory_with(const executor& other) const {
    return this == &other || (kind() == target::cpu && other.kind() == target::cpu);
  }
  // Memory that kernels of this executor can reach, aligned to 256 bytes; `bytes` may be 0.
  virtual void* allocate(std::size_t bytes) const = 0;
  virtual void deallocate(void* memory) const noexcept = 0;
  virtual void copy_in(void* device, const void* host, std::size_t bytes, stream on) const = 0;
  virtual void copy_out(void* host, const void* device, std::size_t bytes, stream on) const = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, stream on) const = 0;  // device to device

  // Locks the stream for the lifetime of the result: other host threads that call hold() wait, and on the CPU
  // executor so do those that queue work on the stream. The owner may use the stream and hold it again, but
  // must not use another stream.
  virtual std::unique_lock<std::recursive_mutex> hold(stream on) const = 0;

  // Persistent memory of a stream: at least `bytes`, aligned to 256 bytes, alive as long as the executor.
  // Zero when first returned, then as work on the stream has left it; zero again after a larger request or
  // forget_scratch(). Work must leave it in a valid state for the next user on the stream. Use it through
  // scratch_in_use only (executor/scratch.hpp), since threads share streams.
  virtual std::span<std::byte> scratch(std::size_t bytes, stream on) const = 0;
  virtual void forget_scratch(stream on) const = 0;  // after a launch that failed

  // Memory for work that is queued on the stream between the two calls: at least `bytes`, aligned to 256
  // bytes, uninitialised. On CUDA both calls are stream-ordered, from a pool of the executor. Memory that is
  // borrowed during stream capture belongs to the graph instead, and is shared by the calls on that stream:
  // the graph has no memory nodes, so it may be a child graph.
  virtual void* borrow(std::size_t bytes, stream) const { return allocate(bytes); }
  virtual void give_back(void* memory, stream) const noexcept { deallocate(memory); }

  // Runs every block of the grid. `params` points to the kernel's params, which are copied. An empty grid
  // does nothing. Throws not_supported, with the numbers, where a block does not fit the device; bad_request
  // where the grid is not made of whole clusters.
  virtual launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const = 0;
  virtual kernel_usage usage(const kernel& k) const = 0;
  virtual void synchronize(stream on) const = 0;

  // The map that tensor_load() takes. Throws bad_request if TMA cannot copy such boxes.
  virtual tensor_map encode(const tensor_layout& tensor) const = 0;

  // Milliseconds that the work which `queue` puts on the stream takes; waits for it. On CUDA: the time
  // between two events around it. The stream is blocked until all is queued (or 100 ms have passed), so
  // launch latency is excluded. On the CPU: wall time. This executor's device is current while `queue` runs.
  // The stream is not held: work that other threads queue meanwhile is included.
  virtual double milliseconds(const std::function<void(stream)>& queue, stream on) const = 0;
};

}  // namespace antiphase
