// SPDX-License-Identifier: Apache-2.0
// What lines of kernels ask memory for, drawn as SVG.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace antiphase::tool {

// One kind of request of a line.
struct drawn_request {
  std::string text;            // line 16: shared read
  std::string source;          // empty: not known
  std::string unit;            // wavefront or sector
  double each = 0, ideal = 0;  // of these, per request
};
struct drawn_kernel {
  std::string name;
  std::vector<drawn_request> requests;
};

// A bar for each request: what it ideally takes, and what conflicts or a lack of coalescing add.
std::string count_svg(std::span<const drawn_kernel> kernels);

}  // namespace antiphase::tool
