// SPDX-License-Identifier: Apache-2.0
// Prepared operands, as a request has them.
#pragma once
#include <antiphase/gemm.hpp>
#include <antiphase/prepared.hpp>

#include "src/gemm/fp16/ready_lines.hpp"
#include "src/gemm/operands/views.hpp"

namespace antiphase::gemms {

// What the options hand to a sensible problem. Throws bad_request if that is not what the problem multiplies,
// or lies elsewhere.
ready_operands ready_of(const context& where, const problem& p, const gemm_options& options);

// What a sensible request writes, its `recomputed` among it, or other memory, does not lie in that of a
// prepared operand. Null: fine. Both throw bad_request.
void require_own_memory(const problem& p, const gemm_options& options, const prepared_operand* prepared);
void require_apart_from(const prepared_operand* prepared, const judged_view& v);

}  // namespace antiphase::gemms
