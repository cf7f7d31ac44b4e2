// SPDX-License-Identifier: Apache-2.0
// What a scan does, and in which order.
#pragma once

namespace antiphase {

enum class scan_operation { sum, product, min, max };
enum class scan_kind {
  inclusive,  // out[i] = in[0] . in[1] ... in[i]
  exclusive,  // out[i] = initial . in[0] ... in[i - 1]
};
enum class scan_direction {
  forward,
  reverse,  // the same from the other end: out[i] = in[length - 1] ... in[i]
};

}  // namespace antiphase
