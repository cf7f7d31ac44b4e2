// SPDX-License-Identifier: Apache-2.0
// Recomputes outputs of a tile in FP64: those that the certificate of the split product does not cover, and those of sparse lines.
#pragma once
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include "src/gemm/exact_sum.cuh"
#include "src/gemm/split/split_operand.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
// 256 consecutive threads, eight whole warps, recompute outputs of the tile that begins at (top, left); `member` is the thread's index
// among them. Each function computes outputs that nobody has stored yet, from the FP32 operands, with sums in FP64 and one rounding;
// stored(p, ...) (exact_sum.cuh) makes of a sum what C gets, for a problem alpha A B + beta C.
//   recompute_list   some outputs: |error| <= (1 + K 2^-29) 2^-24 |A||B| + 2^-150
//   recompute_tile   all outputs on the Tensor Cores, the same bound
//   recompute_sparse those in sparse rows of A or sparse columns of B, with exact_sum
// Products of FP32 are exact in FP64, and none overflows. The order of each sum depends on K and, in a list, on its length, never on the
// layout of the operands: whichever way they come, the same lane adds the same k in the same order.
//
// The first two functions use shared memory, which is free again when they return. It holds 32 k of the tile's lines, in a ring that the
// threads fill with their own asynchronous copies; beyond the operands the copies write zeros.
struct recompute_shape {
  static constexpr int threads = 256, warps = 8, barrier = 1;  // the named barrier at which the threads meet
  static constexpr int rows = 32, columns = 64;                // of a warp, 4 x 2 of them
  static constexpr int stages = 2, depth = 32;
  static constexpr int by_all = 5;  // a list of up to so many has all threads, output by output
  // A list of up to so many is not worth a whole tile of the operands, of which none, one or both have k strided.
  AP_FN static constexpr int list_apart(int strided) { return strided == 0 ? 64 : strided == 1 ? 12 : by_all; }
  // Lanes that share the sum of an output, of a longer list: as many as there are for each, in one warp.
  AP_FN static constexpr int lanes_of_output(int count) {
    int lanes = warp_size;
    while (lanes > 1 && lanes * count > threads) lanes /= 2;
    return lanes;
  }
};

// 32 k of 128 lines, in their order in memory: by lines, or by k. Rows are padded so that a warp that reads 8 lines at 4 k meets no bank
// conflict either way.
struct line_panel {
  static constexpr int by_lines = recompute_shape::depth + 4, by_k = split_tile + 8;  // from row to row
  alignas(128) float data[split_tile * by_lines];
  static_assert(recompute_shape::depth * by_k <= split_tile * by_lines);
};
union recompute_storage {
  struct {
    line_panel a, b;
  } slot[recompute_shape::stages];
  double part[recompute_shape::by_all][recompute_shape::warps];
};

// load --------------------------------------------------------------------------------------------------------------------------
// A thread's copies of one operand's lines, step by step. The thread copies every `y_step`-th row of a panel from row `y` on, `width`
// elements from `x` on.
struct panel_lines {
  const float *data, *from;  // from: the thread's first element of the next step
  std::int64_t row_stride, k_stride;
  std::int64_t lines, k_left;  // from the tile's first on; of the next step
  int x, y, y_step, width, pitch;
  bool by_lines;

  AP_DEV panel_lines(const operand_lines& of, std::int64_t first, int member)
      : data(of.data + first * of.line_stride), k_stride(of.k_stride), lines(of.lines - first), k_left(of.k), by_lines(of.k_stride == 1) {
    using shape = recompute_shape;
    row_stride = by_lines ? of.line_stride : of.k_stride;
    pitch = by_lines ? line_panel::by_lines : line_panel::by_k;
    const std::int64_t in_row = by_lines ? of.k_stride : of.line_stride;
    width = in_row == 1 && row_stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0 ? 4 : 1;
    const int element = member * width;
    static_assert(shape::depth == 1 << 5 && split_tile == 1 << 7);
    x = by_lines ? element & (shape::depth - 1) : element & (split_tile - 1);  // no division: it would be one by a variable
    y = by_lines ? element >> 5 : element >> 7;
    y_step = width * (by_lines ? shape::threads / shape::depth : shape::threads / split_tile);
    from = data + y * row_stride + x * in_row;
  }
  AP_DEV int line_pitch() const { return by_lines ? line_panel::by_lines : 1; }
  AP_DEV int k_pitch() const { return by_lines ? 1 : line_panel::by_k; }

  AP_DEV void copy(line_panel& to) {
    using shape = recompute_shape;
    constexpr int copies = split_tile * shape::depth / shape::threads;
    float* const target = to.data + y * pitch + x;
    int rows = y_step;
    rematerialise(rows);  // otherwise its multiples stay in registers
    if (width == 4 && lines >= split_tile && k_left >= shape::depth) {
      AP_UNROLL
      for (int i = 0; i < copies / 4; ++i) copy_async<16>(target + i * rows * pitch, from + i * rows * row_stride, 16);
    } else {
      const std::int64_t x_left = (by_lines ? k_left : lines) - x, y_left = (by_lines ? lines : k_left) - y;
      const int inside = x_left >= width ? width : x_left > 0 ? static_cast<int>(x_left) : 0;
      AP_ROLLED
      for (int i = 0; i < copies / width; ++i) {
        const int bytes = i * rows < y_left ? inside * 4 : 0;
        const float* const source = bytes > 0 ? from + i * rows * row_stride : data;
        if (width == 4)
          copy_async<16>(target + i * rows * pitch, source, bytes);
        else
          copy_async<4>(target + i * rows * pitch, source, bytes);
      }
    }
    from += shape::depth * k_stride;
    k_left -= shape::depth;
  }
};

// Calls use(a, b) for every 32 k of the tile's lines.
AP_DEV void each_step(panel_lines& lines_a, panel_lines& lines_b, recompute_storage& memory, auto use) {
  using shape = recompute_shape;
  async_copies<shape::stages, part_of_block<shape::barrier, shape::threads>> ring;
  pipeline line{ring};
  line.run(
      static_cast<int>(ceil_div<std::int64_t>(lines_a.k_left, shape::depth)),
      [&](int, int slot) {
        lines_a.copy(memory.slot[slot].a);
        lines_b.copy(memory.slot[slot].b);
      },
      [&](int, int slot) { use(memory.slot[slot].a.data, memory.slot[slot].b.data); });
}

// list --------------------------------------------------------------------------------------------------------------------------
// Up to by_all outputs, two at a time, straight from global memory: every thread takes a 256th of k.
template <class Problem> AP_DEV void recompute_by_all(const Problem& p, std::int64_t top, std::int64_t left, const std::uint16_t* outputs,
                                                      int count, recompute_storage& memory, int member) {
  using shape = recompute_shape;
  constexpr int at_once = 2, ahead = 8;
  const int warp = member / warp_size, lane = member % warp_size;
  for (int o = 0; o < count; o += at_once) {
    const float *a[at_once], *b[at_once];
    double sum[at_once] = {};
    AP_UNROLL
    for (int i = 0; i < at_once; ++i) {
      const int output = outputs[o + i < count ? o + i : o];
      a[i] = p.a.data + (top + output / split_tile) * p.a.row_stride;
      b[i] = p.b.data + (left + output % split_tile) * p.b.column_stride;
    }
    for (std::int64_t first = member; first < p.k(); first += ahead * shape::threads) {
      float of_a[ahead][at_once], of_b[ahead][at_once];
      AP_UNROLL
      for (int n = 0; n < ahead; ++n) {
        const std::int64_t k = first + n * shape::threads;
        AP_UNROLL
        for (int i = 0; i < at_once; ++i) {
          of_a[n][i] = k < p.k() ? a[i][k * p.a.column_stride] : 0;
          of_b[n][i] = k < p.k() ? b[i][k * p.b.row_stride] : 0;
        }
      }
      AP_UNROLL
      for (int n = 0; n < ahead; ++n) {
        AP_UNROLL
        for (int i = 0; i < at_once; ++i) sum[i] = multiply_add<double>(of_a[n][i], of_b[n][i], sum[i]);
      }
    }
    AP_UNROLL
    for (int i = 0; i < at_once; ++i) {
      AP_UNROLL
      for (int by = warp_size / 2; by > 0; by /= 2) sum[i] += shuffle_down(sum[i], by);
      if (lane == 0 && o + i < count) memory.part[o + i][warp] = sum[i];
    }
  }
  named_barrier_sync(shape::barrier, shape::threads);
  if (member < count) {
    double sum = 0;
    AP_UNROLL
    for (int w = 0; w < shape::warps; ++w) sum += memory.part[member][w];
    store_rounded(p, top + outputs[member] / split_tile, left + outputs[member] % split_tile, sum);
  }
  named_barrier_sync(shape::barrier, shape::threads);
}

// A thread's share of a list: the outputs `first`, `first` + 256 ..., and of each every k that is `lane` modulo `lanes`, in order. A tree
// adds up the lanes' sums.
struct list_share {
  int lanes, lane, first;

  AP_DEV list_share(int count, int member) : lanes(recompute_shape::lanes_of_output(count)) {
    const int in_warp = member % warp_size;
    lane = in_warp & (lanes - 1);
    first = (in_warp - lane) / lanes * recompute_shape::warps + member / warp_size;  // so that all warps have some
  }
  AP_DEV double all(double sum) const {
    for (int by = lanes / 2; by > 0; by /= 2) sum += shuffle_down(sum, by);
    return sum;
  }
};

// A few outputs, straight from global memory.
template <class Problem>
AP_DEV void recompute_apart(const Problem& p, std::int64_t top, std::int64_t left, const std::uint16_t* outputs, int count, int member) {
  constexpr int ahead = 16;
  const list_share mine(count, member);
  const bool any = mine.first < count;
  const int output = outputs[any ? mine.first : 0];
  const std::int64_t row = top + output / split_tile, column = left + output % split_tile, end = any ? p.k() : 0;
  const float *const a = p.a.data + row * p.a.row_stride, *const b = p.b.data + column * p.b.column_stride;
  double sum = 0;
  for (std::int64_t first = mine.lane; first < end; first += ahead * mine.lanes) {
    float of_a[ahead], of_b[ahead];
    AP_UNROLL
    for (int n = 0; n < ahead; ++n) {
      const std::int64_t k = first + n * mine.lanes;
      of_a[n] = k < end ? a[k * p.a.column_stride] : 0;
      of_b[n] = k < end ? b[k * p.b.row_stride] : 0;
    }
    AP_UNROLL
    for (int n = 0; n < ahead; ++n) sum = multiply_add<double>(of_a[n], of_b[n], sum);
  }
  sum = mine.all(sum);
  if (any && mine.lane == 0) store_rounded(p, row, column, sum);
}

// `outputs`: `count` of them, at most uncertain_limit, as row * split_tile + column; in global memory. A long list takes all of the tile's
// lines through shared memory; a short one reads the lines that it needs from global memory.
template <class Problem> AP_DEV void recompute_list(const Problem& p, std::int64_t top, std::int64_t left, const std::uint16_t* outputs,
                                                    int count, recompute_storage& memory, int member) {
  using shape = recompute_shape;
  const int strided = (p.a.column_stride != 1) + (p.b.row_stride != 1);
  if (count <= shape::by_all) return recompute_by_all(p, top, left, outputs, count, memory, member);
  if (count <= shape::list_apart(strided)) return recompute_apart(p, top, left, outputs, count, member);
  constexpr int most = uncertain_limit / shape::threads, unrolled = 8;
  const list_share mine(count, member);
  panel_lines lines_a(rows_of_a(p), top, member), lines_b(columns_of_b(p), left, member);
  int row[most], column[most];
  double sum[most] = {};
  AP_UNROLL
  for (int i = 0; i < most; ++i) {
    const int o = mine.first + i * shape::threads, output = o < count ? outputs[o] : 0;
    row[i] = output / split_tile, column[i] = output % split_tile;
  }
  each_step(lines_a, lines_b, memory, [&](const float* a, const float* b) {
    AP_UNROLL
    for (int i = 0; i < most; ++i) {
      if (mine.first + i * shape::threads >= count) continue;
      const float *of_a = a + row[i] * lines_a.line_pitch(), *of_b = b + column[i] * lines_b.line_pitch();
      const auto add = [&](int k) { sum[i] = multiply_add<double>(of_a[k * lines_a.k_pitch()], of_b[k * lines_b.k_pitch()], sum[i]); };
      int k = mine.lane;
      AP_ROLLED
      for (; k + (unrolled - 1) * mine.lanes < shape::depth; k += unrolled * mine.lanes) {
        AP_UNROLL
        for (int n = 0; n < unrolled; ++n) add(k + n * mine.lanes);
      }
      AP_ROLLED
      for (; k < shape::depth; k += mine.lanes) add(k);
    }
  });
  AP_UNROLL
  for (int i = 0; i < most; ++i) {
    const double all = mine.all(sum[i]);
    if (mine.lane == 0 && mine.first + i * shape::threads < count) store_rounded(p, top + row[i], left + column[i], all);
  }
}

// tile --------------------------------------------------------------------------------------------------------------------------
// A lane's part of a fragment of 8 `Lines` lines over four k: value[l] is element lane % 4 of line lane / 4 + 8 l.
template <int Lines> struct line_fragment {
  float value[Lines];

  AP_DEV void read(const float* first, int line_pitch) {
    AP_UNROLL
    for (int l = 0; l < Lines; ++l) value[l] = first[8 * l * line_pitch];
  }
};

struct any_output {
  AP_DEV bool operator()(std::int64_t, std::int64_t) const { return true; }
};
// The outputs of the tile for which wanted(row, column) is true.
template <class Problem, class Wanted = any_output> AP_DEV void recompute_tile(const Problem& p, std::int64_t top, std::int64_t left,
                                                                               recompute_storage& memory, int member, Wanted wanted = {}) {
  using shape = recompute_shape;
  constexpr int of_a = shape::rows / 8, of_b = shape::columns / 8;  // lines of a lane
  const int warp = member / warp_size, lane = member % warp_size;
  const int warp_top = warp / 2 * shape::rows, warp_left = warp % 2 * shape::columns;
  // Two sets of registers by turns: one is read while the other is multiplied, also across steps.
  double sum[of_a / 2][of_b][4] = {};
  line_fragment<of_a> a[2] = {};
  line_fragment<of_b> b[2] = {};
  const auto multiply = [&](int set) {
    double pair_a[of_a / 2][2];
    AP_UNROLL
    for (int i = 0; i < of_a; ++i) pair_a[i / 2][i % 2] = a[set].value[i];
    AP_UNROLL
    for (int j = 0; j < of_b; ++j) {
      AP_UNROLL
      for (int i = 0; i < of_a / 2; ++i) mma(sum[i][j], pair_a[i], b[set].value[j]);
    }
  };
  panel_lines lines_a(rows_of_a(p), top, member), lines_b(columns_of_b(p), left, member);
  const int a_line = lines_a.line_pitch(), a_k = lines_a.k_pitch(), b_line = lines_b.line_pitch(), b_k = lines_b.k_pitch();
  const int in_a = (warp_top + lane / 4) * a_line + lane % 4 * a_k, in_b = (warp_left + lane / 4) * b_line + lane % 4 * b_k;
  each_step(lines_a, lines_b, memory, [&](const float* a_panel, const float* b_panel) {
    AP_UNROLL
    for (int k = 0; k < shape::depth; k += 4) {
      const int set = k / 4 % 2;
      a[set].read(a_panel + in_a + k * a_k, a_line);
      b[set].read(b_panel + in_b + k * b_k, b_line);
      multiply(1 - set);
    }
  });
  multiply(1);

  AP_UNROLL
  for (int i = 0; i < of_a / 2; ++i) {
    AP_UNROLL
    for (int e = 0; e < 4; ++e) {
      AP_UNROLL
      for (int j = 0; j < of_b; ++j) {
        const std::int64_t row = top + warp_top + lane / 4 + 8 * (2 * i + e / 2), column = left + warp_left + 8 * j + lane % 4 * 2 + e % 2;
        if (row < p.m() && column < p.n() && wanted(row, column)) store_rounded(p, row, column, sum[i][j][e]);
      }
    }
  }
}

// sparse lines ---------------------------------------------------------------------------------------------------------------
// Outputs of lines with an infinity or NaN are not recomputed here.
AP_DEV bool is_finite(const split_line& line) { return line.tiny < 0x1p60f; }
AP_DEV bool is_sparse(const split_line& line) { return is_finite(line) && line.nonzeros <= sparse_nonzeros; }
// Whether recompute_sparse computes the output of these two lines.
AP_DEV bool is_sparse_output(const split_line& a, const split_line& b) {
  return is_finite(a) && is_finite(b) && (is_sparse(a) || is_sparse(b));
}

// a, b: the rows of A and the columns of B, as the split pass has described them.
template <class Problem> AP_DEV void recompute_sparse(const Problem& p, std::int64_t top, std::int64_t left, const split_operand& a,
                                                      const split_operand& b, int member) {
  using shape = recompute_shape;
  constexpr int columns = shape::columns / warp_size, rows = 2;  // of a lane: its columns, and the rows of one round of loads
  const int warp = member / warp_size, lane = member % warp_size;
  top += warp / 2 * shape::rows, left += warp % 2 * shape::columns;
  const auto line_of = [](const split_operand& of, std::int64_t l) { return l < of.lines ? of.line[l] : split_line{2 * 0x1p60f, 0, 0, 0}; };
  const auto indices_of = [](const split_operand& of, std::int64_t l, bool sparse) {
    sparse_indices none{};
    for (int& k : none.k) k = -1;
    return sparse ? of.sparse[l] : none;
  };
  // A lane knows one of the warp's rows, and its own columns.
  const split_line row_line = line_of(a, top + lane);
  const sparse_indices row_indices = indices_of(a, top + lane, is_sparse(row_line));
  bool column_finite[columns], column_sparse[columns];
  sparse_indices column_indices[columns];
  AP_UNROLL
  for (int j = 0; j < columns; ++j) {
    const split_line line = line_of(b, left + j * warp_size + lane);
    column_finite[j] = is_finite(line), column_sparse[j] = is_sparse(line);
    column_indices[j] = indices_of(b, left + j * warp_size + lane, column_sparse[j]);
  }
  bool any_column = false;
  AP_UNROLL
  for (int j = 0; j < columns; ++j) any_column |= column_sparse[j];
  any_column = ballot(any_column) != 0;
  const unsigned rows_finite = ballot(is_finite(row_line)), rows_sparse = ballot(is_sparse(row_line));
  for (int first = 0; first < shape::rows; first += rows) {
    if (!any_column && (rows_sparse >> first & ((1u << rows) - 1)) == 0) continue;
    bool wanted[rows][columns];
    float of_a[rows][columns][sparse_nonzeros], of_b[rows][columns][sparse_nonzeros];
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      const bool row_sparse = (rows_sparse >> (first + i) & 1u) != 0;
      AP_UNROLL
      for (int j = 0; j < columns; ++j)
        wanted[i][j] = (rows_finite >> (first + i) & 1u) != 0 && column_finite[j] && (row_sparse || column_sparse[j]) &&
                       left + j * warp_size + lane < p.n();
      AP_UNROLL
      for (int n = 0; n < sparse_nonzeros; ++n) {
        const int in_row = shuffle(row_indices.k[n], first + i);
        AP_UNROLL
        for (int j = 0; j < columns; ++j) {
          const std::int64_t row = top + first + i, column = left + j * warp_size + lane;
          const int k = row_sparse ? in_row : column_indices[j].k[n];
          const bool there = wanted[i][j] && k >= 0;
          of_a[i][j][n] = there ? p.a(row, k) : 0;
          of_b[i][j][n] = there ? p.b(k, column) : 0;
        }
      }
    }
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      AP_UNROLL
      for (int j = 0; j < columns; ++j) {
        if (!wanted[i][j]) continue;
        exact_sum sum;
        AP_UNROLL
        for (int n = 0; n < sparse_nonzeros; ++n) sum.add(double{of_a[i][j][n]} * of_b[i][j][n]);
        store_rounded(p, top + first + i, left + j * warp_size + lane, sum.value + sum.cut);
      }
    }
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
