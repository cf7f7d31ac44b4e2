// SPDX-License-Identifier: Apache-2.0
// Epilogue functions of a user's, and calls of gemm() with them, compiled for each target.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/gemm.hpp>
#include <vector>

namespace antiphase::gemm_test {

// Both functions are exact for small integers, so fused multiply-adds make no difference.
struct by_place {
  float factor;
  AP_FN float operator()(float value, std::int64_t row, std::int64_t column) const {
    return factor * value + static_cast<float>(5 * row - 3 * column);
  }
};
// Reads device memory: a value for each row, and one for each member.
struct by_table {
  const float* of_row;
  const float* of_member;
  AP_FN float operator()(float value, std::int64_t row, std::int64_t column, std::int64_t member) const {
    return column % 2 == 0 ? value * of_row[row] : value + of_member[member];
  }
};

struct own_calls {
  launch_counts (*by_place)(const context&, const gemm_problem&, const gemm_test::by_place&,
                            const gemm_options&);
  launch_counts (*by_table)(const context&, const gemm_problem&, const gemm_test::by_table&,
                            const gemm_options&);
};
// Compiled for the CPU executor and for the GPU.
namespace cpu {
own_calls calls();
}
namespace cuda {
own_calls calls();
}

}  // namespace antiphase::gemm_test
