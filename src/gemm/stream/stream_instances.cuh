// SPDX-License-Identifier: Apache-2.0
// From the table of streaming kernels to lists of instances.
#pragma once
#include <antiphase/device/kernel.cuh>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>
#include "src/gemm/stream/stream_kernels.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <const auto& Table, template <stream_policy> class Kernel, std::size_t... I>
std::vector<stream_instance> stream_instances_of(std::index_sequence<I...>) {
  return {stream_instance{Table[I].form, Table[I].how, kernel_of<Kernel<Table[I].how>>(Table[I].name)}...};
}
// Of all rows of the table, Kernel<row.how>.
template <const auto& Table, template <stream_policy> class Kernel>
std::vector<stream_instance> stream_instances_of() {
  return stream_instances_of<Table, Kernel>(std::make_index_sequence<std::size(Table)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
