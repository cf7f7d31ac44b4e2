// The kernels of the single-pass scan (sm_90): sums, those of signed integers as those of unsigned ones; its shorter rings for the ladder
// only.
#include <antiphase/scan/single_pass.cuh>
#include <cstdint>

#include "kernel_list.cuh"

namespace antiphase::prefix {
inline namespace AP_TARGET {

template <class T, ring_policy P> void add_ring(std::vector<instance>& list, const char* step, const char* called) {
  using scan = single_pass<T, sum, P>;
  list.push_back({.step = step,
                  .type = element_of<T>,
                  .operation = scan_operation::sum,
                  .how = single_pass_policy,
                  .kernels = {{}, kernel_of<scan>(called), scan::tile}});
}
template <class... T> void add_single_pass(std::vector<instance>& list) {
  (add_ring<T, ring_scan_policy>(list, "single-pass", "scan.single-pass"), ...);
}

std::vector<instance> single_pass_kernels() {
  std::vector<instance> list;
  add_single_pass<float, double, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(list);
  add_ring<float, with_stages(1)>(list, "single-pass-1", "scan.single-pass-1");
  add_ring<float, with_stages(2)>(list, "single-pass-2", "scan.single-pass-2");
  add_ring<float, with_stages(3)>(list, "single-pass-3", "scan.single-pass-3");
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
