// SPDX-License-Identifier: Apache-2.0
// The recording twin of a single-pass scan: sums of FP32.
#pragma once
#include <antiphase/channel/recorded.cuh>
#include <antiphase/device/clock_work.cuh>
#include "src/scan/ring/ring_plan.hpp"
#include "src/trace/twin.hpp"

namespace antiphase::scans {
inline namespace AP_TARGET {

// For the clock of the CPU executor: a lane's instructions for its part of a tile, roughly two per element,
// and how long a role takes from event to event, fitted to the rings of 1 to 8 stages on an H200: shuffles,
// folds, words of shared memory, one after the other.
template <class Rules, ring_policy P> struct recorded_scan_ring
    : recorded<typename Rules::ring, P.threads() / 32, P.rows * 8> {
  using base = recorded<typename Rules::ring, P.threads() / 32, P.rows * 8>;
  using typename base::slot_cursor;
  static constexpr int latency = 1000;

  AP_DEV void commit(slot_cursor at, int event = base::first, auto... how) {
    if (event > base::first) clock_latency(latency);
    base::commit(at, event, how...);
  }
  AP_DEV void release(slot_cursor at, auto... how) { commit(at, base::last, how...); }
};
template <class Rules, ring_policy P> struct recorded_scan_rules : Rules {
  using ring = recorded_scan_ring<Rules, P>;
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
