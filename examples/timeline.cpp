// SPDX-License-Identifier: Apache-2.0
// Records the timeline of a user's kernel by replacing its ring with a recording one. `antiphase trace
// --read` draws the output.
#include <antiphase/channel/recorded.cuh>
#include <antiphase/context.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/trace.hpp>
#include <cstdio>
#include <memory>
#include <vector>
#include "bulk_copy.cuh"

using namespace antiphase;

int main() {
  constexpr examples::bulk_copy_policy how{.stages = 3, .warps = 4, .tile = 1024};
  constexpr int warps = 1 + how.warps, room = 256;  // of the block; most spans recorded per warp
  using ring = recorded<examples::bulk_copy_ring<how>, warps, 50>;
  using twin = recording<examples::bulk_copy<how, ring>>;

  const auto h200 = std::make_shared<const timed_machine>(timed_machine{.profile = shipped_profile("H200")});
  const context where(make_cpu_executor({.limits = h200->profile.limits, .timed = h200}));
  const std::vector<float> ones(40 * 1024, 1);
  const device_array<float> from(where, ones);
  device_array<float> to(where, ones.size());
  device_array<span_record> spans(where, warps * room);
  device_array<std::int32_t> counts(where, std::vector<std::int32_t>(warps, 0));
  const twin::params params{{from.data(), to.data(), 40 * 1024}, {spans.data(), counts.data(), room, 0}};
  where.runs_on().launch(kernel_of<twin>("bulk copy, recorded"), {2, 1, 1}, &params, nullptr);

  const timeline t = read_spans({.policy = "three stages",
                                 .device = where.limits().name,
                                 .stages = how.stages,
                                 .warps = warps,
                                 .kernel = "bulk copy",
                                 .step_is = "tile",
                                 .roles = {{.name = "load", .loads = true},
                                           {.name = "compute", .first = 1, .count = 4, .computes = true}},
                                 .step_bytes = how.tile * 4},
                                spans.to_host(), counts.to_host());
  std::fputs(to_json(t).c_str(), stdout);
}
