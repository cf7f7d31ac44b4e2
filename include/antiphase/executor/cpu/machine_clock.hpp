// SPDX-License-Identifier: Apache-2.0
// The CPU executor's clock, as kernels that record advance it next to machine.hpp: see device/clock_work.cuh.
#pragma once

namespace antiphase::machine {

void clock_multiplies(int multiply_adds, int reads, bool reads_ahead);
void clock_tensor_cores(int multiply_adds);
void clock_wide_loads(int bytes, bool transposes);
void clock_latency(int ticks);
int ticks_of_other_blocks();

}  // namespace antiphase::machine
