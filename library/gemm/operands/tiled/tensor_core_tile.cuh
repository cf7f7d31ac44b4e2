// SPDX-License-Identifier: Apache-2.0
// Tiles of f16 in shared memory, in rows that ldmatrix reads without bank conflicts.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/core/view.hpp>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/index.cuh>

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A tile of `Rows` rows in shared memory, in panels of `Width` elements: rows of a 64- or 128-byte swizzle.
template <int Rows, int Width> struct half_panel {
  static constexpr int width = Width;
  static constexpr swizzle pattern = Width == 32 ? swizzle::bytes_64 : swizzle::bytes_128;
  alignas(1024) f16 data[Rows * Width];

  AP_DEV f16* at(int row, int column) {
    const auto offset = swizzled(static_cast<std::uint32_t>((row * Width + column) * 2), pattern);
    return data + offset / 2;
  }
};
template <int Rows, int Columns, int Width> struct tensor_core_tile {
  static constexpr int width = Width;
  half_panel<Rows, Width> panel[Columns / Width];
  AP_DEV f16* at(int row, int column) { return panel[column / Width].at(row, column % Width); }
};

// All `Threads` of a block start cp.async copies of Rows x Columns elements from (row, column) on, 16 bytes
// each, with zeros beyond the matrix. Its rows begin at multiples of 16 bytes; it has less than 2^31 rows and
// columns.
template <int Rows, int Columns, int Threads, class Tile>
AP_DEV void load_tile(Tile& to, const matrix_view<const f16>& from, int row, int column) {
  // threads per row; rows between two copies of a thread
  constexpr int abreast = Columns / 8, apart = Threads / abreast;
  static_assert(Threads % abreast == 0 && Rows % apart == 0 && apart % 8 == 0,
                "the swizzle is to be the same in all copies of a thread");
  const int y = thread_index() / abreast, x = thread_index() % abreast * 8;
  const int in_row = static_cast<int>(from.columns) - column - x;
  const int bytes = in_row <= 0 ? 0 : in_row < 8 ? in_row * 2 : 16;
  const int rows = bytes > 0 ? static_cast<int>(from.rows) - row - y : 0;  // left, from y on
  const f16* source = from.data + (row + y) * from.row_stride + (column + x);
  f16* const place = to.at(y, x);
  AP_UNROLL
  for (int i = 0; i < Rows; i += apart, source += apart * from.row_stride)
    copy_async<16>(place + i * Tile::width, i < rows ? source : from.data, i < rows ? bytes : 0);
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
