// SPDX-License-Identifier: Apache-2.0
// What every matrix product is asked first.
#pragma once
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>

#include "src/gemm/operands/views.hpp"

namespace antiphase::gemms {

// Throws bad_request, naming the first argument that makes no sense. Whoever asks for a plan or its workspace
// may not have the memory yet: which memory C shares with A and B is judged by require_own_memory(), before a
// launch.
void require_sensible(const problem& p, const batch& of = {}, const epilogue& after = {});
void require_own_memory(const problem& p, const batch& of = {}, const epilogue& after = {});

// Whether A and B are read, if they have elements.
bool reads(const problem& p);

// What a sensible request reads and writes does not lie in this memory. Throws bad_request.
void require_own_memory(const problem& p, const batch& of, const epilogue& after, const judged_view& v);

// Whether a matrix of the epilogue is C itself, as far as can be told: not of members that pointers lead to.
bool is_c(const matrix_view<const float>& v, std::int64_t member_stride, const problem& p, const batch& of);

// The same product with strides that are never taken small enough to be multiplied by anything.
problem without_idle_strides(const problem& p);

// The same product with A and B having changed places if that puts the rows of C side by side.
problem with_rows_together(const problem& p);

}  // namespace antiphase::gemms
