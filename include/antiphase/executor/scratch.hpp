// SPDX-License-Identifier: Apache-2.0
// Working memory of a stream: that it keeps from call to call, and that is borrowed for one.
#pragma once
#include <antiphase/executor/executor.hpp>
#include <cstddef>
#include <span>

namespace antiphase {

// Scratch memory carries state from one piece of work to the next, so whoever works in it holds the stream
// from before asking for the memory until all of that work has been queued: other threads then find the
// memory as finished work leaves it, or new. Without holding it, a thread might queue work in memory that
// another one's failure has spoiled since it was handed out. `bytes` 0: no memory.
class scratch_in_use {
 public:
  scratch_in_use(const executor& of, std::size_t bytes, stream on)
      : of_(of),
        on_(on),
        held_(of.hold(on)),
        memory_(bytes == 0 ? std::span<std::byte>() : of.scratch(bytes, on)) {}
  std::span<std::byte> memory() const { return memory_; }

  // Calls queue(), which hands work in the memory to the stream. If it throws, the executor forgets the
  // memory: who knows how far that work came.
  template <class Queue> auto work(Queue queue) const {
    try {
      return queue();
    } catch (...) {
      of_.forget_scratch(on_);
      throw;
    }
  }

 private:
  const executor& of_;
  stream on_;
  std::unique_lock<std::recursive_mutex> held_;
  std::span<std::byte> memory_;
};

// Memory for the work that is queued on the stream while the object lives, not initialised; it goes back
// behind that work, in the order of the stream, and nobody waits. `bytes` 0: no memory.
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
