// SPDX-License-Identifier: Apache-2.0
// The finishing pass: a kernel over C for epilogues that the product's own kernel does not apply.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>
#include <cstdint>

#include "library/gemm/operands/finish/ending.hpp"

namespace antiphase::gemms {

// Outputs of a block: along the index with the larger stride, along the other one.
constexpr extent2 finish_tile{8, 128};

struct finish_problem {
  members<float> c;
  float* const* c_of;  // by pointers: where each member's C begins; null: by strides
  ending end;
  bool multiplied;  // C holds sums; else all sums are 0 and C is not read for them
  std::int64_t rows, columns;
  std::uint32_t tiles_down, tiles_across;  // of a member
};

struct finish_instance {
  kernel code;
};

}  // namespace antiphase::gemms
