// SPDX-License-Identifier: Apache-2.0
// A thread's share of the accumulator of a warpgroup's products, and operations on its rows.
#pragma once
#include <antiphase/device/index.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/wgmma.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// Of 64 rows of Columns columns (wgmma), a thread has elements of two rows, 8 apart; the three lanes next to
// it have the others of these rows. value[i] is in row row() + 8 * half_of(i) and in column column() +
// column_of(i); four elements, of both rows, belong to the same eight columns.
template <int Columns> struct accumulator {
  static constexpr int count = Columns / 2;
  float value[count];

  AP_DEV static int row() { return thread_index() % warpgroup_size / warp_size * 16 + lane_index() / 4; }
  AP_DEV static int column() { return 2 * (lane_index() % 4); }
  AP_FN static constexpr int half_of(int i) { return i / 2 % 2; }
  AP_FN static constexpr int column_of(int i) { return i / 4 * 8 + i % 2; }

  // Calls f(element, half, column_of).
  template <class F> AP_DEV void each(F f) {
    AP_UNROLL
    for (int i = 0; i < count; ++i) f(value[i], half_of(i), column_of(i));
  }
  // The largest of this thread's elements of a row, in Width columns from `first`, a multiple of 8.
  template <int Width = Columns> AP_DEV float row_max(int half, int first = 0) const {
    const int begin = first / 2 + 2 * half;
    float largest = value[begin];
    AP_UNROLL
    for (int i = 0; i < Width / 2; i += 4)
      largest = fmaxf(largest, fmaxf(value[begin + i], value[begin + i + 1]));
    return largest;
  }
  // The sum of this thread's elements of a row: even and odd columns are added up apart, then both.
  AP_DEV float row_sum(int half) const {
    float even = 0, odd = 0;
    AP_UNROLL
    for (int i = 0; i < count; i += 4) even += value[i + 2 * half], odd += value[i + 2 * half + 1];
    return even + odd;
  }
  AP_DEV void scale(float by) {
    AP_UNROLL
    for (int i = 0; i < count; ++i) value[i] *= by;
  }
  AP_DEV void scale_rows(const float (&by)[2]) {
    AP_UNROLL
    for (int i = 0; i < count; ++i) value[i] *= by[half_of(i)];
  }
  // Adds the other's rows, each times its factor.
  AP_DEV void add_rows(const accumulator& other, float by0, float by1) {
    AP_UNROLL
    for (int i = 0; i < count; ++i)
      value[i] = multiply_add(other.value[i], half_of(i) == 0 ? by0 : by1, value[i]);
  }
  AP_DEV void pin() { pin_registers(value); }
};
// Over the four lanes that share a row.
AP_DEV float max_of_row(float x) {
  x = fmaxf(x, shuffle_xor(x, 1));
  return fmaxf(x, shuffle_xor(x, 2));
}
AP_DEV float sum_of_row(float x) {
  x += shuffle_xor(x, 1);
  return x + shuffle_xor(x, 2);
}

}  // namespace AP_TARGET
}  // namespace antiphase
