// SPDX-License-Identifier: Apache-2.0
// The recording twin of a single-pass scan: sums of FP32.
#pragma once
#include <algorithm>
#include <antiphase/channel/recorded.cuh>
#include <antiphase/device/clock_work.cuh>
#include "learn/trace/twins/twin.hpp"
#include "library/scan/ring/ring_plan.hpp"
#include "library/scan/ring/single_pass_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

// For the clock of the CPU executor: a lane's instructions for its part of a tile, roughly two per element,
// and how many ticks the roles take besides, as recorded on an H200: shuffles, folds, words of shared memory,
// one after the other.
namespace role_ticks {
constexpr int load = 1000, reduce = 1000, publish = 450, read_total = 1450, look_back = 400, next_tile = 500,
              scan = 650, store = 1250;
}
template <class Rules, ring_policy P> struct recorded_scan_ring
    : recorded<typename Rules::ring, P.threads() / 32, P.rows * 8> {
  using base = recorded<typename Rules::ring, P.threads() / 32, P.rows * 8>;
  using typename base::slot_cursor;

#if !AP_ON_GPU
  std::int64_t reduced_at[P.stages];

  AP_DEV void acquire(slot_cursor at, int event = base::first, auto... who) {
    base::acquire(at, event, who...);
    if (event == base::first) clock_latency(role_ticks::load);
  }
  // A total is published after those of the blocks for which this one stands.
  AP_DEV void wait(slot_cursor at, int event = base::first, auto... who) {
    base::wait(at, event, who...);
    if (event != reduced || thread_index() != (2 * P.warps + 1) * warp_size) return;
    const std::int64_t published = reduced_at[at.index] + role_ticks::publish + ticks_of_other_blocks();
    clock_latency(static_cast<int>(std::max<std::int64_t>(0, published - clock_now())));
  }
#endif
  AP_DEV void commit(slot_cursor at, int event = base::first, auto... how) {
    if (event == reduced) clock_latency(role_ticks::reduce);
    if (event == prefixed) clock_latency(role_ticks::look_back);
    if (event == scanned) clock_latency(role_ticks::scan);
#if !AP_ON_GPU
    if (event == reduced) reduced_at[at.index] = clock_now();
#endif
    base::commit(at, event, how...);
    if (event == prefixed) clock_latency(role_ticks::next_tile);
  }
  AP_DEV void release(slot_cursor at, auto... how) {
    clock_latency(role_ticks::store);
    commit(at, base::last, how...);
  }
};
#if !AP_ON_GPU
template <class Exchange> struct recorded_exchange : Exchange {
  template <reading How, class T> AP_DEV static bool get(const std::uint64_t* states, std::uint32_t tile,
                                                         std::uint32_t tag, T& total, bool wanted) {
    clock_latency(role_ticks::read_total);
    return Exchange::template get<How>(states, tile, tag, total, wanted);
  }
};
#endif
template <class Rules, ring_policy P> struct recorded_scan_rules : Rules {
  using ring = recorded_scan_ring<Rules, P>;
#if !AP_ON_GPU
  using exchange = recorded_exchange<typename Rules::exchange>;
#endif
};

// Kernel: a single_pass<> with recorded_scan_rules.
template <class Kernel> twin scan_twin(const char* of, const char* name) {
  constexpr ring_policy P = Kernel::P;
  const int w = P.warps;
  return {.kernel_name = of,
          .code = kernel_of<recording<Kernel>>(name),
          .stages = P.stages,
          .step_bytes = P.tile_bytes(),
          .step_is = "tile",
          .phases = {"load", "reduce", "look back", "scan", "store"},
          .roles = {{.name = "load", .first = 2 * w, .loads = true},
                    {.name = "reduce", .first = w, .count = w, .computes = true},
                    {.name = "publish", .first = 2 * w + 1},
                    {.name = "look back", .first = 2 * w + 2},
                    {.name = "scan", .first = 0, .count = w, .computes = true},
                    {.name = "store", .first = 2 * w + 3}},
          .step_work = P.tile_bytes() / static_cast<int>(sizeof(float))};
}
// The ring that the lists of kernels have for f32.
template <tile_mover M, lines_kind Lines>
constexpr ring_policy ring_of_floats = ring_for(sizeof(float), sizeof(float), false, Lines, M);

}  // namespace AP_TARGET
}  // namespace antiphase::scans
