// The tiled GEMM kernel with a recorder: the same code, and the timeline of one of its blocks.
#pragma once
#include <antiphase/channel/recorder.cuh>
#include <antiphase/gemm/tiled.cuh>
#include <antiphase/gemm/traced_problem.hpp>

namespace antiphase::mm {
inline namespace AP_TARGET {

// The recorder takes registers of its own, so no second block per multiprocessor is asked for: spilled registers would show up as time.
template <policy P> struct traced {
  static constexpr int threads = tiled<P>::threads;
  static constexpr shared_kind shared = tiled<P>::shared;

  using params = traced_problem;
  using storage = typename tiled<P>::storage;

  AP_DEV void operator()(const params& p) const {
    recorder spans(p.log);
    tiled<P>::run(p.what, spans);
    spans.finish(p.log);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::mm
