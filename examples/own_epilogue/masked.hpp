// SPDX-License-Identifier: Apache-2.0
// Scores of causal attention: queries times keys, scaled, and minus infinity where a key comes after the
// query.
#pragma once
#include <antiphase/gemm.hpp>

namespace own {

// C = factor * A * B where column <= row, else minus infinity. The matrices are memory of the device of
// `where`.
inline namespace cpu {
void masked_scores(const antiphase::context& where, const antiphase::gemm_problem& scores, float factor);
}
namespace cuda {
void masked_scores(const antiphase::context& where, const antiphase::gemm_problem& scores, float factor);
}

}  // namespace own
