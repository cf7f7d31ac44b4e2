// SPDX-License-Identifier: Apache-2.0
// Tiles of rows that the blocks which multiply them split into FP16 parts themselves.
#pragma once
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/vector.cuh>

#include "library/attention/fp16/split_pass.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

template <int Columns, int Threads> struct block_split {
  using chunk = parts_chunk<split_rows>;
  using rows = tile_in_registers<Columns, Threads>;
  static constexpr int chunks = (Columns + 63) / 64, warps = Threads / warp_size;
  // Sets of warps that have all columns between them.
  static constexpr int warps_of_set = Columns > 128 ? Columns / 128 : 1, sets = warps / warps_of_set;
  // Largest magnitudes of a tile's columns.
  struct column_sizes {
    float of_set[sets][Columns];
  };

  AP_DEV static void load(rows& x, const float* from, std::int64_t row_stride, int count, const problem& p,
                          bool in_vectors) {
    x.load(from, row_stride, count < split_rows ? count : split_rows, static_cast<int>(p.depth), in_vectors);
  }
  AP_DEV static void share(column_sizes& sizes, const rows& x) {
    const int set = warp_index() / warps_of_set;
    float of_column[4];
    x.largest_of_columns(of_column);
    AP_UNROLL
    for (int e = 0; e < 4; ++e) {
      AP_UNROLL
      for (int by = rows::lanes; by < warp_size; by *= 2)
        of_column[e] = larger_magnitude(of_column[e], shuffle_xor(of_column[e], by));
      if (lane_index() < rows::lanes) sizes.of_set[set][4 * rows::lane() + e] = of_column[e];
    }
  }
  AP_DEV static void write(chunk (&to)[chunks], const rows& x, const float (&up)[4], float lo_factor) {
    x.split(up, lo_factor, [&](int row, int column, const auto& hi, const auto& lo) {
      const int at = (column % 64 / 8 ^ row % 8) * 8 + column % 8;
      chunk& in = to[column / 64];
      store_pack<2>(reinterpret_cast<std::uint32_t*>(&in.part[0][row][at]), hi);
      store_pack<2>(reinterpret_cast<std::uint32_t*>(&in.part[1][row][at]), lo);
    });
  }
  AP_DEV static void write(chunk (&to)[chunks], const rows& x, float scale, float sign, float lo_factor) {
    const float up = inverse_of(scale) * sign;
    write(to, x, {up, up, up, up}, lo_factor);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
