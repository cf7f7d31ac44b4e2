// SPDX-License-Identifier: Apache-2.0
// Launching a recording twin: on the CPU executor, in the time of a modelled machine.
#pragma once
#include <antiphase/executor/executor.hpp>
#include <antiphase/trace.hpp>
#include <string>

namespace antiphase {

// What a launch is: `bytes` that it loads, all blocks together; `resident`: its blocks that fit on a
// multiprocessor, 0: not known.
struct twin_launch {
  kernel code;
  extent3 grid;
  const void* params;
  double bytes = 0;
  int resident = 0;
  int multiprocessors = 1;  // modelled at a time
};
// `limits`: of the device that the launch was made for.
launch_counts launch_twin(const executor& on, const device_limits& limits, const twin_launch& what,
                          const trace_options& options);

const machine_profile& machine_of(const trace_options& options);
// Of a timeline: the GPU, or the machine that is modelled.
std::string device_of(const executor& on, const trace_options& options);

}  // namespace antiphase
