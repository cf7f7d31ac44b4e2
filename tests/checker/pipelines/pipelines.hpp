// SPDX-License-Identifier: Apache-2.0
// Kernels as libraries write them, each right and with several faults: rings, roles, clusters, look-back.
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <cstdint>
#include <vector>

#include "tests/support/mutant.hpp"

namespace antiphase::pipelines {

// `in` is written by the host, `out` and `flag` are zero.
constexpr int words = 1024, flags = 64;
struct params {
  tensor_map from, to;  // of `in` and `out`, 32 rows of 32 words: boxes of 8 x 8, not swizzled
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t* flag;
};
constexpr std::uint32_t input(int i) { return static_cast<std::uint32_t>(i) * 2654435761u >> 7 | 1u; }

struct use {
  unsigned blocks = 1;
  int launches = 1;
  bool (*right)(const std::vector<std::uint32_t>& out) = nullptr;  // null: nothing is expected
};
using mutant = test::mutant<use>;

}  // namespace antiphase::pipelines
