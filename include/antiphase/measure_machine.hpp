// SPDX-License-Identifier: Apache-2.0
// A machine profile of the GPU that is there, as far as small kernels and copies can measure it.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/executor/machine.hpp>

namespace antiphase {

// Takes about a second and some hundred MB of the GPU. Measured: the clock, copies in memory and in the L2
// cache, latencies by a thread that follows pointers, multiply-adds, shared memory, launches. What is not
// (Tensor Cores, sizes, the clock under power) is profile_of() the device's; sources say which is which.
// Throws not_supported for a context that is no GPU.
machine_profile measure_machine(const context& where);

}  // namespace antiphase
