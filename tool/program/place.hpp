// SPDX-License-Identifier: Apache-2.0
// Where a command runs: --on and what belongs to it.
#pragma once
#include <antiphase/context.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "tool/program/command.hpp"
#include "tool/program/console.hpp"

namespace antiphase::tool {

struct place_options {
  // cpu, cuda, cuda:N, perhaps reference; empty: a GPU if one is usable, else cpu
  std::string on;
  std::int64_t shared_limit = 0;  // KiB of shared memory per block to make do with; 0: what the device has
  unsigned seed = 1;              // of the CPU executor's schedule
};
// Whether --on reference exists: OpenBLAS, or plain loops on the host.
enum class reference { offered, offered_as_loops, not_offered };
void add_place_options(arguments command, place_options& options, reference also);

// The place chosen, and why.
struct place {
  std::optional<context> where;  // none: the reference
  std::string on;                // as --on would name it
  std::string name;              // of the device
  std::string why;
};
place choose_place(const place_options& options, reference also);
// Says which place was chosen and why.
void say_place(const common_options& options, const place& chosen);
json to_json(const place& chosen);
json to_json(const launch_counts& counts);

}  // namespace antiphase::tool
