// SPDX-License-Identifier: Apache-2.0
// Whether a product is worth being taken from cuBLAS: in numbers, by one choice of what would run.
#pragma once
#include <antiphase/gemm.hpp>
#include <cstddef>

namespace antiphase {

struct gemm_judgement {
  double seconds = 0;         // gemm_choice::predicted
  double cublas_seconds = 0;  // see gemm/gain.hpp, as for gain
  double gain = 0;
  std::size_t workspace = 0;  // bytes that the call takes
};

// Throws what gemm() throws, but for memory that overlaps. The same call of gemm() next, by the same thread, runs what was chosen here.
gemm_judgement judge(const context& where, const gemm_problem& p, const gemm_options& options = {});

}  // namespace antiphase
