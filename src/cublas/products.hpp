// SPDX-License-Identifier: Apache-2.0
// Which products of cuBLAS's callers antiphase computes.
#pragma once
#include <cstdint>
#include <optional>

#include "src/cublas/originals.hpp"

namespace antiphase::cublas {

// A call, column-major as cuBLAS has it.
struct product {
  int op_a = 0, op_b = 0;
  std::int64_t m = 0, n = 0, k = 0;
  const void *alpha = nullptr, *a = nullptr, *b = nullptr, *beta = nullptr;
  void* c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t count = 1, a_stride = 0, b_stride = 0, c_stride = 0;
  bool is_fp32 = true;  // types of operands and of the computation
};

// While one lives in a thread, all of the thread's calls are passed on: cuBLAS may call its own functions by their names.
class passing_on {
 public:
  passing_on() noexcept;
  passing_on(const passing_on&) = delete;
  passing_on& operator=(const passing_on&) = delete;
  ~passing_on();
};

// The status, if antiphase has computed it. Nothing: the original is to be called, with the same arguments; none of them has been touched.
// cuBLAS judges what makes no sense.
std::optional<int> taken(const original& of, handle of_caller, const product& p) noexcept;

}  // namespace antiphase::cublas
