// SPDX-License-Identifier: Apache-2.0
// From the sums of a warp's Tensor Core operations to lines of memory.
#pragma once
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// The sums of wgmma() or mma() lie across the lanes in an order that memory does not like. by_lines() passes
// a warp's 16 rows through shared memory, so that lanes next to each other get neighbours; all lanes call.
//   box               line_box_bytes of shared memory of the warp alone, aligned to 16 bytes
//   pair(a, b)        the bits of two neighbours as Staged: twice its size
//   use(column,       called for every line of at most 128 bytes of each row, from this column on, all of
//       width)        whose columns are in the box: row i from i * line_box_pitch on
// by_pieces() calls use(row, column, piece) for every 16 bytes of a row instead, which begin at this column;
// lanes next to each other have neighbours. store_lines() stores the rows in memory, by lines of 128 bytes.
//   first             row 0, column 0 in memory; rows are row_stride elements apart
//   rows, columns     how many there are from there on; the others are not stored
constexpr int line_box_pitch = 144;  // bytes: rows of 128 bytes, in different banks
constexpr int line_box_bytes = 16 * line_box_pitch;

template <class Staged, int Registers, class Pair, class Use>
AP_DEV void by_lines(unsigned char* box, const float (&sum)[Registers], Pair pair, Use use) {
  constexpr int size = static_cast<int>(sizeof(Staged)), columns = 2 * Registers, width = 128 / size;
  using pair_type = decltype(pair(0.f, 0.f));
  static_assert(sizeof(pair_type) == 2 * sizeof(Staged));
  const int lane = lane_index();
  AP_UNROLL
  for (int line = 0; line < (columns + width - 1) / width; ++line) {
    warp_sync();
    AP_UNROLL
    for (int i = 0; i < width / 8; ++i)
      if (line * width + i * 8 < columns) {
        AP_UNROLL
        for (int half = 0; half < 2; ++half) {
          const int r = line * width / 2 + 4 * i + 2 * half;
          *reinterpret_cast<pair_type*>(box + (lane / 4 + 8 * half) * line_box_pitch +
                                        (i * 8 + lane % 4 * 2) * size) = pair(sum[r], sum[r + 1]);
        }
      }
    warp_sync();
    use(line * width, columns - line * width < width ? columns - line * width : width);
  }
}
template <class Staged, int Registers, class Pair, class Use>
AP_DEV void by_pieces(unsigned char* box, const float (&sum)[Registers], Pair pair, Use use) {
  constexpr int piece = 16 / static_cast<int>(sizeof(Staged));
  by_lines<Staged>(box, sum, pair, [&](int first, int width) {
    const int pieces = width / piece;
    for (int q = lane_index(); q < 16 * pieces; q += warp_size)
      use(q / pieces, first + q % pieces * piece,
          reinterpret_cast<const Staged*>(box + q / pieces * line_box_pitch + q % pieces * 16));
  });
}

template <class Out, int Registers, class Pair>
AP_DEV void store_lines(unsigned char* box, const float (&sum)[Registers], Out* first,
                        std::int64_t row_stride, int rows, int columns, Pair pair) {
  constexpr int piece = 16 / static_cast<int>(sizeof(Out));
  const bool whole = reinterpret_cast<std::uintptr_t>(first) % 16 == 0 && row_stride % piece == 0;
  by_pieces<Out>(box, sum, pair, [&](int row, int column, const Out* from) {
    if (row >= rows || column >= columns) return;
    Out* const to = first + row * row_stride + column;
    if (whole && column + piece <= columns)
      store_pack<piece>(to, load_pack<piece>(from));
    else
      for (int e = 0; e < piece && column + e < columns; ++e) to[e] = from[e];
  });
}

}  // namespace AP_TARGET
}  // namespace antiphase
