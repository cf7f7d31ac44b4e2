// SPDX-License-Identifier: Apache-2.0
// The cost model of the scan ladder, fitted to f32 sums of 2^16 and 2^28 elements on an H200, rings
// also to 2^24. See docs/model.md.
#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/law.hpp>
#include <cmath>
#include <limits>

namespace antiphase::scans {
namespace {

double real(std::int64_t x) { return static_cast<double>(x); }

// Several passes read the array twice and write it once; the limit is the work of a thread per access.
struct passes_law {
  double start;   // seconds, all launches together
  double clocks;  // of a multiprocessor per access: an element, or 16 bytes in the step items
};
passes_law law_of(const policy& how) {
  switch (how.how) {
    case method::two_barriers: return {7.4e-6, 4.50};
    case method::double_buffer: return {7.2e-6, 4.37};
    default: return how.bytes == 0 ? passes_law{7.1e-6, 4.29} : passes_law{11.5e-6, 8.05};
  }
}
prediction predict_passes(const machine_profile& on, const step& how, std::int64_t count, std::size_t size) {
  const passes_law law = law_of(how.how);
  const double processors = std::max(1, on.limits.multiprocessors),
               bytes = 3 * real(count) * static_cast<double>(size);
  const double moving = bytes / on.memory_bytes.value;
  const double working = real(count) / how.how.chunk(size) * law.clocks / (processors * on.clock.value);
  prediction all;
  all.add(limit::launch, std::min(law.start, 3 * on.launch.value));
  all.add(limit::latency, law.start - all.seconds);
  all.add(moving > working ? limit::memory : limit::barriers, std::max(moving, working));
  return all;
}

// A ring: the traffic, and for each tile of a block after the first `stages` the latency that the stages do
// not hide. Each further stage hides the same share of what the stages before it left exposed.
constexpr double ring_start = 5.0e-6, ring_by_threads_start = 7.3e-6;
// seconds per tile, nothing overlapped; the share that each further stage leaves
constexpr double exposed = 4.15e-6, left_by_a_stage = 0.63;
constexpr double exposed_by_threads = 2.1e-6;  // seconds per tile, four stages filled by threads
prediction predict_ring(const machine_profile& on, const ring_policy& ring, std::int64_t count,
                        std::size_t size) {
  const bool engine = ring.mover == tile_mover::copy_engine;
  const double processors = std::max(1, on.limits.multiprocessors);
  const std::int64_t tile = std::max<std::int64_t>(1, ring.tile_bytes() / static_cast<std::int64_t>(size));
  const double tiles = real(ceil_div(count, tile)) / processors,
               later = std::max(0., std::ceil(tiles) - (engine ? ring.stages : 1));
  const double open = engine ? exposed * std::pow(left_by_a_stage, ring.stages - 1) : exposed_by_threads;
  prediction all;
  all.add(limit::launch, on.launch.value);
  all.add(limit::latency, (engine ? ring_start : ring_by_threads_start) - on.launch.value + later * open);
  all.add(limit::memory, 2 * real(count) * static_cast<double>(size) / on.memory_bytes.value);
  return all;
}

// All tiles at once: a start, an exchange of totals, and the array's traffic through the L2 cache.
prediction predict_wave(const machine_profile& on, std::int64_t count, std::size_t size) {
  // seconds; seconds for one tile; share of the L2 rate
  constexpr double start = 1.9e-6, alone = 1.15e-6, reached = 0.57;
  const std::int64_t bytes = count * static_cast<std::int64_t>(size);
  prediction all;
  if (bytes > most_bytes_of_wave) {
    all.add(limit::memory, std::numeric_limits<double>::infinity());
    return all;
  }
  all.add(limit::launch, bytes <= wave_for(bytes).tile_bytes() ? alone : start);
  all.add(limit::memory, 2 * real(bytes) / (reached * on.cache_bytes.value));
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
