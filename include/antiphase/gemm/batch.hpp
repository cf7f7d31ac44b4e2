// SPDX-License-Identifier: Apache-2.0
// Many matrix products of one shape in one call.
#pragma once
#include <cstdint>

namespace antiphase::gemms {

// The matrices of member i lie i times a stride behind those of the problem, which is member 0. Strides count
// elements. They may be 0 for A and B: then all members have the same one. Elements of C have places of their
// own, across the batch too. A count of 0 does nothing.
//
// Or the addresses of the members' matrices stand in three arrays of `count` pointers in memory of the
// device, and the strides are 0: then the problem's own addresses are not looked at. Nobody can tell before
// the work is done whether such matrices overlap.
struct batch {
  std::int64_t count = 1;
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0;
  const float* const* a = nullptr;
  const float* const* b = nullptr;
  float* const* c = nullptr;

  constexpr bool by_pointers() const { return a != nullptr || b != nullptr || c != nullptr; }
};

}  // namespace antiphase::gemms
