// SPDX-License-Identifier: Apache-2.0
// Measures a machine profile of the present GPU, as far as small kernels and copies can.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/executor/machine.hpp>

namespace antiphase {

// Measures the clock, copies in memory and in the L2 cache, latencies by pointer chasing, multiply-adds,
// shared memory and launches. The rest (Tensor Cores, sizes, the clock under power) comes from profile_of()
// the device; machine_figure::source says which is which. Takes about a second and some hundred MB of the
// GPU.
//
//   const machine_profile here = measure_machine(context::on("cuda"));
//   std::fputs(to_text(here).c_str(), file);  // for `antiphase advise --device FILE` and read_profile()
//
// Throws not_supported for a context that is not a GPU.
machine_profile measure_machine(const context& where);

}  // namespace antiphase
