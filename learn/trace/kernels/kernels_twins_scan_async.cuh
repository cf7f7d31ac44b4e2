// SPDX-License-Identifier: Apache-2.0
// Recording twins of single-pass scans with tiles copied by threads (cp.async, sm_80): one line, and several.
#include <vector>
#include "learn/trace/twins/scan_twin.cuh"
#include "library/scan/ring/single_pass_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

// A struct, since for an alias nvcc 13.0 generates host code that names the alias's template parameter.
template <ring_policy P, lines_kind Lines = lines_kind::one> struct traced_scan_async
    : single_pass<typed_elements<float, float, float, sum, Lines, P>,
                  recorded_scan_rules<single_pass_rules<P>, P>> {};

std::vector<twin> scan_twins_by_threads() {
  using enum lines_kind;
  constexpr ring_policy line = ring_of_floats<tile_mover::threads, one>,
                        several = ring_of_floats<tile_mover::threads, segments>;
  return {scan_twin<traced_scan_async<line>>("scan.single-pass-async", "scan.single-pass-async, recorded"),
          scan_twin<traced_scan_async<several, segments>>("scan.single-pass-async.segments",
                                                          "scan.single-pass-async.segments, recorded")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
