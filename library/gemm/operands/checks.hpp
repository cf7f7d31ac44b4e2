// SPDX-License-Identifier: Apache-2.0
// Validation of every matrix product's arguments.
#pragma once
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>

#include "library/gemm/operands/views.hpp"

namespace antiphase::gemms {

// Throws bad_request, which names the first invalid argument. A caller that asks for a plan or its workspace
// may not have allocated memory yet, so overlaps of C with A and B are left to require_own_memory(), which
// is called before a launch.
void require_sensible(const problem& p, const batch& of = {}, const epilogue& after = {});
void require_own_memory(const problem& p, const batch& of = {}, const epilogue& after = {});

// Whether A and B are read, if K is not 0.
bool reads(const problem& p);

// Throws bad_request if a matrix or vector of a valid request overlaps v.
void require_own_memory(const problem& p, const batch& of, const epilogue& after, const named_view& v);

// Whether a matrix of the epilogue is C itself. False for batches by pointers, where it is unknown.
bool is_c(const matrix_view<const float>& v, std::int64_t member_stride, const problem& p, const batch& of);

// The same product; unused strides that are so large that index arithmetic would overflow are 0.
problem without_idle_strides(const problem& p);

// The transposed product if C is column-major, so that rows of the result are contiguous; else the same.
problem with_rows_together(const problem& p);

}  // namespace antiphase::gemms
