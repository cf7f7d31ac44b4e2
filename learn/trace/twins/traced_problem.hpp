// SPDX-License-Identifier: Apache-2.0
// The parameters of a recording GEMM kernel.
#pragma once
#include <antiphase/channel/record.hpp>
#include <antiphase/gemm/problem.hpp>

namespace antiphase::gemms {

struct traced_problem {
  gemms::problem problem;
  span_log log;
};

}  // namespace antiphase::gemms
