// SPDX-License-Identifier: Apache-2.0
// Recording twins of one-wave scans: sums of FP32. A block has one tile and no ring; its phases are recorded.
#include <antiphase/channel/recorded.cuh>
#include <antiphase/channel/recorder.cuh>
#include <antiphase/device/clock_work.cuh>
#include <cstddef>
#include <utility>
#include <vector>
#include "learn/trace/twins/twin.hpp"
#include "library/scan/wave/one_wave.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

// Logs a warp's phases as the operations of a ring of one slot, which complete_from_verbs() reads. Advances
// the clock of the CPU executor by a thread's loads, `Bytes`, and its instructions.
template <int Bytes> class wave_recorder {
 public:
  AP_DEV explicit wave_recorder(const span_log& log) : spans_(log) {}

  AP_DEV void operator()(wave_phase at) {
    // one per element: first to add it up, then to scan it
    constexpr int instructions = Bytes / static_cast<int>(sizeof(float));
    switch (at) {
      case wave_phase::begins: break;
      case wave_phase::loading:
        clock_wide_loads(Bytes, false);
        log(span_kind::load, 0, since_);
        break;
      case wave_phase::loaded:
        clock_registers_needed();
        log(span_kind::wait, 0, since_);
        break;
      case wave_phase::has_total:
        clock_instructions(instructions);
        log(span_kind::commit, 1, clock_now());
        break;
      case wave_phase::has_totals: log(span_kind::wait, 1, since_); break;
      case wave_phase::looks_back: break;
      case wave_phase::has_prefix:
        log(span_kind::wait, 2, since_);
        log(span_kind::commit, 2, clock_now());
        break;
      case wave_phase::scanned:
        clock_instructions(instructions);
        log(span_kind::commit, 3, clock_now());
        break;
      case wave_phase::stored: log(span_kind::release, 4, clock_now()); break;
    }
    since_ = clock_now();
  }
  AP_DEV void finish(const span_log& log) const { spans_.finish(log); }

 private:
  AP_DEV void log(span_kind kind, int event, std::int64_t begin) { spans_.add(kind, 0, 0, begin, event); }

  recorder<> spans_;
  std::int64_t since_ = 0;  // begin of the current phase
};

template <wave_policy P> struct traced_wave {
  using plain = one_wave<float, sum, P>;
  static constexpr int threads = plain::threads;
  static constexpr residency blocks = plain::blocks;
  static constexpr bool overlaps_previous = plain::overlaps_previous;
  using params = recorded_params<typename plain::params>;
  using storage = typename plain::storage;

  AP_DEV void operator()(const params& p) const {
    wave_recorder<P.rows * 16> phases(p.log);
    plain::run(p.params, phases);
    phases.finish(p.log);
  }
};

template <wave_policy P> twin wave_twin() {
  return {.kernel_name = "scan.one-wave",
          .code = kernel_of<traced_wave<P>>("scan.one-wave, recorded"),
          .stages = 1,
          .step_bytes = P.tile_bytes(),
          .step_is = "tile",
          .phases = {"load", "totals", "look back", "scan", "store"},
          .roles = {{.name = "scan", .first = 0, .count = P.warps, .loads = true, .computes = true}},
          .step_work = P.tile_bytes() / static_cast<int>(sizeof(float))};
}

std::vector<twin> wave_twins() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<twin>{wave_twin<wave_choices[I].policy>()...};
  }
  (std::make_index_sequence<std::size(wave_choices)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
