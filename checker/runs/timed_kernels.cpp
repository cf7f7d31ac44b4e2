// SPDX-License-Identifier: Apache-2.0
#include "timed_kernels.hpp"

#include <algorithm>
#include <antiphase/executor/limits.hpp>

#include "checker/timing/found_ring.hpp"

namespace antiphase::checker_detail {
namespace {

using cpu_detail::clock_costs;

// The kernel as its limits see it.
kernel code_of(const timed_block& b) {
  kernel code{};
  code.threads = b.threads;
  code.shared_bytes = 4 * std::size_t{b.shared_words};
  return code;
}

// Ticks of a step in the middle of the timeline, where the ring is full.
double ticks_of_step(const timeline& t) { return measure(t).step_time; }

timed_kernel timed(const timed_block& b, const model& m, const trace_options& options) {
  const machine_profile& machine = options.profile != nullptr ? *options.profile : shipped_profile("H200");
  timed_kernel k;
  k.grid = b.grid;
  k.threads = b.threads;
  k.shared_bytes = 4 * std::size_t{b.shared_words};
  const int fit = std::max(1, resident_blocks(machine.limits, code_of(b), options.registers));
  const auto processors = static_cast<std::uint64_t>(std::max(1, machine.limits.multiprocessors));
  const std::uint64_t spread = (b.grid.count() + processors - 1) / processors;
  k.resident = options.blocks > 0
                   ? options.blocks
                   : static_cast<int>(std::min<std::uint64_t>(static_cast<unsigned>(fit), spread));
  const double loaded = std::min(static_cast<double>(b.global_bytes) * static_cast<double>(b.grid.count()),
                                 static_cast<double>(m.memory.bytes_tracked()));
  const bool in_memory = options.from_memory.value_or(loaded > machine.cache_size.value);
  const clock_costs costs = cpu_detail::costs_on(machine, in_memory);
  const auto uses = uses_of_loads(b);
  found_ring ring = find_ring(b, uses);
  const auto at_costs = [&](const clock_costs& c, int blocks) {
    return timeline_of(b, ring, replay(b, uses, c, blocks), m.places, options.steps);
  };
  k.drawn = at_costs(costs, k.resident);
  if (k.drawn.recorded == 0 && !ring.to_registers) {  // no step of it is complete
    ring = loads_to_registers(b, uses);
    k.drawn = at_costs(costs, k.resident);
  }
  k.drawn.kernel = "kernel";
  k.drawn.policy = b.kernel;
  k.drawn.device = machine.limits.name;
  k.drawn.block = static_cast<unsigned>(std::min<std::uint64_t>(options.block, b.grid.count() - 1));
  if (k.drawn.recorded == 0) return k;
  // A block alone whose loads are there at once.
  clock_costs free = costs;
  free.latency = 0, free.varies = 0;
  free.bytes = free.bytes_of_lane = 0;
  k.compute_ticks = ticks_of_step(at_costs(free, 1));
  k.step_ticks = ticks_of_step(k.drawn);
  k.load_ticks =
      static_cast<double>(costs.latency) / static_cast<double>(cpu_detail::one_tick) +
      costs.bytes / static_cast<double>(cpu_detail::one_tick) * static_cast<double>(ring.moved_bytes);
  k.load_bytes = static_cast<double>(ring.moved_bytes);
  k.issue_ticks = std::max(ring.issued / machine.issue.value, ring.copied);
  k.in_cache = !in_memory;
  k.slot_bytes = 4 * ring.slot_words;
  k.by_roles = ring.by_roles;
  k.asynchronous = ring.asynchronous;
  k.bulk = ring.bulk;
  k.of_results = ring.of_results;
  k.early = ring.early;
  return k;
}

}  // namespace

std::vector<timed_kernel> timed_kernels(const model& m, const trace_options& options) {
  std::vector<timed_kernel> all;
  for (const timed_block& b : m.times->blocks()) all.push_back(timed(b, m, options));
  return all;
}

}  // namespace antiphase::checker_detail
