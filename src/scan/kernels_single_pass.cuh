// The kernels of the single-pass scan (sm_90) of one line.
#include "single_pass_list.cuh"

namespace antiphase::prefix {
inline namespace AP_TARGET {

std::vector<single_pass_instance> single_pass_kernels() {
  std::vector<single_pass_instance> list;
  add_operations<float>(list);
  add_operations<double>(list);
  add_operations<std::uint8_t>(list);
  add_operations<std::uint16_t>(list);
  add_operations<std::uint32_t>(list);
  add_operations<std::uint64_t>(list);
  add_operations<f16>(list);
  add_operations<bf16>(list);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
