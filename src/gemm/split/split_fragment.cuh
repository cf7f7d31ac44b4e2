// SPDX-License-Identifier: Apache-2.0
// Fragments of A: read as FP32 from a tile in shared memory, split in registers, multiplied by the Tensor Cores (sm_90a).
#pragma once
#include <antiphase/device/index.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/wgmma.cuh>
#include "src/gemm/split/split_facts.cuh"
#include "src/gemm/split/split_warpgroup.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A lane's elements of 16 k, in the order of the fragment's registers, two to each.
using fragment_values = float[8];

// Reads a lane's elements from a tile of FP32 in 128-byte swizzle: from two of its warp's 16 rows, eight rows apart. The halves of a warp
// read one after the other, without bank conflicts if the rows of one half are all even and those of the other all odd.
struct fragment_reader {
  int start;  // bytes from the beginning of the tile to the lane's first element
  // `row`: the first one, in the tile.
  AP_DEV explicit fragment_reader(int row) : start(row * split_row_bytes + (lane_index() / 2 % 2 ^ row % 8) * 16 + lane_index() % 2 * 8) {}
  AP_DEV void read(fragment_values& x, const split_part& tile, int k) const {
    AP_UNROLL
    for (int part = 0; part < 2; ++part) {  // 8 k each
      int from = start;
      rematerialise(from);  // otherwise every such address has a register of its own
      const std::byte* const at = reinterpret_cast<const std::byte*>(&tile[0][0]) + (from ^ (4 * k + 32 * part));
      AP_UNROLL
      for (int row = 0; row < 2; ++row) {
        const auto two = load_pack<2>(reinterpret_cast<const float*>(at + row * 8 * split_row_bytes));
        x[4 * part + 2 * row] = two.element[0], x[4 * part + 2 * row + 1] = two.element[1];
      }
    }
  }
};

struct split_fragment {
  std::uint32_t hi[4], lo[4];
  // Splits as the split pass does. `scale`: of the two rows.
  AP_DEV void split(const fragment_values& x, const float (&scale)[2]) {
    constexpr float up = 1 << lo_exponent;
    AP_UNROLL
    for (int i = 0; i < 4; ++i) {
      const float one = x[2 * i] * scale[i % 2], two = x[2 * i + 1] * scale[i % 2];
      hi[i] = to_halves(one, two);
      lo[i] = to_halves((one - lower_half(hi[i])) * up, (two - upper_half(hi[i])) * up);
    }
  }
};

// As multiply_main and multiply_mixed with A in shared memory, for 16 k, with the terms of a sum in the same order.
AP_DEV void multiply_main(split_sums& sum, const split_fragment& a, const split_part& b, int k, bool fresh) {
  wgmma<major::k>(sum, a.hi, hi_parts(b, k), !fresh);
}
AP_DEV void multiply_mixed(split_sums& sum, const split_fragment& a, const split_part& b, int k) {
  wgmma<major::k>(sum, a.lo, hi_parts(b, k), true);
  wgmma<major::k>(sum, a.hi, lo_parts(b, k), true);
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
