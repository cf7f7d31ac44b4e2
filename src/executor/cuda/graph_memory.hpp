// SPDX-License-Identifier: Apache-2.0
// Memory for calls that are captured into a graph: allocated beside the capture, and kept by the graph.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>
#include <vector>

// Allocations that the capture records would be nodes of memory, and a graph with such nodes can be neither a
// child of another graph nor instantiated twice. XLA makes each captured product a child graph. So a CUDA
// user object holds a block of memory, which CUDA keeps for the graph, its copies and all that is
// instantiated from them. When the last of them has gone, and what they have launched is done, the block is
// released: whoever works on the device next frees it, since the destructor of a user object may not call
// CUDA.
namespace antiphase::graph_memory {

// The graph that a stream is being captured into. Work of one stream in one capture comes one after the
// other, and shares memory.
struct capture {
  cudaStream_t on;
  unsigned long long id;
  cudaGraph_t graph;
};
// Nothing while the stream is not captured.
std::optional<capture> capture_of(cudaStream_t on);

// What the graph holds already for this stream, if it has so many bytes; or null.
void* held(const capture& by, std::size_t bytes);

// Hands memory of a device over to the graph. If this fails, the memory is released.
cudaError_t hold(const capture& by, void* memory, std::size_t bytes, int device);

// All that graphs have released on a device; the caller frees it. Costs next to nothing if there is nothing.
std::vector<void*> released(int device);

}  // namespace antiphase::graph_memory
