// SPDX-License-Identifier: Apache-2.0
// Products with few values of k.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>

namespace antiphase::gemms {

constexpr int short_k = 16;             // the longest K of such a product
constexpr extent2 short_tile{64, 128};  // outputs of a block

struct short_instance {
  kernel code;
};

}  // namespace antiphase::gemms
