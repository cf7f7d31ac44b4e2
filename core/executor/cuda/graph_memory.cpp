// SPDX-License-Identifier: Apache-2.0
#include "core/executor/cuda/graph_memory.hpp"

#include <atomic>
#include <iterator>
#include <list>
#include <mutex>

#include "core/per_process.hpp"

namespace antiphase::graph_memory {
namespace {

struct block {
  void* memory;
  std::size_t bytes;
  int device;
  unsigned long long capture;
  cudaStream_t stream;
  std::list<block>::iterator self;
};

// Never call CUDA under this lock: CUDA calls the destructors of user objects under its own locks.
struct blocks {
  std::mutex change;
  std::list<block> in_graphs, released;
  std::atomic<bool> some_released = false;
};
// Never destroyed: graphs may be destroyed while the program ends.
blocks& all() {
  static constinit made_once<blocks> one;
  return one.get([] { return blocks(); });
}

// Splices the block to the other list, which allocates nothing.
void CUDART_CB release(void* which) {
  auto& b = all();
  const std::scoped_lock lock(b.change);
  b.released.splice(b.released.end(), b.in_graphs, static_cast<block*>(which)->self);
  b.some_released = true;
}

}  // namespace

std::optional<capture> capture_of(cudaStream_t on) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  capture found{.stream = on, .id = 0, .graph = nullptr};
#if CUDART_VERSION >= 13000
  const cudaError_t result =
      cudaStreamGetCaptureInfo(on, &status, &found.id, &found.graph, nullptr, nullptr, nullptr);
#else
  const cudaError_t result =
      cudaStreamGetCaptureInfo_v2(on, &status, &found.id, &found.graph, nullptr, nullptr);
#endif
  if (result != cudaSuccess) cudaGetLastError();  // the next launch fails in the same way, and reports it
  if (result != cudaSuccess || status != cudaStreamCaptureStatusActive) return std::nullopt;
  return found;
}

void* held(const capture& by, std::size_t bytes) {
  auto& b = all();
  const std::scoped_lock lock(b.change);
  for (const block& one : b.in_graphs)
    if (one.capture == by.id && one.stream == by.stream && one.bytes >= bytes) return one.memory;
  return nullptr;
}

cudaError_t hold(const capture& by, void* memory, std::size_t bytes, int device) {
  auto& b = all();
  block* mine = nullptr;
  {
    const std::scoped_lock lock(b.change);
    mine = &b.in_graphs.emplace_back(block{memory, bytes, device, by.id, by.stream, {}});
    mine->self = std::prev(b.in_graphs.end());
  }
  cudaUserObject_t object = nullptr;
  cudaError_t result = cudaUserObjectCreate(&object, mine, release, 1, cudaUserObjectNoDestructorSync);
  if (result != cudaSuccess) {
    release(mine);
    return result;
  }
  result = cudaGraphRetainUserObject(by.graph, object, 1, cudaGraphUserObjectMove);
  if (result != cudaSuccess) cudaUserObjectRelease(object, 1);
  return result;
}

std::vector<void*> released(int device) {
  auto& b = all();
  std::vector<void*> found;
  if (!b.some_released.load(std::memory_order_relaxed)) return found;
  const std::scoped_lock lock(b.change);
  found.reserve(b.released.size());
  std::erase_if(b.released, [&](const block& one) {
    if (one.device == device) found.push_back(one.memory);
    return one.device == device;
  });
  b.some_released = !b.released.empty();
  return found;
}

}  // namespace antiphase::graph_memory
