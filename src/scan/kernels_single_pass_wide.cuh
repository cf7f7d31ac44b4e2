// The kernels of the single-pass scan whose sums are wider than the elements.
#include "single_pass_list.cuh"

namespace antiphase::prefix {
inline namespace AP_TARGET {

template <class In, class... Out> void add_wide_sums(std::vector<single_pass_instance>& list) {
  (add_single_pass<In, Out, Out, sum, lines_kind::one>(list, scan_operation::sum), ...);
}

std::vector<single_pass_instance> single_pass_wide_kernels() {
  std::vector<single_pass_instance> list;
  add_wide_sums<std::uint8_t, std::uint32_t, std::uint64_t>(list);
  add_wide_sums<std::uint16_t, std::uint32_t, std::uint64_t>(list);
  add_wide_sums<std::uint32_t, std::uint64_t>(list);
  add_wide_sums<f16, float>(list);
  add_wide_sums<bf16, float>(list);
  add_wide_sums<float, double>(list);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
