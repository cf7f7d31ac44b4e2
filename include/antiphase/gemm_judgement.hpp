// SPDX-License-Identifier: Apache-2.0
// One choice of what a product would run, in the numbers that tell whether it is worth taking it from cuBLAS.
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

// Throws what gemm() throws, except for memory that overlaps. If the same thread makes the same call of
// gemm() next, that runs what was chosen here, and chooses nothing.
gemm_judgement judge(const context& where, const gemm_problem& p, const gemm_options& options = {});

}  // namespace antiphase
