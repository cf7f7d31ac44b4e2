// SPDX-License-Identifier: Apache-2.0
// Recording twins of single-pass scans with tiles copied by TMA (sm_90): one line, and several.
#include <vector>
#include "learn/trace/twins/scan_twin.cuh"
#include "library/scan/ring/single_pass_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

// A struct, since for an alias nvcc 13.0 generates host code that names the alias's template parameter.
template <ring_policy P, lines_kind Lines = lines_kind::one> struct traced_scan
    : single_pass<typed_elements<float, float, float, sum, Lines, P>,
                  recorded_scan_rules<single_pass_rules<P>, P>> {};

std::vector<twin> scan_twins() {
  using enum lines_kind;
  constexpr ring_policy ring = ring_of_floats<tile_mover::copy_engine, segments>;
  return {scan_twin<traced_scan<with_stages(1)>>("scan.single-pass-1", "scan.single-pass-1, recorded"),
          scan_twin<traced_scan<with_stages(2)>>("scan.single-pass-2", "scan.single-pass-2, recorded"),
          scan_twin<traced_scan<with_stages(3)>>("scan.single-pass-3", "scan.single-pass-3, recorded"),
          scan_twin<traced_scan<ring_scan_policy>>("scan.single-pass", "scan.single-pass, recorded"),
          scan_twin<traced_scan<ring, segments>>("scan.single-pass.segments",
                                                 "scan.single-pass.segments, recorded")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
