// SPDX-License-Identifier: Apache-2.0
// Copies of an operand of any alignment to the shared memory of a tf32 product (cp.async, sm_90a).
#pragma once
#include <antiphase/device/copy_async.cuh>
#include <cstdint>
#include "library/gemm/tf32/load/tf32_operand.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The first `Threads` threads of a block copy 32 k of `Lines` lines: pieces of 16 bytes, with zeros past the
// operand's ends. The first piece of a row begins up to three floats before it; the piece is aligned, so
// these lie in memory that may be read. Values that do not change from stage to stage are computed once per
// tile: a copying warp has no other warp to hide its instructions, so each of them costs time.
template <int Lines, int Threads> struct panel_copy {
  using panel = shifted_panel<Lines>;
  const line_operand* o;
  row_shifts shifts;
  const float *data, *begin;               // begin: of the tile, at k = 0; data: aligned, for empty copies
  const float *body, *end;                 // this thread's first piece, and the last piece of a row
  int body_to, body_row, body_at, end_at;  // places in the panel, rows and columns
  int lines_left;

  AP_DEV panel_copy(const line_operand& of, const float* of_member, std::int64_t first)
      : o(&of),
        shifts(of, of_member),
        data(reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(of_member) / 16 * 16)),
        begin(of_member + first * of.line_stride),
        lines_left(of.lines - first < 2 * Lines ? static_cast<int>(of.lines - first) : 2 * Lines) {
    if (o->along_k)
      place<tf32_stage_k, panel::along_k_pitch>(o->line_stride);
    else
      place<Lines, panel::across_k_pitch>(o->k_stride);
  }
  template <int Columns, int Pitch> AP_DEV void place(std::int64_t stride) {
    constexpr int in_row = Columns / 4;
    static_assert(Threads / in_row % 4 == 0);  // so that a thread's rows have the same shift
    const int row = thread_index() / in_row, piece = thread_index() % in_row;
    body_row = row, body_at = 4 * piece - shifts.of(row), body_to = row * Pitch + 4 * piece;
    end_at = Columns - shifts.of(thread_index());
    body = begin + row * stride + body_at;
    end = begin + thread_index() * stride + end_at;
  }
  AP_DEV void copy(float* to, std::int64_t k, std::int64_t k_end) const {
    const std::int64_t left = k_end - k;
    const int k_left = left > 2 * tf32_stage_k ? 2 * tf32_stage_k : left > 0 ? static_cast<int>(left) : 0;
    if (!shifts.packed) return copy_elements(to, k, k_left);
    if (o->along_k)
      copy_rows<Lines, tf32_stage_k, panel::along_k_pitch>(to, k, o->line_stride, lines_left, k_left);
    else
      copy_rows<tf32_stage_k, Lines, panel::across_k_pitch>(to, k * o->k_stride, o->k_stride, k_left,
                                                            lines_left);
  }
  template <int Rows, int Columns, int Pitch> AP_DEV void copy_rows(float* to, std::int64_t offset,
                                                                    std::int64_t stride, int rows_left,
                                                                    int columns_left) const {
    constexpr int at_once = Threads / (Columns / 4), count = Rows / at_once;
    const float* from = body + offset;
    const std::int64_t step = at_once * stride;
    float* const target = to + body_to;
    const int row = thread_index();
    const bool ends = row < Rows && end_at < Columns;
    // all copies are full: a third of the instructions
    if (rows_left >= Rows && columns_left >= Columns + 4) {
      AP_UNROLL
      for (int i = 0; i < count; ++i, from += step) copy_async<16>(target + i * at_once * Pitch, from, 16);
      if (ends) copy_async<16>(to + row * Pitch + Columns, end + offset, 16);
      return;
    }
    // After a row's last piece come at least 16 bytes of other rows, or the end of the operand.
    if (columns_left < Columns + 4 && (rows_left <= Rows || stride < 4))
      copy_edge<Rows, Columns, Pitch, false>(to, offset, stride, rows_left, columns_left);
    else
      copy_edge<Rows, Columns, Pitch, true>(to, offset, stride, rows_left, columns_left);
  }
  // Readable: whole pieces may be read. Copies of parts as such made products a third slower on an H200 where
  // each stage of a tile has an edge.
  template <int Rows, int Columns, int Pitch, bool Readable>
  AP_DEV void copy_edge(float* to, std::int64_t offset, std::int64_t stride, int rows_left,
                        int columns_left) const {
    constexpr int at_once = Threads / (Columns / 4), count = Rows / at_once;
    const float* from = body + offset;
    const std::int64_t step = at_once * stride;
    float* const target = to + body_to;
    // an empty last stage has no piece, not even the one that begins before its first column
    const auto bytes_of = [&](int at) {
      return columns_left - at >= 4                  ? 16
             : columns_left > 0 && columns_left > at ? 4 * (columns_left - at)
                                                     : 0;
    };
    const int bytes = bytes_of(body_at), rows = bytes > 0 ? rows_left - body_row : 0, row = thread_index();
    AP_UNROLL
    for (int i = 0; i < count; ++i, from += step) {
      const bool there = i * at_once < rows;
      copy_async<16, Readable>(target + i * at_once * Pitch, there ? from : data, there ? bytes : 0);
    }
    if (row < Rows && end_at < Columns) {
      const int of_end = row < rows_left ? bytes_of(end_at) : 0;
      copy_async<16, Readable>(to + row * Pitch + Columns, of_end > 0 ? end + offset : data, of_end);
    }
  }
  AP_DEV void copy_elements(float* to, std::int64_t k, int k_left) const {
    AP_ROLLED
    for (int n = thread_index(); n < Lines * tf32_stage_k; n += Threads) {
      const int line = o->along_k ? n / tf32_stage_k : n % Lines,
                at = o->along_k ? n % tf32_stage_k : n / Lines;
      const bool there = line < lines_left && at < k_left;
      copy_async<4>(to + panel::place(o->along_k, line, at),
                    there ? begin + line * o->line_stride + (k + at) * o->k_stride : data, there ? 4 : 0);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
