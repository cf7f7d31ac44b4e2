// SPDX-License-Identifier: Apache-2.0
// Kernels of the single-pass scan (sm_90) of one line, and its shorter rings, which only the ladder has.
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/joined_name.hpp"
#include "single_pass_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <std::size_t I> struct ring_name {
  static constexpr std::array<std::string_view, 2> parts{"scan.", steps[I].name};
};
template <std::size_t I> void add_short_ring(std::vector<single_pass_instance>& list) {
  if constexpr (is_short_ring(steps[I]))
    add_ring<float, float, float, sum, lines_kind::one, steps[I].ring>(list, scan_operation::sum,
                                                                       steps[I].name, joined<ring_name<I>>);
}

std::vector<single_pass_instance> single_pass_kernels() {
  std::vector<single_pass_instance> list = kernels_of_operators<tile_mover::copy_engine, lines_kind::one>();
  [&]<std::size_t... I>(std::index_sequence<I...>) { (add_short_ring<I>(list), ...); }
  (std::make_index_sequence<std::size(steps)>());
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
