// SPDX-License-Identifier: Apache-2.0
// Lanes load an operand in pairs of floats, whichever way it lies, without stalls between loads (sm_80).
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/device/global.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/vector.cuh>
#include <cstdint>
#include "library/gemm/fp64/fp64_product.hpp"
#include "library/gemm/fp64/tiles/lane_places.hpp"
#include "library/gemm/operands/line_operand.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A lane's elements of 16 k of `Lines` lines.
template <int Lines> struct lane_elements {
  static constexpr int count = Lines / 8, two = Lines == 8 ? 1 : 2;
  float x[count][4];
};
// The same as they were loaded: pairs that are adjacent in memory, along k or along lines, whichever way the
// operand lies. take() sorts out which element is where. With loads of its own for each layout, code would
// have to move one layout's registers to those of the other, and so wait for these loads, before the next
// ones are issued.
template <int Lines> struct lane_reads {
  static constexpr int reads = Lines == 8 ? 4 : Lines / 4, wide = Lines == 8 ? 1 : 2;
  pack<float, wide> packs[reads];
};
// Their addresses. Lines past the end repeat the last one; k past the end count as zero. Whole: nothing lies
// past an end, and all loads are pairs.
template <int Lines, bool Whole = false> struct lane_reader {
  static_assert(Lines == 8 || Lines == 16 || Lines == 32);
  using elements = lane_elements<Lines>;
  using reads = lane_reads<Lines>;
  static constexpr int count = elements::count, two = elements::two, groups = reads::reads / 4;
  const float* place[4];
  int lines_left;  // that exist, from the first one on
  bool pairs;      // loads in pairs: adjacent, aligned, and both exist

  AP_DEV static int line(int l, int g) { return line_of_lane<two>(0, l, g); }
  AP_DEV int existing(int at) const { return Whole || at < lines_left ? at : lines_left - 1; }
  // The first line of the n-th place, and its first k as an index for k_of_lane().
  AP_DEV static int line_of_place(bool along_k, int n) {
    return !along_k ? 0 : groups == 2 ? n : n / 2 % count;
  }
  AP_DEV static int k_of_place(bool along_k, int n) {
    return !along_k || Lines == 8 ? n : groups == 2 ? 0 : n % 2 * 2;
  }
  // data: of the member. The warp's lines begin at `top`, its k at first_k.
  AP_DEV void begin(const line_operand& o, const float* data, std::int64_t top, std::int64_t first_k, int g,
                    int q) {
    lines_left = as_many(o.lines - top);
    pairs =
        o.width >= 2 && (o.along_k || lines_left >= Lines) && reinterpret_cast<std::uintptr_t>(data) % 8 == 0;
    const float* const first = data + top * o.line_stride + (first_k + k_of_lane(0, q)) * o.k_stride;
    AP_UNROLL
    for (int n = 0; n < 4; ++n)
      place[n] = first + existing(line(line_of_place(o.along_k, n), g)) * o.line_stride +
                 k_of_lane(k_of_place(o.along_k, n), 0) * o.k_stride;
  }
  AP_DEV void move(std::int64_t floats) {
    AP_UNROLL
    for (int n = 0; n < 4; ++n) place[n] += floats;
  }
  AP_DEV std::uint32_t digest() const {
    std::uint32_t all = 0;
    AP_UNROLL
    for (int n = 0; n < 4; ++n) all ^= static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(place[n]));
    return all;
  }
  // Only `left` of the 16 k exist, at least one: places past their end move to the first k.
  AP_DEV void end_after(const line_operand& o, std::int64_t left, int q) {
    AP_UNROLL
    for (int n = 0; n < 4; ++n) {
      const int k = k_of_lane(k_of_place(o.along_k, n), q);
      if (k >= left) place[n] -= k * o.k_stride;
    }
  }
  // Loads 16 k, of which `left` exist.
  AP_DEV void read(reads& to, const line_operand& o, std::int64_t left, int g, int q) const {
    if constexpr (Lines == 8) {
      AP_UNROLL
      for (int n = 0; n < 4; ++n) to.packs[n] = load_pack<1>(in_global_memory(place[n]));
    } else {
      AP_UNROLL
      for (int group = 0; group < groups; ++group) {
        // past the end of k: the first group's k again
        const bool behind = group == 1 && o.along_k && k_of_lane(2, q) >= left;
        const std::int64_t further = group == 0 || behind ? 0
                                     : o.along_k
                                         ? k_of_lane(2, 0) * o.k_stride
                                         : (existing(line(2, g)) - existing(line(0, g))) * o.line_stride;
        if (Whole || (pairs && (!o.along_k || left >= 16 || left % 2 == 0))) {
          AP_UNROLL
          for (int n = 0; n < 4; ++n)
            to.packs[4 * group + n] = load_pack<2>(in_global_memory(place[n]) + further);
        } else {
          AP_UNROLL
          for (int n = 0; n < 4; ++n) {
            const int k = k_of_lane(groups == 2 ? (behind ? 0 : 2 * group) : k_of_place(true, n), q),
                      l = 2 * group;
            const std::int64_t beside =
                !o.along_k     ? (existing(line(l + 1, g)) - existing(line(l, g))) * o.line_stride
                : k + 1 < left ? o.k_stride
                               : 0;
            const float* const from = in_global_memory(place[n]) + further;
            to.packs[4 * group + n] = {from[0], from[beside]};
          }
        }
      }
    }
  }
  // The loaded elements, in order; k past the end are zero.
  AP_DEV static elements take(const reads& from, const line_operand& o, std::int64_t left, int q) {
    elements to;
    AP_UNROLL
    for (int l = 0; l < count; ++l) {
      AP_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int along = groups == 2 ? i / 2 * 4 + l : 2 * l + i / 2,
                  across = groups == 2 ? l / 2 * 4 + i : i;
        if constexpr (Lines == 8)
          to.x[l][i] = from.packs[i].element[0];
        else
          to.x[l][i] = o.along_k ? from.packs[along].element[i % 2] : from.packs[across].element[l % 2];
        if (left < 16 && k_of_lane(i, q) >= left) to.x[l][i] = 0;
      }
    }
    return to;
  }
};

// The same with code for each layout, for kernels that cannot afford a select per element: all distances
// along a row of memory are constants, so elements of a row have to be adjacent. Elements past an end are
// zero, except that lines along k repeat the last one.
template <int Lines, bool AlongK> struct lane_rows {
  static_assert(Lines % 16 == 0);
  using elements = lane_elements<Lines>;
  // rows: of memory, in which the lane has elements
  static constexpr int count = elements::count, rows = AlongK ? count : 4;
  const float* row[rows];
  int lines_left;     // across k: that exist, from the lane's first one on
  bool whole, pairs;  // whole: lines need no predicate; pairs: two elements per load

  // The row, and the place in it, of a lane's element i of line l.
  AP_DEV static constexpr int row_of(int l, int i) { return AlongK ? l : i; }
  AP_DEV static constexpr int in_row(int l, int i) {
    return AlongK ? k_of_lane(i, 0) : line_of_lane<2>(0, l, 0);
  }

  // data: of the member. The warp has the lines from `top` on, and all k.
  AP_DEV void begin(const line_operand& o, const float* data, std::int64_t top, int g, int q) {
    const int left = as_many(o.lines - top), first = line_of_lane<2>(0, 0, g),
              apart = static_cast<int>(AlongK ? o.line_stride : o.k_stride);
    lines_left = AlongK ? Lines : left - first;
    whole = AlongK || left >= Lines;
    pairs = whole && o.width >= 2 && reinterpret_cast<std::uintptr_t>(data) % sizeof(float[2]) == 0;
    const float* const begins = data + top * o.line_stride + (AlongK ? k_of_lane(0, q) : first);
    AP_UNROLL
    for (int n = 0; n < rows; ++n) {
      const int line = line_of_lane<2>(0, n, g);
      row[n] = begins + std::int64_t{!AlongK ? k_of_lane(n, q) : line < left ? line : left - 1} * apart;
    }
  }
  AP_DEV std::uint32_t digest() const {
    std::uint32_t all = 0;
    AP_UNROLL
    for (int n = 0; n < rows; ++n)
      all ^= static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(row[n]));
    return all;
  }
  AP_DEV void move(const line_operand& o) {
    const std::int64_t by = AlongK ? 16 : 16 * o.k_stride;
    AP_UNROLL
    for (int n = 0; n < rows; ++n) row[n] += by;
  }
  // Loads 16 k, of which `k_left` exist.
  AP_DEV void read(elements& to, int k_left, int q) const {
    if (pairs && k_left >= 16) {
      AP_UNROLL
      for (int l = 0; l < count; l += AlongK ? 1 : 2) {
        AP_UNROLL
        for (int i = 0; i < 4; i += AlongK ? 2 : 1) {
          const pack<float, 2> both = load_pack<2>(in_global_memory(row[row_of(l, i)]) + in_row(l, i));
          to.x[l][i] = both.element[0];
          to.x[AlongK ? l : l + 1][AlongK ? i + 1 : i] = both.element[1];
        }
      }
    } else if (whole && k_left >= 16) {
      AP_UNROLL
      for (int l = 0; l < count; ++l) {
        AP_UNROLL
        for (int i = 0; i < 4; ++i) to.x[l][i] = in_global_memory(row[row_of(l, i)])[in_row(l, i)];
      }
    } else {
      AP_UNROLL
      for (int l = 0; l < count; ++l) {
        AP_UNROLL
        for (int i = 0; i < 4; ++i)
          to.x[l][i] = k_of_lane(i, q) < k_left && (AlongK || in_row(l, i) < lines_left)
                           ? in_global_memory(row[row_of(l, i)])[in_row(l, i)]
                           : 0;
      }
    }
  }
};

// Begins both operands of a member, and waits for the previous kernel. Addresses are computed before the
// wait, except those that are read from arrays of pointers. begin_long, begin_short: called with the member's
// operand; looks: uses the computed addresses, so that the compiler does not move their computation after
// the wait.
AP_DEV void begin_and_wait(const tiled_problem& p, std::uint32_t member, auto begin_long, auto begin_short,
                           auto looks) {
  const auto begin = [&](bool known) {
    if ((p.of_long.member == nullptr) == known) begin_long(p.of_long.of_member(member));
    if ((p.of_short.member == nullptr) == known) begin_short(p.of_short.of_member(member));
  };
  begin(true);
  looks();
  wait_for_previous_grid(p);
  start_next_grid();
  begin(false);
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
