// SPDX-License-Identifier: Apache-2.0
// Instantiates a table of kernels. A row has a `name` and `how`, the policy of its kernel;
// instance_of(row, code) makes an instance of it.
#pragma once
#include <antiphase/device/kernel.cuh>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <const auto& Table, template <auto> class Kernel, std::size_t... I>
auto from_table(std::index_sequence<I...>) {
  using instance_type = decltype(instance_of(Table[0], kernel{}));
  return std::vector<instance_type>{
      instance_of(Table[I], kernel_of<Kernel<Table[I].policy>>(Table[I].name))...};
}
// Kernel<row.policy> for every row.
template <const auto& Table, template <auto> class Kernel> auto from_table() {
  return from_table<Table, Kernel>(std::make_index_sequence<std::size(Table)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
