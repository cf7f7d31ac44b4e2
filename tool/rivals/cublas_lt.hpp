// SPDX-License-Identifier: Apache-2.0
// Products by cublasLt with the first algorithm of its heuristics, and helpers shared with cuBLAS.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace antiphase::tool {

// BLAS's view of a row-major matrix: its transpose is column-major.
struct cublas_operand {
  static constexpr int plain = 0, transposed = 1;  // CUBLAS_OP_N, CUBLAS_OP_T
  int operation, leading;
};
cublas_operand cublas_operand_of(const matrix_view<const float>& v);

// Throws device_error if a status is not 0 (success).
void check_cublas(int status, const char* call);

class cublas_lt;
std::shared_ptr<cublas_lt> make_cublas_lt();
const std::string& why_not(const cublas_lt& library);  // empty if the library was loaded

// A plan for `count` products with a chosen algorithm.
class lt_product;
std::shared_ptr<const lt_product> plan_of(const std::shared_ptr<cublas_lt>& library, const gemms::problem& p,
                                          std::int64_t count,
                                          // null if the heuristics name none
                                          std::span<std::byte> workspace);
void multiply(const lt_product& plan, stream on);

}  // namespace antiphase::tool
