// The kernels of the single-pass scan (sm_90) of one line; its shorter rings for the ladder only.
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
  add_single_pass<float, float, float, sum, lines_kind::one, with_stages(1)>(list, scan_operation::sum, "single-pass-1",
                                                                             "scan.single-pass-1");
  add_single_pass<float, float, float, sum, lines_kind::one, with_stages(2)>(list, scan_operation::sum, "single-pass-2",
                                                                             "scan.single-pass-2");
  add_single_pass<float, float, float, sum, lines_kind::one, with_stages(3)>(list, scan_operation::sum, "single-pass-3",
                                                                             "scan.single-pass-3");
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
