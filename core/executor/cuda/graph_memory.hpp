// SPDX-License-Identifier: Apache-2.0
// Memory for calls that are captured into a graph: allocated outside the capture, and owned by the graph.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>
#include <vector>

// Allocations in the capture would become memory nodes, and a graph with such nodes can be neither a child of
// another graph nor instantiated twice; XLA makes each captured product a child graph. So a CUDA user object
// owns each block of memory. The graph, its copies and their executable graphs hold references to it. When
// the last is destroyed and its launches have finished, the block is put on the list of released ones. The
// next call on the device frees it, since the destructor of a user object may not call CUDA.
namespace antiphase::graph_memory {

// The graph that a stream is being captured into. Work of one stream in one capture is sequential and shares
// memory.
struct capture {
  cudaStream_t stream;
  unsigned long long id;
  cudaGraph_t graph;
};
// Nothing if the stream is not being captured.
std::optional<capture> capture_of(cudaStream_t on);

// A block of at least `bytes` that the graph holds already for this stream; or null.
void* held(const capture& by, std::size_t bytes);

// Makes the graph the owner of a device's memory. On failure, the memory is put on the list of released
// blocks.
cudaError_t hold(const capture& by, void* memory, std::size_t bytes, int device);

// Takes all blocks that graphs have released on a device; the caller frees them. If there are none, one
// atomic load.
std::vector<void*> released(int device);

}  // namespace antiphase::graph_memory
