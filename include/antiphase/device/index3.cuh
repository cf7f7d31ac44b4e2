// SPDX-License-Identifier: Apache-2.0
// Threads of a block in two or three dimensions.
#pragma once
#include <antiphase/device/index.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// Blocks are launched one-dimensional. thread_index3 is the thread's index in a block of the given shape, x
// fastest, in the order in which CUDA numbers threads and forms warps. x * y * z must be the kernel's
// `threads`; with a constant shape the divisions cost little.
AP_DEV constexpr extent3 index_in(extent3 shape, unsigned thread) {
  return {thread % shape.x, thread / shape.x % shape.y, thread / shape.x / shape.y};
}
AP_DEV extent3 thread_index3(extent3 shape) { return index_in(shape, static_cast<unsigned>(thread_index())); }

}  // namespace AP_TARGET
}  // namespace antiphase
