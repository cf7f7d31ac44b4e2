// SPDX-License-Identifier: Apache-2.0
// What a kernel does, for the clock of the CPU executor, in more detail than clock.cuh has.
#pragma once
#include <antiphase/device/index.cuh>
#if !AP_ON_GPU
#include <antiphase/executor/cpu/machine_clock.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// On a GPU these calls do nothing. A thread says by them what it has done:
//   clock_multiplies  FP32 multiply-adds, with so many reads from shared memory; ahead: the reads are of
//                     what it multiplies next
//   clock_tensor_cores  its share of a warp's FP16 multiply-adds on Tensor Cores, which it waits for
//   clock_wide_loads  issued loads from global memory to registers, 16 bytes at a time, which it transposes
//                     there or not; clock_registers_needed() waits for them
//   clock_latency     waited so many ticks for results of its own instructions
// ticks_of_other_blocks(): by how much later than this block's latest bulk load the slowest of the blocks has
// landed for which this block stands, where only some of a machine's multiprocessors are modelled.
#if AP_ON_GPU
AP_DEV void clock_multiplies(int, int, bool) {}
AP_DEV void clock_tensor_cores(int) {}
AP_DEV void clock_wide_loads(int, bool) {}
AP_DEV void clock_latency(int) {}
AP_DEV int ticks_of_other_blocks() { return 0; }
#else
AP_DEV void clock_multiplies(int multiply_adds, int reads, bool ahead) {
  machine::clock_multiplies(multiply_adds, reads, ahead);
}
AP_DEV void clock_tensor_cores(int multiply_adds) { machine::clock_tensor_cores(multiply_adds); }
AP_DEV void clock_wide_loads(int bytes, bool transposes) { machine::clock_wide_loads(bytes, transposes); }
AP_DEV void clock_latency(int ticks) { machine::clock_latency(ticks); }
AP_DEV int ticks_of_other_blocks() { return machine::ticks_of_other_blocks(); }
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
