// SPDX-License-Identifier: Apache-2.0
// Kinds of kernels with FP64 sums.
#pragma once

namespace antiphase::gemms {

//   ring        a ring in shared memory feeds computing warps
//   kept_lines  each lane loads its elements into registers, all of K at once: a warp keeps its lines of the
//               short operand there while it walks along the long one
//   block_tile  lanes read pairs of adjacent floats; the warps of a block split K
//   warp_tile   the same; each warp has its own tile, and all of K
enum class kernel_kind : unsigned char { ring, kept_lines, block_tile, warp_tile };

}  // namespace antiphase::gemms
