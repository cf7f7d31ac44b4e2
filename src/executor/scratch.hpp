// SPDX-License-Identifier: Apache-2.0
// What executors keep of each stream: who holds it, and its memory.
#pragma once
#include <algorithm>
#include <antiphase/executor/executor.hpp>
#include <map>
#include <mutex>
#include <vector>

namespace antiphase {

// A lock for each stream that was ever held.
class stream_locks {
 public:
  std::unique_lock<std::recursive_mutex> hold(stream on) {
    std::recursive_mutex* mine = nullptr;
    {
      const std::lock_guard lock(mutex_);
      mine = &of_[on];
    }
    return std::unique_lock(*mine);
  }

 private:
  std::mutex mutex_;
  std::map<stream, std::recursive_mutex> of_;  // elements stay where they are
};

// Outgrown and forgotten memory stays until the end as well: work in flight, or a captured graph, may hold its address. Sizes double, so
// that is at most as much again.
class scratch_memory {
 public:
  // zeroed(bytes) allocates.
  template <class Allocate> std::span<std::byte> get(std::size_t bytes, stream on, Allocate zeroed) {
    const std::lock_guard lock(mutex_);
    std::span<std::byte>& mine = of_[on];
    if (mine.size() < bytes) {
      const std::size_t size = std::max({bytes, 2 * mine.size(), least});
      mine = {static_cast<std::byte*>(zeroed(size)), size};
      all_.push_back(mine.data());
    }
    return mine;
  }
  void forget(stream on) {
    const std::lock_guard lock(mutex_);
    of_.erase(on);
  }
  template <class Deallocate> void release(Deallocate deallocate) {
    for (void* memory : all_) deallocate(memory);
    all_.clear();
  }

 private:
  static constexpr std::size_t least = 64 * 1024;
  std::mutex mutex_;
  std::map<stream, std::span<std::byte>> of_;
  std::vector<void*> all_;
};

}  // namespace antiphase
