// SPDX-License-Identifier: Apache-2.0
// Adds kernels of the single-pass scan to a list.
#pragma once
#include <antiphase/scan/detail/single_pass.cuh>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "library/scan/element_bits.hpp"
#include "library/scan/ring/ring_plan.hpp"

namespace antiphase::scans {
inline namespace AP_TARGET {

// Names of a step and its kernels, as literals.
struct single_pass_names {
  const char *step, *one_line, *segments;
};
template <tile_mover M> constexpr single_pass_names names_by =
    M == tile_mover::copy_engine
        ? single_pass_names{"single-pass", "scan.single-pass", "scan.single-pass.segments"}
        : single_pass_names{"single-pass-async", "scan.single-pass-async", "scan.single-pass-async.segments"};

template <class In, class Out, class Value, class Op, lines_kind L, ring_policy Ring>
void add_ring(std::vector<single_pass_instance>& list, scan_operation operation, const char* step,
              const char* called) {
  using kernel_here = single_pass<typed_elements<In, Out, Value, Op, L, Ring>>;
  static_assert(kernel_here::tile == Ring.tile_of(sizeof(In), sizeof(Out)));
  static_assert(element_of<Value> == value_type(element_of<In>, element_of<Out>, Op::operation));
  static_assert(sizeof(typename kernel_here::total_type) == total_bytes(element_of<Value>, L));
  list.push_back({.step = step,
                  .in = element_of<In>,
                  .out = element_of<Out>,
                  .operation = operation,
                  .over = L,
                  .code = kernel_of<kernel_here>(called)});
}

template <tile_mover M, class In, class Out, class Value, class Op, lines_kind L>
void add_single_pass(std::vector<single_pass_instance>& list, scan_operation operation) {
  constexpr ring_policy of_elements = ring_for(sizeof(In), sizeof(Out), std::is_integral_v<In>, L, M),
                        ring = std::is_same_v<Op, product> && !std::is_integral_v<In>
                                   ? with_values(of_elements, sizeof(In), sizeof(Value))
                                   : of_elements;
  constexpr single_pass_names called = names_by<M>;
  if constexpr (is_listed(M, AP_ON_GPU != 0, element_of<In>))
    add_ring<In, Out, Value, Op, L, ring>(list, operation, called.step,
                                          L == lines_kind::one ? called.one_line : called.segments);
}
// The type computed in: value_type().
template <class T, class Op> using computed_in = std::conditional_t<
    std::is_same_v<Op, product> && !std::is_integral_v<T>, double,
    std::conditional_t<is_narrow<T>, std::conditional_t<std::is_integral_v<T>, std::uint32_t, float>, T>>;
template <tile_mover M, lines_kind L, class Op, class... T>
void add_types(std::vector<single_pass_instance>& list) {
  (add_single_pass<M, T, T, computed_in<T, Op>, Op, L>(list, Op::operation), ...);
}
// An operator with every type of elements, unless another operator's kernels compute it.
template <tile_mover M, lines_kind L, class Op> void add_operator(std::vector<single_pass_instance>& list) {
  if constexpr (Op::one_pass_as == Op::operation)
    add_types<M, L, Op, float, double, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, f16, bf16>(
        list);
}
template <tile_mover M, class In, class... Out> void add_wide_sums(std::vector<single_pass_instance>& list) {
  (add_single_pass<M, In, Out, Out, sum, lines_kind::one>(list, scan_operation::sum), ...);
}

// The operators that a list has: those of a long list are divided, so that both compile side by side.
enum class operators_of_list { all, sum, others };
// The kernels of one line, or of several: rows, segments by key and by head flags.
template <tile_mover M, lines_kind L, operators_of_list Which = operators_of_list::all>
std::vector<single_pass_instance> kernels_of_operators() {
  std::vector<single_pass_instance> list;
  operators::each([&](auto op) {
    using Op = decltype(op);
    if constexpr (Which == operators_of_list::all ||
                  std::is_same_v<Op, sum> == (Which == operators_of_list::sum))
      add_operator<M, L, Op>(list);
  });
  return list;
}
// Sums of one line that are wider than the elements.
template <tile_mover M> std::vector<single_pass_instance> kernels_of_wide_sums() {
  std::vector<single_pass_instance> list;
  add_wide_sums<M, std::uint8_t, std::uint32_t, std::uint64_t>(list);
  add_wide_sums<M, std::uint16_t, std::uint32_t, std::uint64_t>(list);
  add_wide_sums<M, std::uint32_t, std::uint64_t>(list);
  add_wide_sums<M, f16, float>(list);
  add_wide_sums<M, bf16, float>(list);
  add_wide_sums<M, float, double>(list);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
