// SPDX-License-Identifier: Apache-2.0
// Where a command runs: --on and related options.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <cstdint>
#include <string>

#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

struct place_options {
  // cpu, cuda or cuda:N; empty: a GPU if one is usable, else cpu
  std::string executor;
  std::int64_t shared_limit = 0;  // limit on shared memory per block, KiB; 0: the device's own
  unsigned seed = 1;              // seed of the CPU executor's schedule
  // limits of the device that the CPU executor simulates
  device_limits simulated = simulated_device();
};
void add_place_options(arguments command, place_options& options);

// The chosen place, and why it was chosen.
struct place {
  antiphase::context context;
  std::string executor;  // in the notation of --on
  std::string name;      // name of the device
  std::string why;
};
place choose_place(const place_options& options);
// Reports which place was chosen and why.
void say_place(const common_options& options, const place& chosen);
json to_json(const place& chosen);
json to_json(const launch_counts& counts);

}  // namespace antiphase::tool
