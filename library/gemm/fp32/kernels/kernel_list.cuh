// SPDX-License-Identifier: Apache-2.0
// Entering instances of the tiled kernel into a list.
#pragma once
#include <antiphase/gemm/ladder.hpp>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>
#include "core/joined_name.hpp"
#include "library/gemm/fp32/tiled.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <policy P> void add(std::vector<instance>& list, const char* step, const char* name) {
  list.push_back({step, P, kernel_of<tiled<P>>(name)});
}

constexpr policy only(policy p, parts run) {
  p.run = run;
  return p;
}

// Also the kernels that only load and only compute, to measure Tl and Tc.
template <policy P> void add_with_parts(std::vector<instance>& list, const char* step, const char* name) {
  add<P>(list, step, name);
  add<only(P, parts::load_only)>(list, step, name);
  add<only(P, parts::compute_only)>(list, step, name);
}

template <std::size_t I> struct kernel_name {
  static constexpr std::array<std::string_view, 2> parts{"gemm.", steps[I].name};
};
// The steps with one kernel for any strides whose tiles are copied that way, with parts. naive has a kernel
// of its own; steps with variants for how the operands lie have lists of their own.
template <copy_kind Copy, std::size_t I> void add_step(std::vector<instance>& list) {
  if constexpr (is_general_step(steps[I]) && steps[I].policy.copy == Copy)
    add_with_parts<steps[I].policy>(list, steps[I].name, joined<kernel_name<I>>);
}
template <copy_kind Copy> void add_general_steps(std::vector<instance>& list) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (add_step<Copy, I>(list), ...); }
  (std::make_index_sequence<std::size(steps)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
