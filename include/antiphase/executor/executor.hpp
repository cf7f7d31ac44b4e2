// SPDX-License-Identifier: Apache-2.0
// Where kernels run: memory, copies, launches. One interface for the GPU and the CPU.
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/executor/kernel.hpp>
#include <antiphase/executor/limits.hpp>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>

namespace antiphase {

// Immutable once made; host threads may share one. Work on one stream runs in order, whoever queues it: what
// two threads hand to it without agreeing on an order comes one after the other, whole launches and copies at
// a time. Work on different streams runs side by side. (The CPU executor has done the work when the call
// returns; who hands work to a stream on which another thread's still runs waits for that.) Every failure is
// an exception of core/error.hpp.
class executor {
 public:
  executor() = default;
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  virtual ~executor() = default;

  virtual target kind() const = 0;
  virtual const device_limits& limits() const = 0;

  // Whether kernels of this executor reach what the other allocates: both are of one device, or of the host.
  virtual bool shares_memory_with(const executor& other) const {
    return this == &other || (kind() == target::cpu && other.kind() == target::cpu);
  }
  // Memory that kernels of this executor can reach, aligned to 256 bytes; `bytes` may be 0.
  virtual void* allocate(std::size_t bytes) const = 0;
  virtual void deallocate(void* memory) const noexcept = 0;
  virtual void copy_in(void* device, const void* host, std::size_t bytes, stream on) const = 0;
  virtual void copy_out(void* host, const void* device, std::size_t bytes, stream on) const = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, stream on) const = 0;  // device to device

  // While the result lives, other host threads that ask for it wait, and on the CPU executor those who hand
  // work to the stream do too. The thread itself may use the stream, and hold it once more, but no other
  // stream.
  virtual std::unique_lock<std::recursive_mutex> hold(stream on) const = 0;

  // Memory that belongs to a stream: zeros when it is first handed out, then as the work on that stream has
  // left it, until more is asked for than before or forget_scratch() was called. At least `bytes`, aligned to
  // 256, there until the executor goes. What works with it must leave it in order for whoever comes next on
  // the stream. Threads share streams, so it is used through scratch_in_use only (executor/scratch.hpp).
  virtual std::span<std::byte> scratch(std::size_t bytes, stream on) const = 0;
  virtual void forget_scratch(stream on) const = 0;  // after a launch that failed

  // Memory for the work that is queued on the stream between the two calls: at least `bytes`, aligned to 256,
  // not initialised. On CUDA both are queued as well (stream-ordered allocation), from memory that the
  // executor keeps. What is borrowed while the stream is captured belongs to the graph instead, and calls of
  // the stream share it: the graph has no nodes of memory, and may be a child of others.
  virtual void* borrow(std::size_t bytes, stream) const { return allocate(bytes); }
  virtual void give_back(void* memory, stream) const noexcept { deallocate(memory); }

  // Runs every block of the grid. `params` points to the kernel's params, which are copied. An empty grid
  // does nothing. Throws not_supported, with the numbers, when a block does not fit the device, and
  // bad_request when the grid is not made of whole clusters.
  virtual launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const = 0;
  virtual kernel_usage usage(const kernel& k) const = 0;
  virtual void synchronize(stream on) const = 0;

  // What tensor_load() takes. Throws bad_request if the copy engine cannot copy such boxes.
  virtual tensor_map encode(const tensor_layout& tensor) const = 0;

  // How long the work that `queue` hands to the stream takes, in milliseconds: on CUDA between two events
  // around it, and none of it starts before all of it is queued (or 100 ms have passed), so that launch
  // latency stays out; on the CPU by the clock on the wall. While `queue` runs, this executor's device is the
  // current one of the thread. Waits for the work. The stream is not held: what other threads queue on it
  // meanwhile counts.
  virtual double milliseconds(const std::function<void(stream)>& queue, stream on) const = 0;
};

}  // namespace antiphase
