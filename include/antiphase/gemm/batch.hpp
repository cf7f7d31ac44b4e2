// SPDX-License-Identifier: Apache-2.0
// Many matrix products of one shape in one call.
#pragma once
#include <cstdint>

namespace antiphase::gemms {

// By strides: member i's matrices begin i strides (in elements) after the problem's own, which are member 0.
// A stride of 0 shares one A or B among all members. No two elements of C may coincide, across the batch too.
//
//   gemm(where, {.a = a, .b = b, .c = c}, {.batch = {.count = 64, .a_stride = m * k, .c_stride = m * n}});
//
// By pointers: a, b and c are arrays of `count` pointers in device memory, the strides are 0, and the
// problem's own addresses are ignored. Overlaps between such matrices cannot be detected.
//
// A count of 0 does nothing.
struct batch {
  std::int64_t count = 1;
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  const float* const* a = nullptr;
  const float* const* b = nullptr;
  float* const* c = nullptr;

  constexpr bool by_pointers() const { return a != nullptr || b != nullptr || c != nullptr; }
};

}  // namespace antiphase::gemms
