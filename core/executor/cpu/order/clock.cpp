// SPDX-License-Identifier: Apache-2.0
// What operations cost on a machine: its profile's figures, and the constants of the pipeline's cost model.
#include <antiphase/executor/pipeline_cost.hpp>
#include <cmath>

#include "core/executor/cpu/order/clock.hpp"

namespace antiphase::cpu_detail {

clock_costs costs_on(const machine_profile& machine, bool in_memory) {
  constexpr double lanes = 32, schedulers = 4;
  const auto clocks = [](double count) {
    return static_cast<std::int64_t>(std::llround(count * static_cast<double>(one_tick)));
  };
  const double processors = std::max(1, machine.limits.multiprocessors), clock = machine.clock.value;
  const machine_figure& rate = in_memory ? machine.memory_bytes : machine.cache_bytes;
  const machine_figure& latency = in_memory ? machine.memory_latency : machine.cache_latency;
  return {
      .instruction = clocks(schedulers / machine.issue.value / lanes),
      .multiply_add = clocks(schedulers / machine.multiply_adds.value),
      .wavefront = clocks(128 / machine.shared_bytes.value / lanes),
      .barrier = clocks(fitted::barrier_latency),
      .barrier_of_warp = clocks(fitted::barrier_of_warp),
      .latency = clocks(latency.value * clock),
      .varies = in_memory ? static_cast<double>(clocks(latency.value * clock * fitted::latency_varies)) : 0,
      .busy_bytes = machine.memory_in_flight.value,
      .look = clocks(machine.cache_latency.value * clock),
      .tensor_multiply_add = static_cast<double>(one_tick) * schedulers * clock * processors /
                             std::max(1., machine.tensor_fp16.value),
      .bytes = static_cast<double>(one_tick) * clock * processors / rate.value,
      .bytes_of_lane = static_cast<double>(one_tick) * clock * processors / rate.value,
      .of_link = rate.value / std::max(rate.value, machine.cache_bytes.value),
      .stalls_ahead = fitted::waits_reading_ahead,
      .stalls = fitted::waits_reading};
}

clock_costs shared_equally(clock_costs costs, int threads) {
  const int of_scheduler = std::max(32, (threads + 3) / 4);
  costs.instruction *= of_scheduler;
  costs.multiply_add *= of_scheduler;
  costs.tensor_multiply_add *= of_scheduler;
  costs.wavefront *= std::max(32, threads);
  costs.bytes_of_lane *= threads;
  costs.varies = 0;
  return costs;
}

}  // namespace antiphase::cpu_detail
