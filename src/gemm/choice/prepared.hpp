// SPDX-License-Identifier: Apache-2.0
// Prepared operands of a request.
#pragma once
#include <antiphase/gemm.hpp>
#include <antiphase/prepared.hpp>

#include "src/gemm/operands/ready_lines.hpp"
#include "src/gemm/operands/views.hpp"

namespace antiphase::gemms {

// The prepared operands in the options of a valid problem. Throws bad_request if one is not the problem's
// operand, or lies on another device.
ready_operands ready_of(const context& where, const problem& p, const gemm_options& options);

// Memory that a valid request reads or writes, `recomputed` included, or another view, must not overlap that
// of a prepared operand. Null: no operand, no overlap. Both throw bad_request.
void require_own_memory(const problem& p, const gemm_options& options, const prepared_operand* prepared);
void require_apart_from(const prepared_operand* prepared, const judged_view& v);

}  // namespace antiphase::gemms
