// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace antiphase::gemms {

// What Tensor Cores cut off always makes sums smaller in magnitude. Lower parts of operands are made larger
// by about its mean, a share of the element, so that products regain it. Shares are powers of two, so that
// the product with an element is exact: of K from 64 on, from 32 on, and from 16 on.
struct mean_loss {
  float from_64, from_32, from_16;

  constexpr float of_k(std::int64_t k) const {
    return k >= 64 ? from_64 : k >= 32 ? from_32 : k >= 16 ? from_16 : 0;
  }
};

}  // namespace antiphase::gemms
