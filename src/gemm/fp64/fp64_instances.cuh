// SPDX-License-Identifier: Apache-2.0
// From the table of streaming kernels to lists of instances.
#pragma once
#include <antiphase/device/kernel.cuh>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>
#include "src/gemm/fp64/fp64_kernels.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <const auto& Table, template <fp64_policy> class Kernel, std::size_t... I>
std::vector<fp64_instance> fp64_instances_of(std::index_sequence<I...>) {
  return {fp64_instance{Table[I].form, Table[I].how, kernel_of<Kernel<Table[I].how>>(Table[I].name)}...};
}
// Of all rows of the table, Kernel<row.how>.
template <const auto& Table, template <fp64_policy> class Kernel>
std::vector<fp64_instance> fp64_instances_of() {
  return fp64_instances_of<Table, Kernel>(std::make_index_sequence<std::size(Table)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
