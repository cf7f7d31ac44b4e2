// SPDX-License-Identifier: Apache-2.0
// Shared-memory layout of a slab of a ring product.
#pragma once
#include <antiphase/device/vector.cuh>
#include "library/gemm/fp64/tiles/lane_places.hpp"
#include "library/gemm/operands/tiled/tiled_problem.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// One operand's share of a slab: 32 k of `Lines` lines.
template <int Lines> struct fp64_panel {
  // across k, lines are stored in groups of 32
  static constexpr int width = slab_k, held = Lines < width ? width : Lines;
  alignas(1024) float data[held * width];

  // Swizzled place of a row and column of the order in global memory. Across k, each group of 32 lines has 32
  // rows, one for each k.
  AP_FN static constexpr int place(int row, int column) {
    return row * width + ((column / 4 ^ (row & 7)) * 4 | (column & 3));
  }
  AP_FN static constexpr int place_of(bool along_k, int line, int k) {
    return along_k ? place(line, k) : line / width * (width * width) + place(k, line % width);
  }
};

// A lane's elements of 16 k of a warp's lines, as Tensor Core fragments.
template <int Lines, int Two> struct panel_fragment {
  static constexpr int count = Lines / 8;
  float x[count][4];

  AP_DEV static int line(int first, int l, int g) { return line_of_lane<Two>(first, l, g); }
  // Offset of the lane's first element in a panel. All others are a constant and the swizzle's XOR away: one
  // operation each in either layout, and no table of offsets in registers.
  AP_DEV static int start(bool along_k, int first, int g, int q) {
    return fp64_panel<slab_k>::place_of(along_k, line(first, 0, g), k_of_lane(0, q));
  }
  // Reads the lane's lines from number `skipped` on.
  AP_DEV void read(const float* from, bool along_k, int start, int half, int skipped = 0) {
    constexpr int row = slab_k, panel = slab_k * row;  // floats
    if (along_k) {
      AP_UNROLL
      for (int n = 0; n < count; ++n) {
        const int l = skipped + n;
        AP_UNROLL
        for (int i = 0; i < 4; i += 2) {
          const int turned = start ^ (16 * half + 4 * i + l % Two * 4);
          const pack<float, 2> both = load_pack<2>(from + turned + (l % Two + l / Two * 8 * Two) * row);
          x[n][i] = both.element[0], x[n][i + 1] = both.element[1];
        }
      }
    } else {
      AP_UNROLL
      for (int n = 0; n < count; n += Two) {
        const int block = (skipped + n) / Two;
        static_assert(Two == 2 || count == 1);
        AP_UNROLL
        for (int i = 0; i < 4; ++i) {
          const int turned = start ^ (i % 2 * 4 + block % 2 * 16);
          const pack<float, Two> all =
              load_pack<Two>(from + turned + (16 * half + k_of_lane(i, 0)) * row + block / 2 * panel);
          AP_UNROLL
          for (int e = 0; e < Two; ++e) x[n + e][i] = all.element[e];
        }
      }
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
