// SPDX-License-Identifier: Apache-2.0
// Decides whether to take a call from torch's own operators, by the predicted times of both.
#pragma once
#include <antiphase/context.hpp>
#include <cstdint>

namespace antiphase {

struct torch_comparison {
  // Seconds of our call through torch, the host's included. Infinite: unlike the calls that were measured.
  double seconds = 0;
  double torch_seconds = 0;  // of torch's own call
  // Ours takes at most 0.9 of torch's time, of attention 0.85 forward and 0.8 backward. False on a card that
  // was not measured (gemm/gain.hpp).
  bool wins = false;
};

// torch's FP32 attention, or its gradients.
struct torch_attention_call {
  bool backward = false;
  std::int64_t members = 1, heads = 1, queries = 0, keys = 0, depth = 0;
  bool causal = false;  // a query sees the keys up to its own index
  bool biased = false;  // a number is added to each score: as torch does with masks, too
  // Kernels of our call that the host launches: 0 in a captured stream. A forward of one is to take less of
  // the host and of the GPU: seconds and torch_seconds are the longer of both.
  int launches = 4;
};
// predicted: seconds on the GPU (attention_choice::predicted); infinite where antiphase does not take the
// call. Throws bad_request for extents that are not positive, or above 2^40, and for negative launches.
torch_comparison compare(const context& where, const torch_attention_call& call, double predicted);

// A scan of outer x inner lines of `length` elements, as in scan_problem.
struct torch_scan_call {
  enum class kind { arithmetic, extremes, log_sum_exp };  // extremes: with their indices
  kind operation = kind::arithmetic;
  std::int64_t outer = 1, length = 0, inner = 1;
  int read = 4, written = 4;  // bytes of an element
};
torch_comparison compare(const context& where, const torch_scan_call& call);

}  // namespace antiphase
