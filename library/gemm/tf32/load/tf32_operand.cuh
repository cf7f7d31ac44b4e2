// SPDX-License-Identifier: Apache-2.0
// Operands of tf32 products: their layout in a slot of shared memory, and how they are read, split and
// multiplied (wgmma, sm_90a).
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/warp.cuh>
#include <antiphase/device/wgmma_tf32.cuh>
#include <cstdint>
#include "library/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

AP_DEV float tf32_cut(float x) { return bit_cast<float>(bit_cast<std::uint32_t>(x) & 0xFFFFE000u); }
// The lower part of an element of the short operand, of which Tensor Cores take 11 bits. It is larger by a
// share, for what they cut off on average, here and of sums (docs/use/accuracy.md). A part of up to 11 bits
// is not: with this factor it stays below the next number of 11 bits.
AP_DEV float tf32_lower(float x) { return (x - tf32_cut(x)) * 0x1.002p0f; }

// Rows of 32 floats in TMA's swizzle of 128 bytes.
struct tf32_place {
  AP_FN static constexpr int along_k(int line, int k) {
    return line * tf32_stage_k + ((k / 4 ^ (line & 7)) * 4 | (k & 3));
  }
  AP_FN static constexpr int across_k(int line, int k) {
    return line / tf32_stage_k * (tf32_stage_k * tf32_stage_k) + along_k(k, line % tf32_stage_k);
  }
};

// A lane's elements of 16 k of the long operand, in the order of the registers of two wgmma: rows g and g + 8
// of its warp's 16, and k = q, q + 4 of 8.
using tf32_values = float[8];
template <bool AlongK> struct tf32_reader;
// Along k: ldmatrix loads pieces of four floats as if they were eight numbers of f16. Each lane passes the
// address of one row's piece.
template <> struct tf32_reader<true> {
  int start;  // floats from the beginning of the tile
  AP_DEV explicit tf32_reader(int first)
      : start(tf32_place::along_k(first + lane_index() % 16, lane_index() / 16 * 4)) {}
  AP_DEV void read(tf32_values& x, const float* tile, int k) const {
    AP_UNROLL
    for (int c = 0; c < 2; ++c) {
      std::uint32_t eight_k[4];
      // bits 2 to 4: the piece of four k, XORed with line % 8
      ldmatrix(eight_k, tile + (start ^ (k + 8 * c)));
      AP_UNROLL
      for (int i = 0; i < 4; ++i) x[4 * c + i] = bit_cast<float>(eight_k[i]);
    }
  }
};
template <> struct tf32_reader<false> {
  int start;
  AP_DEV explicit tf32_reader(int first)
      : start(tf32_place::across_k(first + lane_index() / 4, lane_index() % 4)) {}
  AP_DEV void read(tf32_values& x, const float* tile, int k) const {
    AP_UNROLL
    for (int i = 0; i < 8; ++i) {
      const int row = i % 2 * 8, at = k + i / 4 * 8 + i / 2 % 2 * 4;
      x[i] = tile[(start ^ (row | (i / 2 % 2 * 16))) + at * tf32_stage_k];
    }
  }
};
// 32 k of `Lines` lines as cp.async copies them: row by row as in global memory, in pieces of 16 bytes that
// are aligned there. So a row begins `shift` floats into its first piece, which is the same for every fourth
// row, and has one piece more than its elements fill.
template <int Lines> struct shifted_panel {
  // Floats from row to row: reads of a fragment are free of bank conflicts, except for differing shifts.
  static constexpr int along_k_pitch = tf32_stage_k + 4, across_k_pitch = Lines + 8;
  static constexpr int size = Lines * along_k_pitch > tf32_stage_k* across_k_pitch
                                  ? Lines* along_k_pitch
                                  : tf32_stage_k* across_k_pitch;
  float data[size];

  AP_FN static constexpr int place(bool along_k, int line, int k) {
    return along_k ? line * along_k_pitch + k : k * across_k_pitch + line;
  }
};
// Shifts of an operand's rows, which begin anywhere. Rows that are not contiguous are copied float by float,
// without a shift.
struct row_shifts {
  std::uint32_t first, step;
  bool packed;
  AP_DEV row_shifts(const line_operand& o, const float* data)
      : first(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data) / 4)),
        step(static_cast<std::uint32_t>(o.along_k ? o.line_stride : o.k_stride)),
        packed((o.along_k ? o.k_stride : o.line_stride) == 1) {}
  // Tiles and stages begin at multiples of four lines and k, so this holds for each of them.
  AP_DEV int of(int row) const {
    return packed ? static_cast<int>((first + static_cast<std::uint32_t>(row) * step) % 4) : 0;
  }
};
struct shifted_reader {
  using panel = shifted_panel<tf32_tile.m>;
  bool along_k;
  int start;
  AP_DEV shifted_reader(int top, const line_operand& o, const float* data) : along_k(o.along_k) {
    const int line = top + lane_index() / 4, q = lane_index() % 4;
    start = panel::place(along_k, line, q) + row_shifts(o, data).of(along_k ? line : q);
  }
  AP_DEV void read(tf32_values& x, const float* tile, int k) const {
    if (along_k)
      read_lying<true>(x, tile + start, k);
    else
      read_lying<false>(x, tile + start, k);
  }
  template <bool AlongK> AP_DEV static void read_lying(tf32_values& x, const float* from, int k) {
    AP_UNROLL
    for (int i = 0; i < 8; ++i) x[i] = from[panel::place(AlongK, i % 2 * 8, k + i / 4 * 8 + i / 2 % 2 * 4)];
  }
};

struct tf32_fragment {
  std::uint32_t hi[2][4], lo[2][4];
  AP_DEV void split(const tf32_values& x) {
    AP_UNROLL
    for (int i = 0; i < 8; ++i) {
      hi[i / 4][i % 4] = (bit_cast<std::uint32_t>(x[i]) + 0x1000u) & 0xFFFFE000u;
      lo[i / 4][i % 4] = bit_cast<std::uint32_t>(x[i] - bit_cast<float>(hi[i / 4][i % 4]));
    }
  }
};

// 32 k of the operands. A short operand across k is stored as it is, and once more along k.
template <tf32_policy P> struct tf32_slot {
  alignas(1024) float a[tf32_tile.m * tf32_stage_k];  // of the long operand
  alignas(1024) float b[tf32_tile.n * tf32_stage_k];
  alignas(1024) float lo[tf32_tile.n * tf32_stage_k];
  AP_DEV float* hi() { return b; }
  AP_DEV const float* hi() const { return b; }
};
template <tf32_policy P>
requires(P.loader == loader::tma && !P.short_along_k) struct tf32_slot<P> {
  alignas(1024) float a[tf32_tile.m * tf32_stage_k];
  alignas(1024) float b[tf32_tile.n * tf32_stage_k];
  alignas(1024) float lo[tf32_tile.n * tf32_stage_k];
  alignas(1024) float turned[tf32_tile.n * tf32_stage_k];
  AP_DEV float* hi() { return turned; }
  AP_DEV const float* hi() const { return turned; }
};
// cp.async: threads read the short operand and write it along k in its place.
template <tf32_policy P>
requires(P.loader == loader::cp_async) struct tf32_slot<P> {
  alignas(1024) float b[shifted_panel<tf32_tile.n>::size];
  alignas(1024) float lo[tf32_tile.n * tf32_stage_k];
  alignas(16) float a[shifted_panel<tf32_tile.m>::size];
  AP_DEV float* hi() { return b; }
  AP_DEV const float* hi() const { return b; }
};

// Loads 32 k of `Lines` lines by TMA, in their layout and with its swizzle.
template <int Lines, bool AlongK>
AP_DEV void load_tf32_panel(float* to, const tensor_map& map, mbarrier& landed, int line, int k, int member) {
  if constexpr (AlongK) {
    tensor_load(to, map, landed, k, line, member);
  } else {
    AP_UNROLL
    for (int i = 0; i < Lines; i += tf32_stage_k)
      tensor_load(to + i * tf32_stage_k, map, landed, line + i, k, member);
  }
}

// Descriptor of the short operand's lines, along k, from k on within a stage.
AP_DEV matrix_descriptor columns_at(const float* tile, int k = 0) {
  return describe(tile + k, 16, 8 * tf32_stage_k * static_cast<int>(sizeof(float)), swizzle::bytes_128);
}
// Products of 16 k: hi hi (main), and lo hi and hi lo (mixed). fresh: the first one overwrites the sum.
constexpr int bytes_of_8_k = 8 * static_cast<int>(sizeof(float));
template <int Registers>
AP_DEV void multiply_main(float (&sum)[Registers], const tf32_fragment& a, matrix_descriptor hi, bool fresh) {
  AP_UNROLL
  for (int c = 0; c < 2; ++c) wgmma_tf32(sum, a.hi[c], further(hi, c * bytes_of_8_k), !(fresh && c == 0));
}
template <int Registers> AP_DEV void multiply_mixed(float (&sum)[Registers], const tf32_fragment& a,
                                                    matrix_descriptor hi, matrix_descriptor lo,
                                                    bool fresh = false) {
  AP_UNROLL
  for (int c = 0; c < 2; ++c) wgmma_tf32(sum, a.lo[c], further(hi, c * bytes_of_8_k), !(fresh && c == 0));
  AP_UNROLL
  for (int c = 0; c < 2; ++c) wgmma_tf32(sum, a.hi[c], further(lo, c * bytes_of_8_k), true);
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
