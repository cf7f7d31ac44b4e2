// The kernels of the ladder's other steps: sums only, to bound what has to be compiled.
#include <cstdint>

#include "kernel_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <policy P> void add_sums(std::vector<instance>& list, const names& called) {
  add<float, sum, P>(list, called, scan_operation::sum);
  add<double, sum, P>(list, called, scan_operation::sum);
  add<std::uint32_t, sum, P>(list, called, scan_operation::sum);
}

std::vector<instance> ladder_kernels() {
  std::vector<instance> list;
  add_sums<two_barriers_policy>(list, {"two-barriers", "scan.two-barriers.totals", "scan.two-barriers"});
  add_sums<double_buffer_policy>(list, {"double-buffer", "scan.double-buffer.totals", "scan.double-buffer"});
  add_sums<warp_shuffle_policy>(list, {"warp-shuffle", "scan.warp-shuffle.totals", "scan.warp-shuffle"});
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
