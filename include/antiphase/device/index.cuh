// SPDX-License-Identifier: Apache-2.0
// Indices of thread, lane and block.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/executor/kernel.hpp>
#if !AP_ON_GPU
#include <antiphase/executor/cpu/machine.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

constexpr int warp_size = 32;

#if AP_ON_GPU
AP_DEV int thread_index() { return static_cast<int>(threadIdx.x); }
AP_DEV extent3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
AP_DEV extent3 grid_extent() { return {gridDim.x, gridDim.y, gridDim.z}; }
#else
AP_DEV int thread_index() { return machine::current->index; }
AP_DEV extent3 block_index() { return machine::current->block->index; }
AP_DEV extent3 grid_extent() { return machine::current->block->grid; }
#endif
AP_DEV int lane_index() { return thread_index() % warp_size; }

}  // namespace AP_TARGET
}  // namespace antiphase
