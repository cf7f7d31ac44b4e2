// SPDX-License-Identifier: Apache-2.0
// Kernels of the scan of columns: every operator that no other one's kernels compute, and sums wider than the
// elements.
#include <cstdint>
#include <vector>

#include "library/scan/columns/columns.cuh"
#include "library/scan/columns/columns_plan.hpp"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <class Op, class Value, class In, class Out = In>
void add_columns(std::vector<columns_instance>& list, scan_operation operation) {
  list.push_back(
      {element_of<In>, element_of<Out>, operation, kernel_of<columns<In, Out, Value, Op>>("scan.columns")});
}
template <class Value, class... T> void add_columns_of(std::vector<columns_instance>& list) {
  operators::each([&](auto op) {
    using Op = decltype(op);
    using computed_in =
        std::conditional_t<std::is_same_v<Op, product> && std::is_floating_point_v<Value>, double, Value>;
    if constexpr (Op::one_pass_as == Op::operation)
      (add_columns<Op, computed_in, T>(list, Op::operation), ...);
  });
}

std::vector<columns_instance> columns_kernels() {
  std::vector<columns_instance> list;
  add_columns_of<float, float, f16, bf16>(list);
  add_columns_of<double, double>(list);
  add_columns_of<std::uint32_t, std::uint8_t, std::uint16_t, std::uint32_t>(list);
  add_columns_of<std::uint64_t, std::uint64_t>(list);
  const auto add_wide = [&]<class Out, class... In>() {
    (add_columns<sum, Out, In, Out>(list, scan_operation::sum), ...);
  };
  add_wide.operator()<std::uint32_t, std::uint8_t, std::uint16_t>();
  add_wide.operator()<std::uint64_t, std::uint8_t, std::uint16_t, std::uint32_t>();
  add_wide.operator()<float, f16, bf16>();
  add_wide.operator()<double, float>();
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
