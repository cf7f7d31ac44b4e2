// SPDX-License-Identifier: Apache-2.0
// Kernels in pairs: one that the PTX ISA or the CUDA guide allows, and one that violates a requirement.
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <cstdint>
#include <vector>

#include "tests/support/mutant.hpp"

namespace antiphase::letter {

// The host fills `in`; `out` and `flag` start as zeros.
constexpr int words = 256, flags = 8;
struct params {
  tensor_map map;  // of `out`, 16 rows of 16 words: boxes of 8 x 8, not swizzled
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t* flag;
};
constexpr std::uint32_t input(int i) { return static_cast<std::uint32_t>(i) * 40503u + 77u; }

struct use {
  unsigned blocks = 1;
  bool (*right)(const std::vector<std::uint32_t>& out) = nullptr;  // null: numbers are not checked
  bool in_every_schedule = false;                                  // the finding comes in every schedule
};
using mutant = test::mutant<use>;

}  // namespace antiphase::letter
