// SPDX-License-Identifier: Apache-2.0
#include "learn/trace/twins/launch_twin.hpp"

#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <memory>

namespace antiphase {

const machine_profile& machine_of(const trace_options& options) {
  return options.profile != nullptr ? *options.profile : shipped_profile("H200");
}
std::string device_of(const executor& on, const trace_options& options) {
  return on.kind() == target::cuda ? on.limits().name : machine_of(options).limits.name;
}

launch_counts launch_twin(const executor& on, const device_limits& limits, const twin_launch& what,
                          const trace_options& options) {
  if (on.kind() == target::cuda) return on.launch(what.code, what.grid, what.params, options.stream);
  const machine_profile& machine = machine_of(options);
  const auto in_order = on.hold(options.stream);
  return make_cpu_executor(
             {.limits = limits,
              .timed = std::make_shared<const timed_machine>(timed_machine{
                  .profile = machine,
                  .blocks = options.blocks,
                  .fit = what.resident,
                  .multiprocessors = what.multiprocessors,
                  .in_memory = options.from_memory.value_or(what.bytes > machine.cache_size.value)})})
      ->launch(what.code, what.grid, what.params, nullptr);
}

}  // namespace antiphase
