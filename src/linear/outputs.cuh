// SPDX-License-Identifier: Apache-2.0
// From the sums of a warp to its rows of Y: bias, activation, residual, rounding.
#pragma once
#include <antiphase/device/line_store.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/prefetch.cuh>
#include <type_traits>
#include "src/gemm/operands/finished.cuh"
#include "src/linear/linear_arguments.hpp"

namespace antiphase::linears {
inline namespace AP_TARGET {

// `count` of four neighbors of a row, from element `i` on; the others are 0. `whole`: all four, which one
// access may bring.
AP_DEV pack<float, 4> read_four(const void* from, std::int64_t i, element of, int count, bool whole) {
  pack<float, 4> x{};
  if (of == element::f32) {
    const float* const first = static_cast<const float*>(from) + i;
    if (whole) return load_pack<4>(first);
    AP_UNROLL
    for (int e = 0; e < 4; ++e)
      if (e < count) x.element[e] = first[e];
    return x;
  }
  const std::uint16_t* const first = static_cast<const std::uint16_t*>(from) + i;
  pack<std::uint16_t, 4> bits{};
  if (whole) bits = load_pack<4>(first);
  AP_UNROLL
  for (int e = 0; e < 4; ++e)
    if (!whole && e < count) bits.element[e] = first[e];
  AP_UNROLL
  for (int e = 0; e < 4; ++e)
    x.element[e] = of == element::f16 ? half_in(bits.element[e]) : to_float(bf16{bits.element[e]});
  return x;
}
AP_DEV void write_four(void* to, std::int64_t i, element of, int count, bool whole, const float (&x)[4]) {
  if (of == element::f32) {
    float* const first = static_cast<float*>(to) + i;
    if (whole) return store_pack<4>(first, {{x[0], x[1], x[2], x[3]}});
    AP_UNROLL
    for (int e = 0; e < 4; ++e)
      if (e < count) first[e] = x[e];
    return;
  }
  pack<std::uint32_t, 2> pairs;
  AP_UNROLL
  for (int e = 0; e < 2; ++e)
    pairs.element[e] =
        of == element::f16 ? to_halves(x[2 * e], x[2 * e + 1]) : to_bf16s(x[2 * e], x[2 * e + 1]);
  std::uint16_t* const first = static_cast<std::uint16_t*>(to) + i;
  if (whole) return store_pack<2>(reinterpret_cast<std::uint32_t*>(first), pairs);
  AP_UNROLL
  for (int e = 0; e < 4; ++e)
    if (e < count) first[e] = static_cast<std::uint16_t>(pairs.element[e / 2] >> 16 * (e % 2));
}

// From a line of the warp's sums in FP32, `width` columns of 16 rows in its box, to Y. A lane has the same
// four columns of up to four rows: what it reads, it reads before it computes. Arithmetic is the same for
// all, whether aligned or not, so that the bits are. Apart: it is much code, and there is a call of it for
// each line.
template <class Arguments> AP_DEV_APART void end_line(const Arguments& p, const unsigned char* box, int row,
                                                      int rows, int column, int width, int group) {
  const int across = width / 4, lane = lane_index(), top = lane / across, step = warp_size / across,
            j = column + lane % across * 4, count = p.n - j < 4 ? p.n - j : 4;
  if (count <= 0) return;
  const bool whole = p.by_fours && count == 4;
  const std::int64_t member = p.group_ends != nullptr ? 0 : group;
  pack<float, 4> bias{}, before[4];
  if (p.bias != nullptr) bias = read_four(p.bias, j + group * p.bias_member_stride, p.out, count, whole);
  if (p.residual.data != nullptr) {
    AP_UNROLL
    for (int i = 0; i < 4; ++i)
      if (const int r = top + i * step; r < rows)
        before[i] = read_four(p.residual.data,
                              (row + r) * p.residual.row_stride + j + member * p.residual.member_stride,
                              p.out, count, whole);
  }
  float v[4][4];
  AP_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int r = top + i * step;
    pack<float, 4> sum{};
    if (r < rows)
      sum = load_pack<4>(reinterpret_cast<const float*>(box + r * line_box_pitch) + lane % across * 4);
    AP_UNROLL
    for (int e = 0; e < 4; ++e)
      v[i][e] = p.bias != nullptr ? sum.element[e] + bias.element[e] : sum.element[e];
  }
  const auto apply = [&](auto function) {
    AP_ROLLED
    for (int i = 0; i < 4; ++i) {  // one row's code for all four, and registers have no index
      float now[4];
      AP_UNROLL
      for (int e = 0; e < 4; ++e) {
        now[e] = gemms::activated(function(), v[0][e]);
        v[0][e] = v[1][e], v[1][e] = v[2][e], v[2][e] = v[3][e], v[3][e] = now[e];
      }
    }
  };
  switch (p.function) {
    case gemms::activation::relu: apply([] { return gemms::activation::relu; }); break;
    case gemms::activation::gelu: apply([] { return gemms::activation::gelu; }); break;
    case gemms::activation::gelu_tanh: apply([] { return gemms::activation::gelu_tanh; }); break;
    default: break;
  }
  AP_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int r = top + i * step;
    if (r >= rows) break;
    if (p.residual.data != nullptr) {
      AP_UNROLL
      for (int e = 0; e < 4; ++e) v[i][e] += before[i].element[e];
    }
    write_four(p.y.data, (row + r) * p.y.row_stride + j + member * p.y.member_stride, p.out, count, whole,
               v[i]);
  }
}

// The warp's 16 rows from `row` on, of which those before `end` are stored. Groups are members of W and bias,
// and of nothing else.
template <class In, int Registers> AP_DEV void store_rows(const arguments& p, unsigned char* box,
                                                          const float (&sum)[Registers], int row, int end,
                                                          int column, int group) {
  const int member = p.group_ends != nullptr ? 0 : group;
  const std::int64_t first = row * p.y.row_stride + column + member * p.y.member_stride;
  const int rows = end - row, columns = p.n - column;
  const auto floats = [](float a, float b) { return pack<float, 2>{{a, b}}; };
  if (p.ends_plainly && p.out == element::f32)
    return store_lines(box, sum, static_cast<float*>(p.y.data) + first, p.y.row_stride, rows, columns,
                       floats);
  if (p.ends_plainly && p.out == element_of<In>)
    return store_lines(
        box, sum, static_cast<In*>(p.y.data) + first, p.y.row_stride, rows, columns,
        [](float a, float b) { return std::is_same_v<In, bf16> ? to_bf16s(a, b) : to_halves(a, b); });
  by_lines<float>(box, sum, floats, [&](int from, int width) {
    end_line(p, box, row, rows < 16 ? rows : 16, column + from, width, group);
  });
}

// Brings the residual of a tile of `columns` columns into the L2 cache, while its sums are computed.
AP_DEV void fetch_residual(const arguments& p, int row, int end, int rows, int column, int columns,
                           int group) {
  if (p.residual.data == nullptr) return;
  const int size = p.out == element::f32 ? 4 : 2, member = p.group_ends != nullptr ? 0 : group,
            width = (p.n - column < columns ? p.n - column : columns) * size,
            count = end - row < rows ? end - row : rows, lines = (width + 127) / 128;
  const char* const first =
      static_cast<const char*>(p.residual.data) + (column + member * p.residual.member_stride) * size;
  AP_ROLLED
  for (int i = lane_index(); i < count * lines; i += warp_size)
    prefetch(first + (row + i / lines) * p.residual.row_stride * size + i % lines * 128);
}

}  // namespace AP_TARGET
}  // namespace antiphase::linears
