// The kernels of the single-pass scan (sm_90): sums, those of signed integers as those of unsigned ones.
#include <antiphase/scan/single_pass.cuh>
#include <cstdint>

#include "kernel_list.cuh"

namespace antiphase::prefix {
inline namespace AP_TARGET {

template <class... T> void add_single_pass(std::vector<instance>& list) {
  (list.push_back({.step = "single-pass",
                   .type = element_of<T>,
                   .operation = scan_operation::sum,
                   .how = single_pass_policy,
                   .kernels = {{},
                               kernel_of<single_pass<T, sum, ring_scan_policy>>("scan.single-pass"),
                               single_pass<T, sum, ring_scan_policy>::tile}}),
   ...);
}

std::vector<instance> single_pass_kernels() {
  std::vector<instance> list;
  add_single_pass<float, double, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(list);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
