// SPDX-License-Identifier: Apache-2.0
// The kinds of kernels that add up in FP64.
#pragma once

namespace antiphase::gemms {

//   ring        a ring in shared memory feeds computing warps
//   lanes       each lane reads its elements into registers a block of 16 k ahead: the least latency
//   kept_lines  the same, all of K at once: a warp keeps its lines of the short operand in registers while it
//               walks along the long one
//   block_tile  lanes read two floats where they lie side by side; each warp of a block has a share of K
//   warp_tile   the same; each warp has a tile of its own, and all of K
enum class kernel_kind : unsigned char { ring, lanes, kept_lines, block_tile, warp_tile };

}  // namespace antiphase::gemms
