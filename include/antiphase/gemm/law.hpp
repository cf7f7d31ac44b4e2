// SPDX-License-Identifier: Apache-2.0
// What products are predicted to take: the law of the ladder's steps, and what limits those beside it.
// docs/model.md.
#pragma once
#include <antiphase/executor/pipeline_law.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <cstdint>
#include <string_view>

namespace antiphase::gemms {

struct product_size {
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  bool adds_c = false;  // beta is not 0
  bool shares = false;  // members of a batch may have operands in common
};

// A kernel of the ladder as its policy describes it, on a machine.
struct pipeline_shape {
  pipeline_step step;
  std::size_t shared_bytes = 0;  // of a block
  int registers = 0;             // of a thread, as estimated from what it has to hold
  int resident = 0;              // blocks of a multiprocessor; 0: one does not fit
};
// FP32 operands of `bytes` in all, from which it follows whether the L2 cache holds them. Not of naive, which
// has no pipeline.
pipeline_shape shape_of(const machine_profile& on, const policy& how, double bytes);
pipeline_shape shape_of(const machine_profile& on, const tensor_core_step& how, double bytes);

// A roof is the least time that a kernel can take, and what sets it: moving bytes (least_to_move()), the
// multiplying units, or, in steps of the ladder, a chain of multiply-adds of which each needs the one before.
// No prediction is below it. There is one for a policy beside the ladder, for a step of it, and for a step
// with FP16 operands.
struct roof {
  double seconds = 0;
  limit of = limit::memory;
};
roof roof_of(const machine_profile& on, std::string_view policy, const product_size& p);
roof roof_of(const machine_profile& on, const policy& how, const product_size& p);
roof roof_of(const machine_profile& on, const tensor_core_step& how, const product_size& p);

// Seconds of a whole launch, and what they are made of. Batches of the ladder are computed one after the
// other. Of a policy that does not fit: infinite.
prediction predict(const machine_profile& on, const policy& how, const product_size& p);
prediction predict(const machine_profile& on, const tensor_core_step& how, const product_size& p);

// Policies beside the ladder have laws of their own, of which explain() tells the seconds. This says what
// these are made of: a launch, the longer one of what has to be moved and what has to be multiplied, and the
// rest, which is waiting.
prediction explained(const machine_profile& on, std::string_view policy, const product_size& p,
                     double seconds);

}  // namespace antiphase::gemms
