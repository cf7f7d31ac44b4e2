// SPDX-License-Identifier: Apache-2.0
// Predicted times of products: the cost model of the ladder's steps, and limits of the policies next to it.
// docs/learn/model.md.
#pragma once
#include <antiphase/executor/pipeline_cost.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <cstdint>

namespace antiphase::gemms {

struct product_size {
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  bool adds_c = false;  // beta is not 0
  bool shares = false;  // members of a batch may share operands
};

// A kernel of the ladder on a machine, as its policy describes it.
struct pipeline_shape {
  pipeline_step step;
  std::size_t shared_bytes = 0;  // of a block
  int registers = 0;             // per thread, estimated from the values that it holds
  int resident = 0;              // blocks per multiprocessor; 0: not even one fits
};
// `bytes`: of all FP32 operands, to decide whether the L2 cache holds them. Not for naive, which has no
// pipeline.
pipeline_shape shape_of(const machine_profile& on, const policy& how, double bytes);
pipeline_shape shape_of(const machine_profile& on, const tensor_core_step& how, double bytes);

// Roofline: the lower bound of a kernel's time, and the limit that sets it: moving bytes (least_to_move()),
// the multiplying units or, for steps of the ladder, a chain of dependent multiply-adds. No prediction is
// below it. Overloads: a policy outside the ladder, a step of the ladder, a step with FP16 operands.
struct roofline {
  double seconds = 0;
  antiphase::limit limit = limit::memory;
};
roofline roofline_of(const machine_profile& on, const tensor_work& work, const product_size& p);
roofline roofline_of(const machine_profile& on, const policy& how, const product_size& p);
roofline roofline_of(const machine_profile& on, const tensor_core_step& how, const product_size& p);

// Seconds of a whole launch, and their parts. The ladder computes members of a batch one after the other.
// Infinite for a policy that does not fit.
prediction predict(const machine_profile& on, const policy& how, const product_size& p);
prediction predict(const machine_profile& on, const tensor_core_step& how, const product_size& p);

// Splits the seconds of a policy outside the ladder, which explain() predicts by a cost model of its own,
// into parts: the launch, the longer of moving and multiplying, and the rest, which is waiting.
prediction explained(const machine_profile& on, const tensor_work& work, const product_size& p,
                     double seconds);

}  // namespace antiphase::gemms
