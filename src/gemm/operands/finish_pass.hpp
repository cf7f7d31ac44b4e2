// SPDX-License-Identifier: Apache-2.0
// A pass over C for what a product's own kernel does not do.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>
#include <cstdint>

#include "src/gemm/operands/ending.hpp"

namespace antiphase::gemms {

// outputs of a block: of the index with the larger stride, of the other one
constexpr extent2 finish_tile{8, 128};

struct finish_problem {
  members<float> c;
  float* const* c_of;  // by pointers: where each member's C begins; null: by strides
  ending end;
  bool multiplied;  // C holds sums; if not, they are all 0
  std::int64_t rows, columns;
  std::uint32_t tiles_down, tiles_across;  // of a member
};

struct finish_instance {
  kernel code;
};

}  // namespace antiphase::gemms
