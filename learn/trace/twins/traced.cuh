// SPDX-License-Identifier: Apache-2.0
// The tiled GEMM kernel with a recorder: the same code, which also logs the timeline of one block.
#pragma once
#include <antiphase/channel/recorder.cuh>
#include <antiphase/device/clock_work.cuh>
#include <antiphase/gemm/ladder.hpp>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>
#include "core/joined_name.hpp"
#include "learn/trace/twins/traced_problem.hpp"
#include "library/gemm/fp32/reads_of_step.hpp"
#include "library/gemm/fp32/tiled.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The recorder needs registers of its own, so no second block per multiprocessor is requested: spills would
// show up as time.
template <policy P> struct traced {
  static constexpr int threads = tiled<P>::threads;
  static constexpr shared_kind shared = tiled<P>::shared;

  using params = traced_problem;
  using storage = typename tiled<P>::storage;

  static constexpr int register_floats =
      (P.copy == copy_kind::registers || P.a.transposed() ? P.tile.m * P.tile_k : 0) +
      (P.copy == copy_kind::registers || P.b.transposed() ? P.tile.n * P.tile_k : 0);
  static constexpr int register_bytes = register_floats * static_cast<int>(sizeof(float)) / threads;

  // Says what a step does, for the clock of the CPU executor: loads to registers, narrow, or wide ones that
  // are transposed there; multiply-adds, and reads of what they multiply.
  struct working_recorder : recorder<> {
    using recorder<>::recorder;
    template <class Load> AP_DEV auto load(Load load) {
      return recorder<>::load([load](int step, int slot) {
        load(step, slot);
        if constexpr (P.copy == copy_kind::registers)
          clock_register_loads(register_bytes);
        else if constexpr (register_bytes > 0)
          clock_wide_loads(register_bytes, true);
        if constexpr (P.stores_first) clock_registers_needed();
      });
    }
    template <class Compute> AP_DEV auto compute(Compute compute) {
      return recorder<>::compute([compute](int step, int slot) {
        compute(step, slot);
        clock_multiplies(P.tile.m * P.tile.n * P.tile_k / threads, static_cast<int>(reads_of_step(P)),
                         P.fragments > 1);
      });
    }
  };

  AP_DEV void operator()(const params& p) const {
    working_recorder spans(p.log);
    tiled<P>::run(p.problem, spans);
    spans.finish(p.log);
  }
};

template <std::size_t I> struct traced_name {
  static constexpr std::array<std::string_view, 3> parts{"gemm.", steps[I].name, ", recorded"};
};
// Twins of the steps that have one kernel for any strides and copy tiles by `Copy`.
template <copy_kind Copy, std::size_t I> void add_traced_step(std::vector<instance>& list) {
  if constexpr (is_general_step(steps[I]) && steps[I].policy.copy == Copy)
    list.push_back(
        {steps[I].name, steps[I].policy, kernel_of<traced<steps[I].policy>>(joined<traced_name<I>>)});
}
template <copy_kind Copy> void add_traced_steps(std::vector<instance>& list) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (add_traced_step<Copy, I>(list), ...); }
  (std::make_index_sequence<std::size(steps)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
