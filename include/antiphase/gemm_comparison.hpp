// SPDX-License-Identifier: Apache-2.0
// Whether a product is worth taking from cuBLAS: the predicted times of both.
#pragma once
#include <antiphase/gemm.hpp>
#include <cstddef>

namespace antiphase {

struct gemm_comparison {
  double seconds = 0;         // gemm_choice::predicted
  double cublas_seconds = 0;  // of gemm/gain.hpp, like the gains
  // Speed-up of the GPU's time, and of the host's and the GPU's together for a call outside of graphs; both 0
  // where nothing is known of the card: neither is_measured(), nor does a tuning apply.
  double gain = 0, eager_gain = 0;
  double host_saved = 0;      // seconds by which a call of cuBLAS takes the host longer
  std::size_t workspace = 0;  // bytes that the call takes
};

// Predicts without launching. The choice is kept: if the thread's next call is gemm() with the same
// arguments, it runs that choice at once, without choosing again.
//
//   if (compare(where, p).gain > 1) gemm(where, p);
//
// Throws as gemm(), except where memory overlaps.
gemm_comparison compare(const context& where, const gemm_problem& p, const gemm_options& options = {});

}  // namespace antiphase
