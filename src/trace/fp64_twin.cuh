// SPDX-License-Identifier: Apache-2.0
// The recording twin of a streaming product fed by a ring.
#pragma once
#include <antiphase/channel/recorded.cuh>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>
#include "src/gemm/stream/fp64_kernels.hpp"
#include "src/gemm/stream/ring_product.cuh"
#include "src/trace/twin.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Work of a step for the clock of the CPU executor, in instructions per thread: in a cycle, a
// multiprocessor's FP64 Tensor Cores do 128 multiply-adds and it issues an instruction for 128 threads.
template <fp64_policy P> struct recorded_fp64 {
  static constexpr int of_step =
      P.tile.m * P.tile.n * slab_k * P.slabs / (P.computing_warps() * warp_size);
  template <class Channel, int Warps> using ring = recorded<Channel, Warps, of_step>;
  using kernel_type = ring_product<P, ring>;
};

template <const auto& Table, std::size_t N> inline constexpr twin_name fp64_twin_name{Table[N].name};

template <fp64_policy P> twin fp64_twin(const char* of, const char* name) {
  using kernel_type = typename recorded_fp64<P>::kernel_type;
  return {.of = of,
          .code = kernel_of<recording<kernel_type>>(name),
          .stages = P.stages,
          .step_bytes =
              std::int64_t{P.tile.m + P.tile.n} * slab_k * P.slabs * static_cast<int>(sizeof(float)),
          .roles = {{.name = "compute", .first = 0, .count = P.computing_warps(), .computes = true},
                    {.name = "load",
                     .first = P.computing_warps(),
                     .count = kernel_type::loading_warps,
                     .loads = true}}};
}
// Twins of the rows of a table that are drawn, or of all (ANTIPHASE_TWINS).
template <const auto& Table, std::size_t... I> std::vector<twin> fp64_twins_of(std::index_sequence<I...>) {
  std::vector<twin> all;
  const auto add = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    if constexpr (every_twin || Table[N].drawn)
      all.push_back(fp64_twin<Table[N].how>(Table[N].name, fp64_twin_name<Table, N>.text));
  };
  (add(std::integral_constant<std::size_t, I>()), ...);
  return all;
}
template <const auto& Table> std::vector<twin> fp64_twins_of() {
  return fp64_twins_of<Table>(std::make_index_sequence<std::size(Table)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
