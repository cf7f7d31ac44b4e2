// SPDX-License-Identifier: Apache-2.0
// From the sums of dot products to C.
#pragma once
#include <antiphase/device/launch.cuh>
#include "library/gemm/fp64/dots/dots_product.hpp"
#include "library/gemm/operands/finish/blend.cuh"
#include "library/gemm/operands/finish/finished.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <bool Finishes> struct dots_outputs {
  // One member of a batch.
  struct member_data {
    std::int64_t member;
    const float* of_long;
    const float* of_short;
  };
  // Line i of the long operand times line j of the short one: the output's address in C, and its store.
  AP_DEV static float* place_at(const dots_problem& p, std::int64_t member, std::int64_t i, std::int64_t j) {
    float* const c = p.c_member != nullptr ? p.c_member[member] : p.c + member * p.batch_stride;
    return c + i * p.long_stride + j * p.short_stride;
  }
  AP_DEV static void store_at(const dots_problem& p, std::int64_t member, std::int64_t i, std::int64_t j,
                              double sum) {
    float* const to = place_at(p, member, i, j);
    if constexpr (Finishes)
      *to = finished(p.end, static_cast<float>(sum), i, j, member, to);
    else
      *to = blend(p.end, static_cast<float>(sum), to);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
