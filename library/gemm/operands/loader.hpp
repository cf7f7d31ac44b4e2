// SPDX-License-Identifier: Apache-2.0
// Ways to load an operand for the threads that multiply it.
#pragma once

namespace antiphase::gemms {

//   tma       TMA (sm_90) fills a ring in shared memory; rows must begin at multiples of 16 bytes
//   cp_async  copying warps fill the ring by cp.async (sm_80) of 16, 8 or 4 bytes
//   lanes     each lane loads its elements into registers, in any layout
enum class loader : unsigned char { tma, cp_async, lanes };

}  // namespace antiphase::gemms
