// Tiles of f16 in shared memory, in rows that ldmatrix reads without bank conflicts.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/swizzle.hpp>
#include <antiphase/core/view.hpp>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/index.cuh>

namespace antiphase::mm {
inline namespace AP_TARGET {

// A tile in shared memory: `Rows` rows, in panels of `Width` elements that are rows of a swizzle.
template <int Rows, int Width> struct half_panel {
  static constexpr swizzle pattern = Width == 32 ? swizzle::bytes_64 : swizzle::bytes_128;
  alignas(1024) f16 data[Rows * Width];

  AP_DEV f16* at(int row, int column) {
    const auto offset = swizzled(static_cast<std::uint32_t>((row * Width + column) * 2), pattern);
    return data + offset / 2;
  }
};
template <int Rows, int Columns, int Width> struct half_tile {
  half_panel<Rows, Width> panel[Columns / Width];
  AP_DEV f16* at(int row, int column) { return panel[column / Width].at(row, column % Width); }
};

// All `Threads` of a block start copies of Rows x Columns elements from (row, column) on, eight at a time, zeros where the matrix ends. Its
// rows start at multiples of 16 bytes.
template <int Rows, int Columns, int Threads, class Tile>
AP_DEV void load_tile(Tile& to, const matrix_view<const f16>& from, std::int64_t row, std::int64_t column) {
  AP_UNROLL
  for (int piece = 0; piece < Rows * Columns / 8 / Threads; ++piece) {
    const int i = (piece * Threads + thread_index()) * 8;
    const std::int64_t r = row + i / Columns, c = column + i % Columns, left = from.columns - c;
    const int inside = r >= from.rows || left <= 0 ? 0 : left < 8 ? static_cast<int>(left) : 8;
    copy_async<16>(to.at(i / Columns, i % Columns), inside > 0 ? &from(r, c) : from.data, inside * 2);
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::mm
