// SPDX-License-Identifier: Apache-2.0
// Threads of a block in two or three dimensions.
#pragma once
#include <antiphase/device/index.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// A block is launched with its threads in a row. Where a kernel wants them in two or three dimensions, this
// is the place of the thread in a block of that shape, x first, as CUDA counts threads and makes warps of
// them. The shape's x * y * z is the kernel's `threads`; known to the compiler, the divisions cost little.
AP_DEV constexpr extent3 index_in(extent3 shape, unsigned thread) {
  return {thread % shape.x, thread / shape.x % shape.y, thread / shape.x / shape.y};
}
AP_DEV extent3 thread_index3(extent3 shape) { return index_in(shape, static_cast<unsigned>(thread_index())); }

}  // namespace AP_TARGET
}  // namespace antiphase
