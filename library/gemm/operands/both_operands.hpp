// SPDX-License-Identifier: Apache-2.0
// The operands of a product as its kernels see them.
#pragma once
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/problem.hpp>

#include "library/gemm/operands/line_operand.hpp"

namespace antiphase::gemms {

// The operands by their lines: rows of A, columns of B. turned: B is the long one.
struct both_operands {
  line_operand long_one, short_one;
};
both_operands operands_of(const problem& p, const batch& of, bool turned);

}  // namespace antiphase::gemms
