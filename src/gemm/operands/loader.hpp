// SPDX-License-Identifier: Apache-2.0
// Ways to bring an operand to the threads that multiply it.
#pragma once

namespace antiphase::gemms {

//   tma       TMA (sm_90) fills a ring in shared memory; rows begin at multiples of 16 bytes
//   cp_async  warps of their own fill the ring by asynchronous copies (cp.async, sm_80) of 16, 8 or 4 bytes
//   lanes     each lane reads its elements into registers, whichever way the operand lies
enum class loader : unsigned char { tma, cp_async, lanes };

}  // namespace antiphase::gemms
