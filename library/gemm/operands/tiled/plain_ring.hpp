// SPDX-License-Identifier: Apache-2.0
// The ring of a kernel, where it is a template parameter: here the channel itself; recording twins take
// another.
#pragma once

namespace antiphase::gemms {

template <class Channel, int Warps> using plain_ring = Channel;

}  // namespace antiphase::gemms
