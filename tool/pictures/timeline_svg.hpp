// SPDX-License-Identifier: Apache-2.0
// Timelines as one picture.
#pragma once
#include <antiphase/trace.hpp>
#include <span>
#include <string>

namespace antiphase::tool {

struct picture_options {
  std::string title{};  // empty: "One block of a GEMM kernel, recorded on NVIDIA H200", or what it is
  int steps = 0;        // draw so many steps of each timeline; 0: all that were recorded
};

// An SVG with the timelines below each other on one scale of time: a row per buffer (load in flight, compute;
// of a ring with more events a bar for each of its phases) and one for the warps that compute. The same
// timelines give the same text. All must be of one unit; throws bad_request if they are not, or if there is
// none.
std::string timeline_svg(std::span<const timeline> timelines, const picture_options& options = {});

}  // namespace antiphase::tool
