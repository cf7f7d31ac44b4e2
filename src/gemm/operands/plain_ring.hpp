// SPDX-License-Identifier: Apache-2.0
// What a kernel of so many warps makes its ring of, where that is a parameter, so that a recording twin can
// take another.
#pragma once

namespace antiphase::gemms {

template <class Channel, int Warps> using plain_ring = Channel;

}  // namespace antiphase::gemms
