// SPDX-License-Identifier: Apache-2.0
// The cost model of the scan ladder: docs/learn/model.md.
#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/cost.hpp>
#include <cmath>
#include <limits>

#include "library/costs/models.hpp"

namespace antiphase::scans {
namespace {

double real(std::int64_t x) { return static_cast<double>(x); }

const costs::scan_cost& cost_on(const machine_profile& on) { return costs::models_of(on.limits).scans; }

const costs::passes_cost& cost_of(const costs::scan_cost& all, const policy& how) {
  switch (how.method) {
    case method::two_barriers: return all.two_barriers;
    case method::double_buffer: return all.double_buffer;
    default: return how.bytes == 0 ? all.warp_shuffle : all.items;
  }
}
// The array is read twice and written once; the limit is the work of a thread per access.
prediction predict_passes(const machine_profile& on, const step& how, std::int64_t count, std::size_t size) {
  const costs::passes_cost& cost = cost_of(cost_on(on), how.policy);
  const double processors = std::max(1, on.limits.multiprocessors),
               bytes = 3 * real(count) * static_cast<double>(size);
  const double moving = bytes / on.memory_bytes.value;
  const double working = real(count) / how.policy.chunk(size) * cost.clocks / (processors * on.clock.value);
  prediction all;
  all.add(limit::launch, std::min(cost.start, 3 * on.launch.value));
  all.add(limit::latency, cost.start - all.seconds);
  all.add(moving > working ? limit::memory : limit::barriers, std::max(moving, working));
  return all;
}

// A ring: the traffic, and for each tile of a block after the first `stages` the latency that the stages do
// not hide. Each further stage hides the same share of what the stages before it left exposed.
prediction predict_ring(const machine_profile& on, const ring_policy& ring, std::int64_t count,
                        std::size_t size) {
  const costs::scan_cost& cost = cost_on(on);
  const bool engine = ring.mover == tile_mover::copy_engine;
  const double processors = std::max(1, on.limits.multiprocessors);
  const std::int64_t tile = std::max<std::int64_t>(1, ring.tile_bytes() / static_cast<std::int64_t>(size));
  const double tiles = real(ceil_div(count, tile)) / processors,
               later = std::max(0., std::ceil(tiles) - (engine ? ring.stages : 1));
  const double open =
      engine ? cost.exposed * std::pow(cost.left_by_a_stage, ring.stages - 1) : cost.exposed_by_threads;
  prediction all;
  all.add(limit::launch, on.launch.value);
  all.add(limit::latency, (engine ? cost.ring_start : cost.threads_start) - on.launch.value + later * open);
  all.add(limit::memory, 2 * real(count) * static_cast<double>(size) / on.memory_bytes.value);
  return all;
}

// All tiles at once: a start, an exchange of totals, and the array's traffic through the L2 cache.
prediction predict_wave(const machine_profile& on, std::int64_t count, std::size_t size) {
  const costs::scan_cost& cost = cost_on(on);
  const std::int64_t bytes = count * static_cast<std::int64_t>(size);
  prediction all;
  if (bytes > most_bytes_of_wave) {
    all.add(limit::memory, std::numeric_limits<double>::infinity());
    return all;
  }
  all.add(limit::launch, bytes <= wave_for(bytes).tile_bytes() ? cost.one_tile : cost.wave_start);
  all.add(limit::memory, 2 * real(bytes) / (cost.wave_reached * on.cache_bytes.value));
  return all;
}

}  // namespace

prediction predict(const machine_profile& on, const step& how, std::int64_t count, std::size_t size) {
  prediction all = is_one_wave(how)      ? predict_wave(on, count, size)
                   : is_single_pass(how) ? predict_ring(on, how.ring, count, size)
                                         : predict_passes(on, how, count, size);
  all.raise_to(least_to_move(on, 2 * static_cast<double>(count) * static_cast<double>(size)), limit::memory);
  return all;
}

}  // namespace antiphase::scans
