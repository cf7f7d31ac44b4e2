// Entering kernels of the single-pass scan into a list.
#pragma once
#include <antiphase/scan/single_pass.cuh>
#include <cstdint>
#include <vector>

#include "src/scan/single_pass.hpp"

namespace antiphase::prefix {
inline namespace AP_TARGET {

template <class In, class Out, class Value, class Op, lines_kind L,
          ring_policy Ring = ring_for(sizeof(In), sizeof(Out), std::is_integral_v<In>, L)>
void add_single_pass(std::vector<single_pass_instance>& list, scan_operation operation, std::string_view step = "single-pass",
                     const char* called = L == lines_kind::one ? "scan.single-pass" : "scan.single-pass.segments") {
  using kernel_here = single_pass<typed_elements<In, Out, Value, Op, L, Ring>>;
  list.push_back({.step = step,
                  .in = element_of<In>,
                  .out = element_of<Out>,
                  .operation = operation,
                  .over = L,
                  .code = kernel_of<kernel_here>(called),
                  .tile = kernel_here::tile,
                  .value = element_of<Value>,
                  .total_bytes = sizeof(typename kernel_here::total_type)});
}
// What is computed with.
template <class T> using computed_in = std::conditional_t<is_narrow<T>, std::conditional_t<std::is_integral_v<T>, std::uint32_t, float>, T>;
// Sum, product and minimum, which is the maximum too: see element_values.cuh.
template <class T, lines_kind L = lines_kind::one> void add_operations(std::vector<single_pass_instance>& list) {
  add_single_pass<T, T, computed_in<T>, sum, L>(list, scan_operation::sum);
  add_single_pass<T, T, computed_in<T>, product, L>(list, scan_operation::product);
  add_single_pass<T, T, computed_in<T>, minimum, L>(list, scan_operation::min);
}

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
