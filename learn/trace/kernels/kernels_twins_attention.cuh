// SPDX-License-Identifier: Apache-2.0
// Recording twins of attention by FP32 multiply-adds: with one buffer, and with two (sm_80).
#include <antiphase/channel/recorded.cuh>
#include <antiphase/device/clock_work.cuh>
#include <vector>
#include "library/attention/fp32/tiled.cuh"

#include "learn/trace/twins/twin.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

template <tiled_policy P> struct traced_attention {
  using plain = tiled_attention<P>;
  static constexpr int threads = plain::threads;
  static constexpr shared_kind shared = plain::shared;
  static constexpr bool overlaps_previous = plain::overlaps_previous;

  using params = recorded_params<typename plain::params>;
  using storage = typename plain::storage;

  // Tells the CPU executor's clock the work of a step: scores and a softmax from K, sums from V.
  struct working_recorder : recorder<> {
    using recorder<>::recorder;
    static constexpr int multiply_adds = P.rows * keys_of_tile * P.depth / warp_size;
    // Queries or weights, which all lanes share, and the lane's part of a tile, 16 bytes at a time.
    static constexpr int reads = (P.rows + keys_of_tile / 8) * P.depth / 4;
    static constexpr int softmax = 24 * P.rows;  // an exponential is 13 instructions

    template <class Load> AP_DEV auto load(Load load) {
      return recorder<>::load([load](int step, int slot) {
        load(step, slot);
        if constexpr (!plain::asynchronous) {
          clock_wide_loads(keys_of_tile * P.depth * static_cast<int>(sizeof(float)) / threads, false);
          clock_registers_needed();
        }
      });
    }
    template <class Compute> AP_DEV auto compute(Compute compute) {
      return recorder<>::compute([compute](int step, int slot) {
        compute(step, slot);
        clock_multiplies(multiply_adds, reads, false);
        if (step % 2 == 0) clock_instructions(softmax);
      });
    }
  };

  AP_DEV void operator()(const params& p) const {
    working_recorder spans(p.log);
    plain::run(p.params, spans);
    spans.finish(p.log);
  }
};

template <tiled_policy P> twin tiled_twin(const char* of, const char* name) {
  return {.kernel_name = of,
          .code = kernel_of<traced_attention<P>>(name),
          .stages = P.buffers,
          .step_bytes = std::int64_t{keys_of_tile} * P.depth * static_cast<int>(sizeof(float)),
          .spans_are = twin::spans::complete,
          .step_is = "tile of K or V",
          .step_work = std::int64_t{P.tile()} * keys_of_tile * P.depth};
}
std::vector<twin> twins_by_multiply_adds() {
  static_assert(tiled_policies[1].depth == 64 && tiled_policies[2].depth == 128);
  return {tiled_twin<tiled_policies[1]>("attention.tiled", "attention.tiled, recorded"),
          tiled_twin<tiled_policies[2]>("attention.tiled", "attention.tiled, recorded"),
          tiled_twin<double_buffered_policies[1]>("attention.double-buffered",
                                                  "attention.double-buffered, recorded"),
          tiled_twin<double_buffered_policies[2]>("attention.double-buffered",
                                                  "attention.double-buffered, recorded")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
