// SPDX-License-Identifier: Apache-2.0
// State of executors per stream: a lock and scratch memory. A forked child starts with none.
#pragma once
#include <algorithm>
#include <antiphase/executor/executor.hpp>
#include <map>
#include <mutex>
#include <vector>

#include "core/per_process.hpp"

namespace antiphase {

// One lock per stream ever held.
class stream_locks {
 public:
  std::unique_lock<std::recursive_mutex> hold(stream on) {
    std::recursive_mutex* mine = nullptr;
    {
      auto& [mutex, of] = known_.get();
      const std::lock_guard lock(mutex);
      mine = &of[on];
    }
    return std::unique_lock(*mine);
  }

 private:
  struct all {
    std::mutex mutex;
    std::map<stream, std::recursive_mutex> locks;  // stable addresses
  };
  per_process<all> known_;
};

// Scratch memory per stream. Outgrown and forgotten memory is kept until the end: work in flight, or a
// captured graph, may hold its address. Sizes at least double, so outgrown memory is at most as much again.
class scratch_memory {
 public:
  // zeroed(bytes) allocates zeroed memory.
  template <class Allocate> std::span<std::byte> get(std::size_t bytes, stream on, Allocate zeroed) {
    auto& [mutex, of, all] = known_.get();
    const std::lock_guard lock(mutex);
    std::span<std::byte>& mine = of[on];
    if (mine.size() < bytes) {
      const std::size_t size = std::max({bytes, 2 * mine.size(), least});
      mine = {static_cast<std::byte*>(zeroed(size)), size};
      all.push_back(mine.data());
    }
    return mine;
  }
  void forget(stream on) {
    auto& [mutex, of, all] = known_.get();
    const std::lock_guard lock(mutex);
    of.erase(on);
  }
  template <class Deallocate> void release(Deallocate deallocate) {
    for (void* memory : known_->all) deallocate(memory);
    known_->all.clear();
  }

 private:
  static constexpr std::size_t least = 64 * 1024;
  struct kept {
    std::mutex mutex;
    std::map<stream, std::span<std::byte>> blocks;
    std::vector<void*> all;
  };
  per_process<kept> known_;
};

}  // namespace antiphase
