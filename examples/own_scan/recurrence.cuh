// SPDX-License-Identifier: Apache-2.0
// A linear recurrence as a scan with a user-defined operator: compiled by nvcc for GPUs and by g++ for the
// CPU executor.
#include <antiphase/scan.cuh>

#include "recurrence.hpp"

namespace own::AP_TARGET {

// The composition: first x, then y. It is not commutative: y's factor multiplies x's offset.
struct one_after_the_other {
  AP_FN step operator()(const step& x, const step& y) const {
    return {x.factor * y.factor, y.factor * x.offset + y.offset};
  }
};

void compose(const antiphase::context& where, step* steps, std::int64_t count) {
  antiphase::inclusive_scan(where, steps, steps, count, one_after_the_other{});
}

}  // namespace own::AP_TARGET
