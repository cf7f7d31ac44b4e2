// SPDX-License-Identifier: Apache-2.0
// Products with few values of k.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>

namespace antiphase::gemms {

// The longest K of such a product, and the longest for which it is chosen by itself: on an H200 a split product of 2048 x 2048 outputs
// takes as long (17.4 us), and less for longer K.
constexpr int short_k = 16, short_k_by_itself = 12;
constexpr extent2 short_tile{64, 128};  // outputs of a block

struct short_instance {
  kernel code;
};

}  // namespace antiphase::gemms
