// The kernels of the single-pass scan of several lines: rows, and segments by key and by head flags.
#include "single_pass_list.cuh"

namespace antiphase::prefix {
inline namespace AP_TARGET {

std::vector<single_pass_instance> single_pass_segments_kernels() {
  std::vector<single_pass_instance> list;
  add_operations<float, lines_kind::segments>(list);
  add_operations<double, lines_kind::segments>(list);
  add_operations<std::uint32_t, lines_kind::segments>(list);
  add_operations<std::uint64_t, lines_kind::segments>(list);
  add_operations<f16, lines_kind::segments>(list);
  add_operations<bf16, lines_kind::segments>(list);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
