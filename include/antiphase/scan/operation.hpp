// SPDX-License-Identifier: Apache-2.0
// Operation, kind and direction of a scan.
#pragma once

namespace antiphase {

// Numbers are those of antiphase.h, where 4 is log-sum-exp. operators.hpp has a row for each.
enum class scan_operation { sum = 0, product = 1, min = 2, max = 3 };
enum class scan_kind {
  inclusive,  // out[i] = in[0] . in[1] ... in[i]
  exclusive,  // out[i] = initial . in[0] ... in[i - 1]
};
enum class scan_direction {
  forward,
  reverse,  // from the other end: out[i] = in[length - 1] . in[length - 2] ... in[i]
};

}  // namespace antiphase
