// SPDX-License-Identifier: Apache-2.0
// Working memory of a stream: persistent, or borrowed for one call.
#pragma once
#include <antiphase/executor/executor.hpp>
#include <cstddef>
#include <span>

namespace antiphase {

// Scratch memory carries state from one call to the next. This object holds the stream from before the memory
// is requested until all work with it has been queued, so that other threads find it as finished work leaves
// it, or new. Otherwise a thread could queue work in memory that another thread's failure has corrupted
// meanwhile. `bytes` 0: no memory.
class scratch_in_use {
 public:
  scratch_in_use(const executor& of, std::size_t bytes, stream on)
      : executor_(of),
        on_(on),
        held_(of.hold(on)),
        memory_(bytes == 0 ? std::span<std::byte>() : of.scratch(bytes, on)) {}
  std::span<std::byte> memory() const { return memory_; }

  // Calls queue(), which queues work that uses the memory. If it throws, the executor discards the memory,
  // whose state is unknown then.
  template <class Queue> auto work(Queue queue) const {
    try {
      return queue();
    } catch (...) {
      executor_.forget_scratch(on_);
      throw;
    }
  }

 private:
  const executor& executor_;
  stream on_;
  std::unique_lock<std::recursive_mutex> held_;
  std::span<std::byte> memory_;
};

// Uninitialised memory for work that is queued on the stream while the object lives. It is returned in stream
// order, without waiting. `bytes` 0: no memory.
class borrowed {
 public:
  borrowed(const executor& from, std::size_t bytes, stream on)
      : from_(from),
        on_(on),
        memory_(bytes == 0 ? nullptr : static_cast<std::byte*>(from.borrow(bytes, on)), bytes) {}
  borrowed(const borrowed&) = delete;
  borrowed& operator=(const borrowed&) = delete;
  ~borrowed() {
    if (!memory_.empty()) from_.give_back(memory_.data(), on_);
  }
  std::span<std::byte> memory() const { return memory_; }

 private:
  const executor& from_;
  stream on_;
  std::span<std::byte> memory_;
};

}  // namespace antiphase
