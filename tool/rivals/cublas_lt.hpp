// SPDX-License-Identifier: Apache-2.0
// Products by cublasLt, with the algorithm that its heuristics name first; and what it shares with cuBLAS.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace antiphase::tool {

// A row-major matrix is a column-major one that is transposed.
struct cublas_operand {
  static constexpr int plain = 0, transposed = 1;  // CUBLAS_OP_N, CUBLAS_OP_T
  int how, leading;
};
cublas_operand cublas_operand_of(const matrix_view<const float>& v);

// Throws device_error if a status is not 0, which is success.
void check_cublas(int status, const char* call);

class cublas_lt;
std::shared_ptr<cublas_lt> make_cublas_lt();
const std::string& why_not(const cublas_lt& library);  // empty if it is there

// `count` products, their algorithm chosen.
class lt_product;
std::shared_ptr<const lt_product> plan_of(const std::shared_ptr<cublas_lt>& library, const gemms::problem& p,
                                          std::int64_t count,
                                          // null if the heuristics name none
                                          std::span<std::byte> workspace);
void multiply(const lt_product& plan, stream on);

}  // namespace antiphase::tool
