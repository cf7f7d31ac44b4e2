// The tiled GEMM kernel with a recorder: the same code, and the timeline of one of its blocks.
#pragma once
#include <antiphase/channel/recorder.cuh>
#include "src/gemm/ladder/tiled.cuh"
#include "src/trace/traced_problem.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The recorder takes registers of its own, so no second block per multiprocessor is asked for: spilled registers would show up as time.
template <policy P> struct traced {
  static constexpr int threads = tiled<P>::threads;
  static constexpr shared_kind shared = tiled<P>::shared;

  using params = traced_problem;
  using storage = typename tiled<P>::storage;

  static constexpr int register_floats = (P.copy == copy_kind::registers || P.a.transposed() ? P.tile.m * P.tile_k : 0) +
                                         (P.copy == copy_kind::registers || P.b.transposed() ? P.tile.n * P.tile_k : 0);
  static constexpr step_work work{.multiply_adds = P.tile.m * P.tile.n * P.tile_k / threads,
                                  .register_bytes = register_floats * static_cast<int>(sizeof(float)) / threads};

  AP_DEV void operator()(const params& p) const {
    recorder<work> spans(p.log);
    tiled<P>::run(p.what, spans);
    spans.finish(p.log);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
