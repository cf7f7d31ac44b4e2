// SPDX-License-Identifier: Apache-2.0
// Kernels of the one-wave scan: sums; signed integers share the kernels of unsigned ones.
#include <cstdint>
#include <utility>
#include "library/scan/wave/one_wave.cuh"

#include "library/scan/wave/wave_plan.hpp"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <class T, std::size_t... I>
void add_waves(std::vector<wave_instance>& list, std::index_sequence<I...>) {
  const auto add = [&]<wave_policy P>() {
    list.push_back({element_of<T>, scan_operation::sum, P, kernel_of<one_wave<T, sum, P>>("scan.one-wave"),
                    one_wave<T, sum, P>::tile});
  };
  (add.template operator()<wave_choices[I].policy>(), ...);
}
template <class... T> std::vector<wave_instance> list_of_waves() {
  std::vector<wave_instance> list;
  (add_waves<T>(list, std::make_index_sequence<std::size(wave_choices)>()), ...);
  return list;
}

std::vector<wave_instance> one_wave_kernels() {
  return list_of_waves<float, double, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
