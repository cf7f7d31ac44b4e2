// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace antiphase::gemms {

// What Tensor Cores cut off always makes sums smaller in magnitude. Lower parts of operands are made larger
// by its mean, a share of the element, so that products have it again. In units of 2^-24: of the lower bits
// of operands, and of the sum of a chunk of 64 k.
struct mean_loss {
  float of_operands, of_chunk;

  // Below 16 it is left as it is.
  constexpr float of_k(std::int64_t k) const {
    const float part = k >= 64 ? 1.f : k >= 32 ? 0.5f : 0.25f;
    return k >= 16 ? (of_operands + part * of_chunk) * 0x1p-24f : 0;
  }
};

}  // namespace antiphase::gemms
