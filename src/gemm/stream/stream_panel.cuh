// SPDX-License-Identifier: Apache-2.0
// What a slab of a streaming product looks like in shared memory, and how threads copy operands there (sm_80).
#pragma once
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/vector.cuh>
#include "src/gemm/stream/stream_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// One operand's share of a slab: 32 k of `Lines` lines.
template <int Lines> struct stream_panel {
  static constexpr int width = stream_step, held = Lines < width ? width : Lines;  // lines across k come by 32
  alignas(1024) float data[held * width];

  // Row and column in the order in memory; rows of lines beyond the first 32 follow by 32.
  AP_FN static constexpr int place(int row, int column) { return row * width + ((column / 4 ^ (row & 7)) * 4 | (column & 3)); }
  AP_FN static constexpr int place_of(bool along_k, int line, int k) {
    return along_k ? place(line, k) : line / width * (width * width) + place(k, line % width);
  }
};

// A lane's elements of 16 k of a warp's lines, as Tensor Cores take them.
template <int Lines, int Two> struct panel_fragment {
  static constexpr int count = Lines / 8;
  float x[count][4];

  AP_DEV static int line(int first, int l, int g) { return line_of_lane<Two>(first, l, g); }
  // Where the lane's first element lies in a panel. All others lie a constant away, but for what the swizzle turns over: one operation
  // each, whichever way the operand lies, and no table of places in registers.
  AP_DEV static int start(bool along_k, int first, int g, int q) {
    return stream_panel<stream_step>::place_of(along_k, line(first, 0, g), k_of_lane(0, q));
  }
  // Those of the lane's lines from the `skipped`-th on.
  AP_DEV void read(const float* from, bool along_k, int start, int half, int skipped = 0) {
    constexpr int row = stream_step, panel = stream_step * row;  // floats
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
          const pack<float, Two> all = load_pack<Two>(from + turned + (16 * half + k_of_lane(i, 0)) * row + block / 2 * panel);
          AP_UNROLL
          for (int e = 0; e < Two; ++e) x[n + e][i] = all.element[e];
        }
      }
    }
  }
};

// The threads of a slab copy 32 k of a tile's lines, from (first, k) on, with zeros behind k_end. A panel holds rows of 32 elements: of
// one line, or of 32 lines at one k; `lanes` neighbouring threads copy one. Rows that lie behind the operand's last line are not copied:
// they become zero in the first use of a slot, and stay so.
template <int Bytes, int Threads, int Lines> AP_DEV void copy_lines(stream_panel<Lines>& to, const line_operand& o, const float* data,
                                                                    std::int64_t first, std::int64_t k, std::int64_t k_end, int thread,
                                                                    bool first_use) {
  using panel = stream_panel<Lines>;
  constexpr int wide = Bytes / 4, width = stream_step, lanes = width / wide, rows_at_once = Threads / lanes;
  const int column = thread % lanes * wide, row = thread / lanes;
  const auto below = [](std::int64_t left, int most) { return left >= most ? most : left > 0 ? static_cast<int>(left) : 0; };
  const int lines_left = below(o.lines - first, Lines), k_left = below(k_end - k, width);
  const std::int64_t row_stride = o.along_k ? o.line_stride : o.k_stride, column_stride = o.along_k ? o.k_stride : o.line_stride;
  const float* const from = data + first * o.line_stride + k * o.k_stride + row * row_stride + column * column_stride;
  const auto copy_rows = [&](int top, const float* at, int rows, int rows_left, int inside) {
    float* const target = to.data + top * width;
    for (int r = row; r < rows; r += rows_at_once, at += rows_at_once * row_stride) {
      const int bytes = r < rows_left ? inside : 0;
      copy_async<Bytes>(target + panel::place(r, column), bytes > 0 ? at : data, bytes);
    }
  };
  // Inside the operand there is nothing to ask for each copy.
  const auto copy_all = [&]<int Rows>(int top, const float* at) {
    float* const target = to.data + top * width;
    AP_UNROLL
    for (int n = 0; n < Rows; n += rows_at_once)
      if (Rows % rows_at_once == 0 || row + n < Rows) copy_async<Bytes>(target + panel::place(row + n, column), at + n * row_stride, Bytes);
  };
  int filled = lines_left;  // rows that have been copied
  if (lines_left == Lines && k_left == width && Lines % width == 0) {
    if (o.along_k) {
      copy_all.template operator()<Lines>(0, from);
    } else {
      AP_UNROLL
      for (int line = 0; line < Lines; line += width) copy_all.template operator()<width>(line, from + line * column_stride);
    }
    return;
  }
  if (o.along_k) {
    copy_rows(0, from, lines_left, lines_left, 4 * below(k_left - column, wide));
  } else {
    filled = (lines_left + width - 1) / width * width;
    for (int line = 0; line < lines_left; line += width)
      copy_rows(line, from + line * column_stride, width, k_left, 4 * below(lines_left - line - column, wide));
  }
  if (first_use)
    for (int i = filled * width + 4 * thread; i < panel::held * width; i += 4 * Threads) store_pack<4>(to.data + i, pack<float, 4>{});
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
