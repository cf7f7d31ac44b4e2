// SPDX-License-Identifier: Apache-2.0
// The recording twins of single-pass scans: sums of FP32, one line (sm_90).
#include <antiphase/channel/recorded.cuh>
#include <vector>
#include "src/scan/ring/single_pass_list.cuh"
#include "src/trace/twin.hpp"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <ring_policy P> struct recorded_scan_rules : single_pass_rules<P> {
  // A lane's instructions for its part of a tile, roughly, for the clock of the CPU executor: an element costs two.
  using ring = recorded<typename single_pass_rules<P>::ring, P.threads() / 32, P.rows * 8>;
};

template <ring_policy P> twin scan_twin(const char* of, const char* name) {
  using elements = typed_elements<float, float, float, sum, lines_kind::one, P>;
  using kernel_type = single_pass<elements, recorded_scan_rules<P>>;
  const int w = P.warps;
  return {.of = of,
          .code = kernel_of<recording<kernel_type>>(name),
          .stages = P.stages,
          .step_bytes = P.tile_bytes(),
          .step_is = "tile",
          .phases = {"load", "reduce", "look back", "scan", "store"},
          .roles = {{.name = "load", .first = 2 * w, .loads = true},
                    {.name = "reduce", .first = w, .count = w, .computes = true},
                    {.name = "publish", .first = 2 * w + 1},
                    {.name = "look back", .first = 2 * w + 2},
                    {.name = "scan", .first = 0, .count = w, .computes = true},
                    {.name = "store", .first = 2 * w + 3}}};
}

std::vector<twin> scan_twins() {
  return {scan_twin<with_stages(1)>("scan.single-pass-1", "scan.single-pass-1, recorded"),
          scan_twin<with_stages(2)>("scan.single-pass-2", "scan.single-pass-2, recorded"),
          scan_twin<with_stages(3)>("scan.single-pass-3", "scan.single-pass-3, recorded"),
          scan_twin<ring_scan_policy>("scan.single-pass", "scan.single-pass, recorded")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
