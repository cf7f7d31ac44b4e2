// Outputs of a tile in FP64: those that the certificate of the split product does not cover, and those that are to be exact.
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
// 256 consecutive threads, eight whole warps, recompute outputs of the tile of 128 x 128 that begins at (top, left); `member` is the
// thread's index among them. Each function computes alpha A B + beta C for outputs that nobody has stored yet, from the FP32 operands, with
// sums in FP64 and one rounding.
//   recompute_list   some outputs: |error| <= (1 + K 2^-29) 2^-24 |A||B| + 2^-150
//   recompute_tile   all of them on the Tensor Cores, the same bound
//   recompute_few    those in rows of A or columns of B with at most four elements that are not zero
// Products of FP32 are exact in FP64, and none overflows. The order of each sum depends on K and, in a list, on its length, never on how
// the operands lie: whatever way they come, the same lane adds the same k in the same order.
//
// The first two take shared memory, which is free again when they return. 32 k of the tile's lines lie there, in a ring of the threads' own
// asynchronous copies, of which zeros fill what lies beyond the operands.
struct recompute_shape {
  static constexpr int tile = 128, threads = 256, warps = 8, barrier = 1;  // the named barrier at which the threads meet
  static constexpr int rows = 32, columns = 64;                            // of a warp, 4 x 2 of them
  static constexpr int stages = 2, depth = 32;
  static constexpr int list_limit = 512;  // outputs in a list
  static constexpr int by_all = 5;        // so few of a list have all threads, one after the other
  // So few outputs are not worth a whole tile of the operands: if neither, one or both of them have k strided.
  AP_FN static constexpr int list_apart(int strided) { return strided == 0 ? 64 : strided == 1 ? 12 : by_all; }
  // Lanes that share the sum of an output, of a longer list: as many as there are for each, in one warp.
  AP_FN static constexpr int lanes_of_output(int count) {
    int lanes = warp_size;
    while (lanes > 1 && lanes * count > threads) lanes /= 2;
    return lanes;
  }
};

// 32 k of 128 lines, in the order in which they lie in memory: by lines, or by k. Rows are padded so that a warp that reads 8 lines at 4 k
// meets no bank conflict either way.
struct line_panel {
  static constexpr int by_lines = recompute_shape::depth + 4, by_k = recompute_shape::tile + 8;  // from row to row
  alignas(128) float data[recompute_shape::tile * by_lines];
  static_assert(recompute_shape::depth * by_k <= recompute_shape::tile * by_lines);
};
union recompute_storage {
  struct {
    line_panel a, b;
  } slot[recompute_shape::stages];
  double part[recompute_shape::by_all][recompute_shape::warps];
};

// load --------------------------------------------------------------------------------------------------------------------------
// A thread's copies of one operand's lines, step by step. Of a panel's rows it copies every `y_step`-th from `y` on, `width` elements from
// `x` on.
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
    x = by_lines ? element & (shape::depth - 1) : element & (shape::tile - 1);  // no division: it would be one by a variable
    y = by_lines ? element >> 5 : element >> 7;
    y_step = width * (by_lines ? shape::threads / shape::depth : shape::threads / shape::tile);
    from = data + y * row_stride + x * in_row;
  }
  AP_DEV int line_pitch() const { return by_lines ? line_panel::by_lines : 1; }
  AP_DEV int k_pitch() const { return by_lines ? 1 : line_panel::by_k; }

  AP_DEV void copy(line_panel& to) {
    using shape = recompute_shape;
    constexpr int copies = shape::tile * shape::depth / shape::threads;
    float* const place = to.data + y * pitch + x;
    int rows = y_step;
    rematerialise(rows);  // or all that is computed of it stays in registers
    if (width == 4 && lines >= shape::tile && k_left >= shape::depth) {
      AP_UNROLL
      for (int i = 0; i < copies / 4; ++i) copy_async<16>(place + i * rows * pitch, from + i * rows * row_stride, 16);
    } else {
      const std::int64_t x_left = (by_lines ? k_left : lines) - x, y_left = (by_lines ? lines : k_left) - y;
      const int inside = x_left >= width ? width : x_left > 0 ? static_cast<int>(x_left) : 0;
      AP_ROLLED
      for (int i = 0; i < copies / width; ++i) {
        const int bytes = i * rows < y_left ? inside * 4 : 0;
        const float* const source = bytes > 0 ? from + i * rows * row_stride : data;
        if (width == 4)
          copy_async<16>(place + i * rows * pitch, source, bytes);
        else
          copy_async<4>(place + i * rows * pitch, source, bytes);
      }
    }
    from += shape::depth * k_stride;
    k_left -= shape::depth;
  }
};

// Calls use(a, b) for every 32 k of the tile's lines.
AP_DEV void each_step(panel_lines& rows, panel_lines& columns, recompute_storage& memory, auto use) {
  using shape = recompute_shape;
  async_copies<shape::stages, part_of_block<shape::barrier, shape::threads>> ring;
  pipeline line{ring};
  line.run(
      static_cast<int>(ceil_div<std::int64_t>(rows.k_left, shape::depth)),
      [&](int, int slot) {
        rows.copy(memory.slot[slot].a);
        columns.copy(memory.slot[slot].b);
      },
      [&](int, int slot) { use(memory.slot[slot].a.data, memory.slot[slot].b.data); });
}

// list --------------------------------------------------------------------------------------------------------------------------
// Very few outputs, two at a time, straight from global memory: every thread takes its 256th of k.
AP_DEV void recompute_by_all(const problem& p, std::int64_t top, std::int64_t left, const std::uint16_t* places, int count,
                             recompute_storage& memory, int member) {
  using shape = recompute_shape;
  constexpr int together = 2, ahead = 8;
  const int warp = member / warp_size, lane = member % warp_size;
  for (int o = 0; o < count; o += together) {
    const float *a[together], *b[together];
    double sum[together] = {};
    AP_UNROLL
    for (int i = 0; i < together; ++i) {
      const int place = places[o + i < count ? o + i : o];
      a[i] = p.a.data + (top + place / shape::tile) * p.a.row_stride;
      b[i] = p.b.data + (left + place % shape::tile) * p.b.column_stride;
    }
    for (std::int64_t first = member; first < p.k(); first += ahead * shape::threads) {
      float of_a[ahead][together], of_b[ahead][together];
      AP_UNROLL
      for (int n = 0; n < ahead; ++n) {
        const std::int64_t k = first + n * shape::threads;
        AP_UNROLL
        for (int i = 0; i < together; ++i) {
          of_a[n][i] = k < p.k() ? a[i][k * p.a.column_stride] : 0;
          of_b[n][i] = k < p.k() ? b[i][k * p.b.row_stride] : 0;
        }
      }
      AP_UNROLL
      for (int n = 0; n < ahead; ++n) {
        AP_UNROLL
        for (int i = 0; i < together; ++i) sum[i] = multiply_add<double>(of_a[n][i], of_b[n][i], sum[i]);
      }
    }
    AP_UNROLL
    for (int i = 0; i < together; ++i) {
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
    store_rounded(p, top + places[member] / shape::tile, left + places[member] % shape::tile, sum);
  }
  named_barrier_sync(shape::barrier, shape::threads);
}

// A thread's share of a list: of the outputs `first`, `first` + 256 ... every k that is `lane` modulo `lanes`, in order. The lanes' sums
// are added up by halves.
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
AP_DEV void recompute_apart(const problem& p, std::int64_t top, std::int64_t left, const std::uint16_t* places, int count, int member) {
  using shape = recompute_shape;
  constexpr int ahead = 16;
  const list_share mine(count, member);
  const bool any = mine.first < count;
  const int place = places[any ? mine.first : 0];
  const std::int64_t row = top + place / shape::tile, column = left + place % shape::tile, end = any ? p.k() : 0;
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

// `count` places in the tile, row * 128 + column, in shared memory other than `memory`; at most list_limit. All of the tile's lines pass
// through shared memory, or what the outputs need of them is read where it lies.
AP_DEV void recompute_list(const problem& p, std::int64_t top, std::int64_t left, const std::uint16_t* places, int count,
                           recompute_storage& memory, int member) {
  using shape = recompute_shape;
  const int strided = (p.a.column_stride != 1) + (p.b.row_stride != 1);
  if (count <= shape::by_all) return recompute_by_all(p, top, left, places, count, memory, member);
  if (count <= shape::list_apart(strided)) return recompute_apart(p, top, left, places, count, member);
  constexpr int most = shape::list_limit / shape::threads, together = 8;
  const list_share mine(count, member);
  panel_lines rows(rows_of_a(p), top, member), columns(columns_of_b(p), left, member);
  int row[most], column[most];
  double sum[most] = {};
  AP_UNROLL
  for (int i = 0; i < most; ++i) {
    const int o = mine.first + i * shape::threads, place = o < count ? places[o] : 0;
    row[i] = place / shape::tile, column[i] = place % shape::tile;
  }
  each_step(rows, columns, memory, [&](const float* a, const float* b) {
    AP_UNROLL
    for (int i = 0; i < most; ++i) {
      if (mine.first + i * shape::threads >= count) continue;
      const float *of_a = a + row[i] * rows.line_pitch(), *of_b = b + column[i] * columns.line_pitch();
      const auto add = [&](int k) { sum[i] = multiply_add<double>(of_a[k * rows.k_pitch()], of_b[k * columns.k_pitch()], sum[i]); };
      int k = mine.lane;
      AP_ROLLED
      for (; k + (together - 1) * mine.lanes < shape::depth; k += together * mine.lanes) {
        AP_UNROLL
        for (int n = 0; n < together; ++n) add(k + n * mine.lanes);
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
// What a lane holds of `Lines` lines over four k, as a fragment: with g = lane / 4 and q = lane % 4, of line g + 8 l the q-th.
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
// Of the tile's outputs those that `wanted` says, by their row and column.
template <class Wanted = any_output> AP_DEV void recompute_tile(const problem& p, std::int64_t top, std::int64_t left,
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
    double of_rows[of_a / 2][2];
    AP_UNROLL
    for (int i = 0; i < of_a; ++i) of_rows[i / 2][i % 2] = a[set].value[i];
    AP_UNROLL
    for (int j = 0; j < of_b; ++j) {
      AP_UNROLL
      for (int i = 0; i < of_a / 2; ++i) mma(sum[i][j], of_rows[i], b[set].value[j]);
    }
  };
  panel_lines rows(rows_of_a(p), top, member), columns(columns_of_b(p), left, member);
  const int a_line = rows.line_pitch(), a_k = rows.k_pitch(), b_line = columns.line_pitch(), b_k = columns.k_pitch();
  const int in_a = (warp_top + lane / 4) * a_line + lane % 4 * a_k, in_b = (warp_left + lane / 4) * b_line + lane % 4 * b_k;
  each_step(rows, columns, memory, [&](const float* of_rows, const float* of_columns) {
    AP_UNROLL
    for (int k = 0; k < shape::depth; k += 4) {
      const int set = k / 4 % 2;
      a[set].read(of_rows + in_a + k * a_k, a_line);
      b[set].read(of_columns + in_b + k * b_k, b_line);
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

// few ---------------------------------------------------------------------------------------------------------------------------
// Whether a line's outputs are recomputed here: lines with an infinity or NaN are not.
AP_DEV bool is_finite(const split_line& line) { return line.tiny < 0x1p60f; }
AP_DEV bool is_few(const split_line& line) { return is_finite(line) && line.nonzeros <= few_nonzeros; }
// Whether the output where they meet is recompute_few's.
AP_DEV bool meet_few(const split_line& a, const split_line& b) { return is_finite(a) && is_finite(b) && (is_few(a) || is_few(b)); }

// a, b: what the split pass found out about the rows of A and the columns of B.
AP_DEV void recompute_few(const problem& p, std::int64_t top, std::int64_t left, const split_operand& a, const split_operand& b,
                          int member) {
  using shape = recompute_shape;
  constexpr int columns = shape::columns / warp_size, rows = 2;  // of a lane: its columns, and rows that are loaded together
  const int warp = member / warp_size, lane = member % warp_size;
  top += warp / 2 * shape::rows, left += warp % 2 * shape::columns;
  const auto line_of = [](const split_operand& of, std::int64_t l) { return l < of.lines ? of.line[l] : split_line{2 * 0x1p60f, 0, 0, 0}; };
  const auto places_of = [](const split_operand& of, std::int64_t l, bool few) {
    few_places none{};
    for (int& k : none.k) k = -1;
    return few ? of.few[l] : none;
  };
  // A lane knows one row of the warp's and its own columns.
  const split_line row_line = line_of(a, top + lane);
  const few_places row_places = places_of(a, top + lane, is_few(row_line));
  bool column_finite[columns], column_few[columns];
  few_places column_places[columns];
  AP_UNROLL
  for (int j = 0; j < columns; ++j) {
    const split_line line = line_of(b, left + j * warp_size + lane);
    column_finite[j] = is_finite(line), column_few[j] = is_few(line);
    column_places[j] = places_of(b, left + j * warp_size + lane, column_few[j]);
  }
  bool any_column = false;
  AP_UNROLL
  for (int j = 0; j < columns; ++j) any_column |= column_few[j];
  any_column = ballot(any_column) != 0;
  const unsigned rows_finite = ballot(is_finite(row_line)), rows_few = ballot(is_few(row_line));
  for (int first = 0; first < shape::rows; first += rows) {
    if (!any_column && (rows_few >> first & ((1u << rows) - 1)) == 0) continue;
    bool wanted[rows][columns];
    float of_a[rows][columns][few_nonzeros], of_b[rows][columns][few_nonzeros];
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      const bool row_few = (rows_few >> (first + i) & 1u) != 0;
      AP_UNROLL
      for (int j = 0; j < columns; ++j)
        wanted[i][j] =
            (rows_finite >> (first + i) & 1u) != 0 && column_finite[j] && (row_few || column_few[j]) && left + j * warp_size + lane < p.n();
      AP_UNROLL
      for (int n = 0; n < few_nonzeros; ++n) {
        const int in_row = shuffle(row_places.k[n], first + i);
        AP_UNROLL
        for (int j = 0; j < columns; ++j) {
          const std::int64_t row = top + first + i, column = left + j * warp_size + lane;
          const int k = row_few ? in_row : column_places[j].k[n];
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
        for (int n = 0; n < few_nonzeros; ++n) sum.add(double{of_a[i][j][n]} * of_b[i][j][n]);
        store_rounded(p, top + first + i, left + j * warp_size + lane, sum.value + sum.cut);
      }
    }
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
