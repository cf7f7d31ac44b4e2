// SPDX-License-Identifier: Apache-2.0
// Timelines as one SVG picture.
#pragma once
#include <antiphase/trace.hpp>
#include <span>
#include <string>

namespace antiphase::tool {

struct picture_options {
  std::string title{};  // empty: "One block of a GEMM kernel, recorded on NVIDIA H200", or similar
  int steps = 0;        // number of steps drawn of each timeline; 0: all recorded ones
};

// An SVG with the timelines below each other on a common time scale: a row per buffer and one for the
// computing warps. A buffer's row shows load in flight and compute, or one bar per phase if the ring has more
// events. Equal timelines give equal text. All must have the same unit; throws bad_request if they differ, or
// if there are none.
std::string timeline_svg(std::span<const timeline> timelines, const picture_options& options = {});

}  // namespace antiphase::tool
