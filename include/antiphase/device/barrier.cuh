// SPDX-License-Identifier: Apache-2.0
// Barriers among the threads of a block.
#pragma once
#include <antiphase/device/index.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// block_barrier: all threads of the block that have not ended meet, at the same place in the code. Orders all
// memory accesses among them. named_barrier: `threads` threads, a multiple of the warp size, meet at barrier
// `id` (1 ... 15; 0 is the block's). sync arrives and waits, arrive only arrives.
#if AP_ON_GPU
AP_DEV void block_barrier() { __syncthreads(); }
AP_DEV void named_barrier_sync(int id, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
AP_DEV void named_barrier_arrive(int id, int threads) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
#else
AP_DEV void block_barrier(machine::place where = machine::place::current()) { machine::block_barrier(where); }
AP_DEV void named_barrier_sync(int id, int threads, machine::place where = machine::place::current()) {
  machine::named_barrier_sync(id, threads, where);
}
AP_DEV void named_barrier_arrive(int id, int threads, machine::place where = machine::place::current()) {
  machine::named_barrier_arrive(id, threads, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
