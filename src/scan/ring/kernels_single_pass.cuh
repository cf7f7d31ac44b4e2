// The kernels of the single-pass scan (sm_90) of one line; its shorter rings for the ladder only.
#include "single_pass_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <int Stages> void add_short_ring(std::vector<single_pass_instance>& list, const char* step, const char* called) {
  add_ring<float, float, float, sum, lines_kind::one, with_stages(Stages)>(list, scan_operation::sum, step, called);
}

std::vector<single_pass_instance> single_pass_kernels() {
  std::vector<single_pass_instance> list = kernels_of_one_line<tile_mover::copy_engine>();
  add_short_ring<1>(list, "single-pass-1", "scan.single-pass-1");
  add_short_ring<2>(list, "single-pass-2", "scan.single-pass-2");
  add_short_ring<3>(list, "single-pass-3", "scan.single-pass-3");
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
