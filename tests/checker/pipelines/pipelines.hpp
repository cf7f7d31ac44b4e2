// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of libraries, each correct and with several faults: rings, roles, clusters, look-back.
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <cstdint>
#include <vector>

#include "tests/support/mutant.hpp"

namespace antiphase::pipelines {

// The host fills `in`; `out` and `flag` start as zeros.
constexpr int words = 1024, flags = 64;
struct params {
  tensor_map source, target;  // of `in` and `out`, 32 rows of 32 words: boxes of 8 x 8, not swizzled
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t* flag;
};
constexpr std::uint32_t input(int i) { return static_cast<std::uint32_t>(i) * 2654435761u >> 7 | 1u; }

struct use {
  unsigned blocks = 1;
  int launches = 1;
  bool (*right)(const std::vector<std::uint32_t>& out) = nullptr;  // null: numbers are not checked
};
using mutant = test::mutant<use>;

}  // namespace antiphase::pipelines
