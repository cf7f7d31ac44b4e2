// SPDX-License-Identifier: Apache-2.0
// What the environment says of the interposer, read once.
#pragma once
#include <antiphase.h>

#include <optional>

namespace antiphase::cublas {

struct settings {
  bool disabled = false;                     // ANTIPHASE_DISABLE: all calls are passed on
  std::optional<double> least;               // ANTIPHASE_LEAST: take products with (m n k)^(1/3) of this or more, whatever is predicted
  int device = ANTIPHASE_CURRENT_DEVICE;     // ANTIPHASE_DEVICE=cpu: the operands are the host's, for tests without a GPU
  int precision = ANTIPHASE_PRECISION_FP32;  // ANTIPHASE_PRECISION=strict
  bool reports = false;                      // ANTIPHASE_REPORT: one line at the end, if there was a call
};
const settings& said();

}  // namespace antiphase::cublas
