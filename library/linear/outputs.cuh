// SPDX-License-Identifier: Apache-2.0
// From the sums of a warp to its rows of Y: bias, activation, residual, rounding.
#pragma once
#include <antiphase/device/line_store.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/prefetch.cuh>
#include <type_traits>
#include "library/linear/activations.cuh"
#include "library/linear/linear_arguments.hpp"

namespace antiphase::linears {
inline namespace AP_TARGET {

AP_DEV float number_of(std::uint32_t bits, element of) {
  if (of == element::f32) return bit_cast<float>(bits);
  const auto half = static_cast<std::uint16_t>(bits);
  return of == element::f16 ? half_in(half) : to_float(bf16{half});
}
AP_DEV float read_number(const void* from, std::int64_t i, element of) {
  return of == element::f32 ? static_cast<const float*>(from)[i]
                            : number_of(static_cast<const std::uint16_t*>(from)[i], of);
}
AP_DEV void write_number(void* to, std::int64_t i, element of, float x) {
  if (of == element::f32)
    static_cast<float*>(to)[i] = x;
  else
    static_cast<std::uint16_t*>(to)[i] =
        static_cast<std::uint16_t>(of == element::f16 ? to_halves(x, 0) : to_bf16s(x, 0));
}

// Four elements of Out, as words.
template <class Out> using four_of = pack<std::uint32_t, static_cast<int>(sizeof(Out))>;
using four_floats = pack<float, 4>;
template <class Out> AP_DEV four_floats as_floats(const four_of<Out>& x) {
  four_floats v;
  AP_UNROLL
  for (int e = 0; e < 4; ++e)
    v.element[e] = sizeof(Out) == 4 ? bit_cast<float>(x.element[e % static_cast<int>(sizeof(Out))])
                                    : number_of(x.element[e / 2] >> 16 * (e % 2), element_of<Out>);
  return v;
}
template <class Out> AP_DEV void store_four(Out* to, const four_floats& v) {
  if constexpr (std::is_same_v<Out, float>) {
    store_pack<4>(to, v);
  } else {
    const auto two = [&](int e) {
      return std::is_same_v<Out, bf16> ? to_bf16s(v.element[e], v.element[e + 1])
                                       : to_halves(v.element[e], v.element[e + 1]);
    };
    store_pack<2>(reinterpret_cast<std::uint32_t*>(to), {{two(0), two(2)}});
  }
}

AP_DEV bool is_long(gemms::activation function) { return function > gemms::activation::relu; }

// What is little code, for all sums where they are: the bias, which passes through the warp's box, and ReLU.
template <int Registers>
AP_DEV void add_bias(const arguments& p, unsigned char* box, float (&sum)[Registers], int column, int group) {
  constexpr int columns = 2 * Registers, each = (columns + warp_size - 1) / warp_size;
  static_assert(columns * sizeof(float) <= line_box_bytes);
  float* const line = reinterpret_cast<float*>(box);
  const std::int64_t first = column + lane_index() + group * p.bias_member_stride;
  std::uint32_t bits[each] = {};  // all loads before anything that waits for one
  const auto load = [&](const auto* from) {
    AP_UNROLL
    for (int i = 0; i < each; ++i)
      if (const int at = i * warp_size + lane_index(); at < columns && column + at < p.n)
        bits[i] = from[first + i * warp_size];
  };
  if (p.out == element::f32)
    load(static_cast<const std::uint32_t*>(p.bias));
  else
    load(static_cast<const std::uint16_t*>(p.bias));
  warp_sync();
  AP_UNROLL
  for (int i = 0; i < each; ++i)
    if (const int at = i * warp_size + lane_index(); at < columns) line[at] = number_of(bits[i], p.out);
  warp_sync();
  AP_UNROLL
  for (int i = 0; i < Registers; i += 4) {
    const pack<float, 2> two = load_pack<2>(line + 2 * i + lane_index() % 4 * 2);
    AP_UNROLL
    for (int r = 0; r < 4; ++r) sum[i + r] += two.element[r % 2];
  }
}
template <int Registers> AP_DEV void rectify(float (&sum)[Registers]) {
  AP_UNROLL
  for (float& v : sum) v = gemms::activated(gemms::activation::relu, v);
}

// What follows, for one element. Apart: it is much code, and there is a copy of its call for each line.
template <class Arguments> AP_DEV_APART void end_element(const Arguments& p, float v, std::int64_t row,
                                                         std::int64_t column, std::int64_t member) {
  if (is_long(p.function)) v = activated_apart(p.function, four_floats{{v}}).element[0];
  if (p.residual.data != nullptr)
    v += read_number(p.residual.data,
                     row * p.residual.row_stride + column + member * p.residual.member_stride, p.out);
  write_number(p.y.data, row * p.y.row_stride + column + member * p.y.member_stride, p.out, v);
}

// The same for Y of Out whose elements, and those of the residual, can be accessed by fours: a lane has the
// same four columns of up to four rows of a line. Ahead: the residual is loaded a line ahead, which takes
// registers.
template <class Out, bool Ahead, int Registers>
AP_DEV void end_lines(const arguments& p, unsigned char* box, const float (&sum)[Registers], int row,
                      int rows, int column, std::int64_t member) {
  constexpr int columns = 2 * Registers, width = 128 / sizeof(float);
  struct place {
    int row, step, column;  // the lane's first row, from one to the next, and its first column in the tile
    AP_DEV explicit place(int from) {
      const int across = (columns - from < width ? columns - from : width) / 4;
      row = lane_index() / across, step = warp_size / across, column = from + lane_index() % across * 4;
    }
  };
  const bool adds = p.residual.data != nullptr, is_long_function = is_long(p.function);
  Out* const y = static_cast<Out*>(p.y.data) + row * p.y.row_stride + column + member * p.y.member_stride;
  const Out* const residual = static_cast<const Out*>(p.residual.data) + row * p.residual.row_stride +
                              column + member * p.residual.member_stride;
  const auto residual_at = [&](int r, int at) {
    return load_pack<sizeof(Out)>(
        reinterpret_cast<const std::uint32_t*>(residual + r * p.residual.row_stride + at));
  };
  four_of<Out> ahead[Ahead ? 4 : 1];
  const auto load = [&](int from) {
    if (!Ahead || !adds || from >= columns) return;
    const place at(from);
    AP_UNROLL
    for (int i = 0; i < (Ahead ? 4 : 0); ++i) {
      ahead[i] = {};
      if (const int r = at.row + i * at.step; r < rows && column + at.column < p.n)
        ahead[i] = residual_at(r, at.column);
    }
  };
  load(0);
  const auto floats = [](float a, float b) { return pack<float, 2>{{a, b}}; };
  by_lines<float>(box, sum, floats, [&](int from, int) {
    const place at(from);
    four_of<Out> before[Ahead ? 4 : 1];
    AP_UNROLL
    for (int i = 0; i < (Ahead ? 4 : 0); ++i) before[i] = ahead[i];
    load(from + width);
    AP_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int r = at.row + i * at.step;
      if (r >= rows || column + at.column >= p.n) continue;
      four_floats v =
          load_pack<4>(reinterpret_cast<const float*>(box + r * line_box_pitch) + at.column - from);
      if (is_long_function) v = activated_apart(p.function, v);
      if (adds) {
        const four_floats more = as_floats<Out>(Ahead ? before[Ahead ? i : 0] : residual_at(r, at.column));
        AP_UNROLL
        for (int e = 0; e < 4; ++e) v.element[e] += more.element[e];
      }
      store_four(y + r * p.y.row_stride + at.column, v);
    }
  });
}

// The warp's 16 rows from `row` on, of which those before `end` are stored. Groups are members of W and bias,
// and of nothing else.
template <class In, bool Ahead, int Registers> AP_DEV void store_rows(const arguments& p, unsigned char* box,
                                                                      float (&sum)[Registers], int row,
                                                                      int end, int column, int group) {
  const int member = p.group_ends != nullptr ? 0 : group, columns = p.n - column,
            rows = end - row < 16 ? end - row : 16;
  const std::int64_t first = row * p.y.row_stride + column + member * p.y.member_stride;
  const auto floats = [](float a, float b) { return pack<float, 2>{{a, b}}; };
  if (p.bias != nullptr) add_bias(p, box, sum, column, group);
  if (p.function == gemms::activation::relu) rectify(sum);
  const bool ends = is_long(p.function) || p.residual.data != nullptr;
  if (!ends && p.out == element::f32)
    return store_lines(box, sum, static_cast<float*>(p.y.data) + first, p.y.row_stride, rows, columns,
                       floats);
  if (!ends && p.out == element_of<In>)
    return store_lines(
        box, sum, static_cast<In*>(p.y.data) + first, p.y.row_stride, rows, columns,
        [](float a, float b) { return std::is_same_v<In, bf16> ? to_bf16s(a, b) : to_halves(a, b); });
  if (p.by_fours && p.out == element::f32)
    return end_lines<float, Ahead>(p, box, sum, row, rows, column, member);
  if (p.by_fours && p.out == element_of<In>)
    return end_lines<In, Ahead>(p, box, sum, row, rows, column, member);
  by_pieces<float>(box, sum, floats, [&](int y, int x, const float* four) {
    AP_ROLLED
    for (int e = 0; e < 4; ++e)
      if (y < rows && x + e < columns) end_element(p, four[e], row + y, column + x + e, member);
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
