// SPDX-License-Identifier: Apache-2.0
// Functions of cuBLAS on triangles and symmetric matrices, split into blocks recursively: what lies off the
// diagonal is products, and blocks on the diagonal remain cuBLAS's.
#pragma once
#include "preload/cublas/decision.hpp"
#include "preload/cublas/products.hpp"

namespace antiphase::cublas {

// A call. `part(context, p)` calls its original with the arguments in p.
struct triangle {
  const product& whole;
  handle of_caller;
  const original& of;
  int (*part)(void* context, const product& p);
  void* context;
};

// Reason not to take a call, from its arguments alone; `computed`: none.
outcome told_by_triangle(const product& p);
reading request_of(function by, const triangle& t);
decision decision_of(const triangle& t) noexcept;
// Computes the call with blocks of that size. `refused`: nothing has been written.
outcome outcome_of_parts(const triangle& t, std::int64_t block, antiphase_stream on) noexcept;

}  // namespace antiphase::cublas
