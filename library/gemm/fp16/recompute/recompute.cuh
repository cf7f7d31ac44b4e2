// SPDX-License-Identifier: Apache-2.0
// Recomputes outputs of a tile in FP64: those that the certificate of the split product does not cover.
#pragma once
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/math.cuh>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <cmath>
#include "library/gemm/fp16/pass/split_facts.cuh"
#include "library/gemm/fp16/recompute/line_kinds.cuh"
#include "library/gemm/fp16/recompute/recompute_shape.cuh"
#include "library/gemm/fp16/split_operand.hpp"
#include "library/gemm/operands/exact_sum.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// 256 consecutive threads, eight whole warps, recompute outputs of the tile that begins at (top, left);
// `member` is the thread's index among them. Each function computes outputs that no thread has stored yet, or
// that were stored for the time being because C's old values are not needed, from the FP32 operands, with
// sums in FP64 and one rounding; stored(p, ...) (exact_sum.cuh) makes of a sum what C gets, for a problem
// alpha A B + beta C.
//   recompute_list   some outputs: |error| <= (1 + K 2^-29) 2^-24 |A||B| + 2^-150
//   recompute_tile   all outputs on the Tensor Cores, the same bound
// tile_magnitudes computes no outputs, but |A||B| from below, on the Tensor Cores. Products of FP32 are exact
// in FP64, and none overflows. The order of each sum depends on K and, in a list, on its length, never on the
// layout of the operands: whichever way they come, the same lane adds the same k in the same order.
//
// They use shared memory, which is free again when they return. It is a ring of so many stages, of 32 k of
// the tile's lines, that the threads fill with their own asynchronous copies; beyond the operands the copies
// write zeros.

// 32 k of 128 lines, in their order in memory: by lines, or by k. Rows are padded so that a warp that reads 8
// lines at 4 k meets no bank conflict either way.
struct line_panel {
  static constexpr int by_lines = recompute_shape::depth + 4, by_k = split_tile + 8;  // from row to row
  alignas(128) float data[split_tile * by_lines];
  static_assert(recompute_shape::depth * by_k <= split_tile * by_lines);
};
template <int Stages> union recompute_storage {
  struct {
    line_panel a, b;
  } slot[Stages];
  double part[recompute_shape::by_all][recompute_shape::warps];
  std::uint32_t listed;  // outputs
};

// load
// -----------------------------------------------------------------------------------------------------------
// Which steps of 32 k are taken: `first`, and then one every so many.
struct some_steps {
  int first = 0, apart = 1;
};
// A thread's copies of one operand's lines, step by step. The thread copies every `y_step`-th row of a panel
// from row `y` on, `width` elements from `x` on.
struct panel_lines {
  const float *data, *next;                    // from: the thread's first element of the next step
  std::int64_t row_stride, k_stride, k_apart;  // k_apart: from one step to the next
  std::int64_t lines, k_left;                  // from the tile's first on; of the next step
  int x, y, y_step, width, pitch;
  bool by_lines;

  AP_DEV panel_lines(const operand_lines& of, std::int64_t first, int member, some_steps steps = {})
      : data(of.data + first * of.line_stride),
        k_stride(of.k_stride),
        k_apart(std::int64_t{steps.apart} * recompute_shape::depth),
        lines(of.lines - first),
        k_left(of.k - std::int64_t{steps.first} * recompute_shape::depth),
        by_lines(of.k_stride == 1) {
    using shape = recompute_shape;
    row_stride = by_lines ? of.line_stride : of.k_stride;
    pitch = by_lines ? line_panel::by_lines : line_panel::by_k;
    const std::int64_t in_row = by_lines ? of.k_stride : of.line_stride;
    width = in_row == 1 && row_stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0 ? 4 : 1;
    const int element = member * width;
    static_assert(shape::depth == 1 << 5 && split_tile == 1 << 7);
    // no division: it would be one by a variable
    x = by_lines ? element & (shape::depth - 1) : element & (split_tile - 1);
    y = by_lines ? element >> 5 : element >> 7;
    y_step = width * (by_lines ? shape::threads / shape::depth : shape::threads / split_tile);
    next = data + y * row_stride + x * in_row + steps.first * shape::depth * k_stride;
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
      for (int i = 0; i < copies / 4; ++i)
        copy_async<16>(target + i * rows * pitch, next + i * rows * row_stride, 16);
    } else {
      const std::int64_t x_left = (by_lines ? k_left : lines) - x, y_left = (by_lines ? lines : k_left) - y;
      const int inside = x_left >= width ? width : x_left > 0 ? static_cast<int>(x_left) : 0;
      AP_ROLLED
      for (int i = 0; i < copies / width; ++i) {
        const int bytes = i * rows < y_left ? inside * 4 : 0;
        const float* const source = bytes > 0 ? next + i * rows * row_stride : data;
        if (width == 4)
          copy_async<16>(target + i * rows * pitch, source, bytes);
        else
          copy_async<4>(target + i * rows * pitch, source, bytes);
      }
    }
    next += k_apart * k_stride;
    k_left -= k_apart;
  }
};

// Calls use(a, b) for every step of the tile's lines.
template <int Stages> AP_DEV void each_step(panel_lines& lines_a, panel_lines& lines_b,
                                            recompute_storage<Stages>& memory, auto use) {
  using shape = recompute_shape;
  async_copies<Stages, part_of_block<shape::barrier, shape::threads>> ring;
  pipeline line{ring};
  line.run(
      lines_a.k_left > 0 ? static_cast<int>(ceil_div<std::int64_t>(lines_a.k_left, lines_a.k_apart)) : 0,
      [&](int, int slot) {
        lines_a.copy(memory.slot[slot].a);
        lines_b.copy(memory.slot[slot].b);
      },
      [&](int, int slot) { use(memory.slot[slot].a.data, memory.slot[slot].b.data); });
}

// list
// -----------------------------------------------------------------------------------------------------------
// Up to by_all outputs, two at a time, straight from global memory: every thread takes a 256th of k.
template <class Problem, int Stages>
AP_DEV void recompute_by_all(const Problem& p, std::int64_t top, std::int64_t left,
                             const std::uint16_t* outputs, int count, recompute_storage<Stages>& memory,
                             int member) {
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

// A thread's share of a list: the outputs `first`, `first` + 256 ..., and of each every k that is `lane`
// modulo `lanes`, in order. A tree adds up the lanes' sums.
struct list_share {
  int lanes, lane, first;

  AP_DEV list_share(int count, int member) : lanes(recompute_shape::lanes_of_output(count)) {
    const int in_warp = member % warp_size;
    lane = in_warp & (lanes - 1);
    // so that all warps have some
    first = (in_warp - lane) / lanes * recompute_shape::warps + member / warp_size;
  }
  AP_DEV double all(double sum) const {
    for (int by = lanes / 2; by > 0; by /= 2) sum += shuffle_down(sum, by);
    return sum;
  }
};

// A few outputs, straight from global memory.
template <class Problem> AP_DEV void recompute_apart(const Problem& p, std::int64_t top, std::int64_t left,
                                                     const std::uint16_t* outputs, int count, int member) {
  constexpr int ahead = 16;
  const list_share mine(count, member);
  const bool any = mine.first < count;
  const int output = outputs[any ? mine.first : 0];
  const std::int64_t row = top + output / split_tile, column = left + output % split_tile,
                     end = any ? p.k() : 0;
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

// Any number of outputs, each by a warp, in an order that does not depend on how many there are.
template <class Problem> AP_DEV void recompute_in_order(const Problem& p, std::int64_t top, std::int64_t left,
                                                        const std::uint16_t* outputs, int count, int member) {
  constexpr int at_once = recompute_shape::warps;
  AP_ROLLED
  for (int o = 0; o < count; o += at_once)
    recompute_apart(p, top, left, outputs + o, count - o < at_once ? count - o : at_once, member);
}

// `outputs`: `count` of them, at most uncertain_limit, as row * split_tile + column; in global memory. A long
// list takes all of the tile's lines through shared memory; a short one reads the lines that it needs from
// global memory.
template <class Problem, int Stages>
AP_DEV void recompute_list(const Problem& p, std::int64_t top, std::int64_t left,
                           const std::uint16_t* outputs, int count, recompute_storage<Stages>& memory,
                           int member) {
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
      const auto add = [&](int k) {
        sum[i] = multiply_add<double>(of_a[k * lines_a.k_pitch()], of_b[k * lines_b.k_pitch()], sum[i]);
      };
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
    if (mine.lane == 0 && mine.first + i * shape::threads < count)
      store_rounded(p, top + row[i], left + column[i], all);
  }
}

// tile
// -----------------------------------------------------------------------------------------------------------
// A lane's part of a fragment of 8 `Lines` lines over four k: value[l] is element lane % 4 of line lane / 4 +
// 8 l.
template <int Lines> struct line_fragment {
  float value[Lines];

  AP_DEV void read(const float* first, int line_pitch) {
    AP_UNROLL
    for (int l = 0; l < Lines; ++l) value[l] = first[8 * l * line_pitch];
  }
};

// A warp's part of a tile: where a lane has its lines, and the outputs of its fragments of 16 x 8.
struct warp_part {
  // lines of a lane
  static constexpr int of_a = recompute_shape::rows / 8, of_b = recompute_shape::columns / 8;
  static constexpr int outputs = 2 * of_a * of_b;
  template <class T> using sums = T[of_a / 2][of_b][4];
  int top, left, lane;

  AP_DEV explicit warp_part(int member)
      : top(member / warp_size / 2 * recompute_shape::rows),
        left(member / warp_size % 2 * recompute_shape::columns),
        lane(member % warp_size) {}
  AP_DEV int line_of_a(int l) const { return top + lane / 4 + 8 * l; }
  AP_DEV int line_of_b(int l) const { return left + lane / 4 + 8 * l; }
  AP_DEV int first_of_a(const panel_lines& a) const {
    return line_of_a(0) * a.line_pitch() + lane % 4 * a.k_pitch();
  }
  AP_DEV int first_of_b(const panel_lines& b) const {
    return line_of_b(0) * b.line_pitch() + lane % 4 * b.k_pitch();
  }
  // Row and column of the lane's n-th output, in the tile: column by column.
  AP_DEV int row_of(int n) const { return line_of_a(n % of_a); }
  AP_DEV int column_of(int n) const { return left + n / (2 * of_a) * 8 + lane % 4 * 2 + n / of_a % 2; }
  // Calls use(n, i, j, sum) for the lane's n-th output, which is in row i and column j.
  template <class T> AP_DEV void each(const sums<T>& sum, auto use) const {
    AP_UNROLL
    for (int n = 0; n < outputs; ++n)
      use(n, row_of(n), column_of(n), sum[n % of_a / 2][n / (2 * of_a)][n % 2 * 2 + n / of_a % 2]);
  }
};

struct any_output {
  AP_DEV bool operator()(std::int64_t, std::int64_t) const { return true; }
};
// The outputs of the tile for which wanted(row, column) is true.
template <class Problem, int Stages, class Wanted = any_output>
AP_DEV void recompute_tile(const Problem& p, std::int64_t top, std::int64_t left,
                           recompute_storage<Stages>& memory, int member, Wanted wanted = {}) {
  using shape = recompute_shape;
  constexpr int of_a = warp_part::of_a, of_b = warp_part::of_b;
  const warp_part mine(member);
  // Two sets of registers alternately: one is read while the other is multiplied, also across steps.
  warp_part::sums<double> sum = {};
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
  const int a_line = lines_a.line_pitch(), a_k = lines_a.k_pitch(), b_line = lines_b.line_pitch(),
            b_k = lines_b.k_pitch();
  const int in_a = mine.first_of_a(lines_a), in_b = mine.first_of_b(lines_b);
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
  mine.each(sum, [&](int, int i, int j, double value) {
    const std::int64_t row = top + i, column = left + j;
    if (row < p.m() && column < p.n() && wanted(row, column)) store_rounded(p, row, column, value);
  });
}

// magnitudes
// -----------------------------------------------------------------------------------------------------------
// A warp's part of a tile of |A||B|, from below: sums of |a b|, scaled, at most 1.001 times what they are,
// except for 2^-10 from each tiny element (docs/use/accuracy.md). One product of FP16 magnitudes on the
// Tensor Cores, which cut sums off and never round them up. 0 or NaN where a line's scale is beyond
// plain_exponent. a, b: as the split pass has described the rows of A and the columns of B.
template <class Problem, int Stages> struct tile_magnitudes {
  static constexpr int of_a = warp_part::of_a, of_b = warp_part::of_b;
  const Problem& p;
  std::int64_t top, left;
  recompute_storage<Stages>& memory;
  int member;
  warp_part mine;
  float scale_a[of_a], scale_b[of_b];
  warp_part::sums<float> sum;

  AP_DEV tile_magnitudes(const Problem& of, std::int64_t first_row, std::int64_t first_column,
                         const split_operand& a, const split_operand& b, recompute_storage<Stages>& shared,
                         int thread)
      : p(of), top(first_row), left(first_column), memory(shared), member(thread), mine(thread), sum{} {
    const auto scale = [](const split_operand& operand, std::int64_t l) {
      const split_line line = l < operand.lines ? operand.line[l] : split_line{};
      return is_far(line) ? 0 : line_facts::power_of_two(line.exponent);
    };
    AP_UNROLL
    for (int l = 0; l < of_a; ++l) scale_a[l] = scale(a, top + mine.line_of_a(l));
    AP_UNROLL
    for (int l = 0; l < of_b; ++l) scale_b[l] = scale(b, left + mine.line_of_b(l));
  }
  AP_DEV int steps() const { return static_cast<int>(ceil_div<std::int64_t>(p.k(), recompute_shape::depth)); }
  AP_DEV void add(some_steps steps) {
    constexpr int of_mma = 16, reads = of_mma / 4;  // k
    panel_lines lines_a(rows_of_a(p), top, member, steps), lines_b(columns_of_b(p), left, member, steps);
    const int a_line = lines_a.line_pitch(), a_k = lines_a.k_pitch(), b_line = lines_b.line_pitch(),
              b_k = lines_b.k_pitch();
    const int in_a = mine.first_of_a(lines_a), in_b = mine.first_of_b(lines_b);
    each_step(lines_a, lines_b, memory, [&](const float* a_panel, const float* b_panel) {
      AP_UNROLL
      for (int k = 0; k < recompute_shape::depth; k += of_mma) {
        line_fragment<of_a> from_a[reads];
        line_fragment<of_b> from_b[reads];
        AP_UNROLL
        for (int n = 0; n < reads; ++n) from_a[n].read(a_panel + in_a + (k + 4 * n) * a_k, a_line);
        AP_UNROLL
        for (int n = 0; n < reads; ++n) from_b[n].read(b_panel + in_b + (k + 4 * n) * b_k, b_line);
        // Both operands have their k in the same order, whichever that is.
        const auto two = [](const auto& from, int l, int n, float by) {
          return to_halves(std::fabs(from[n].value[l]) * by, std::fabs(from[n + 1].value[l]) * by);
        };
        std::uint32_t half_a[of_a / 2][4];
        AP_UNROLL
        for (int i = 0; i < 2 * of_a; ++i)
          half_a[i / 4][i % 4] = two(from_a, i / 4 * 2 + i % 2, i % 4 / 2 * 2, scale_a[i / 4 * 2 + i % 2]);
        AP_UNROLL
        for (int j = 0; j < of_b; ++j) {
          const std::uint32_t half_b[2] = {two(from_b, j, 0, scale_b[j]), two(from_b, j, 2, scale_b[j])};
          AP_UNROLL
          for (int i = 0; i < of_a / 2; ++i) mma(sum[i][j], half_a[i], half_b);
        }
      }
    });
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
