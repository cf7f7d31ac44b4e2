// SPDX-License-Identifier: Apache-2.0
// Copying warps of a ring product: from operands of any alignment to shared memory (cp.async, sm_80).
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/warp.cuh>
#include <bit>
#include <cstdint>
#include "library/gemm/fp64/tiles/panel.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A copying warp's share of a panel: it is number `index` of `of` warps.
struct copying_share {
  int index = 0, count = 1;
};

// Copies panels (fp64_panel) of one operand: 32 k of a tile's lines, slab after slab. A panel has rows of 32
// floats: 32 k of one line, or 32 lines at one k. A lane copies 4, 8 or 16 bytes of a row, adjacent lanes the
// rest of it and the next rows. Values that do not change from slab to slab are computed once per tile: a
// copying warp has no other warp to hide its instructions, so each of them costs time. FewestLines: of any
// panel of the kernel; if fewer than 32, rows across k are no longer than that.
template <int FewestLines> class panel_copier {
 public:
  // data: of the member. The tile has `lines` lines from `first` on, of which lines_left exist. k: all of K.
  AP_DEV panel_copier(const line_operand& o, const float* data, std::int64_t first, int lines_left, int lines,
                      std::int64_t k, copying_share share)
      : along_k_(o.along_k),
        lines_left_(lines_left < lines ? lines_left : lines),
        blocks_(o.along_k ? 1 : ceil_div(lines, slab_k)),
        groups_((o.along_k ? lines : slab_k) / group),
        share_(share),
        k_stride_(o.k_stride) {
    // Rows have to be multiples of a copy's width, so that no copy straddles the operand's end.
    const std::int64_t in_row = o.along_k ? k : o.lines;
    const auto allow = [&](int floats) {
      return o.width >= floats && in_row % floats == 0 &&
             reinterpret_cast<std::uintptr_t>(data) % (4u * static_cast<unsigned>(floats)) == 0;
    };
    const int float_bits = allow(4) ? 2 : allow(2) ? 1 : 0;
    bytes_ = 4 << float_bits;
    short_rows_ = FewestLines < slab_k && !o.along_k && lines < slab_k;
    const int lane_bits = (short_rows_ ? bits_of_short_row : bits_of_row) - float_bits;
    row_ = lane_index() >> lane_bits, column_ = (lane_index() & ((1 << lane_bits) - 1)) << float_bits;
    idle_ = row_ >= group;
    row_ += share.index * group;
    const std::int64_t apart = o.along_k ? o.line_stride : o.k_stride,
                       beside = o.along_k ? o.k_stride : o.line_stride;
    from_ = data + first * o.line_stride + column_ * beside + row_ * apart;
    const int rows_at_once = warp_size >> lane_bits;
    to_next_rows_ = (rows_at_once < group ? rows_at_once : group) * apart;
    to_next_group_ = share.count * group * apart;
    to_next_block_ = slab_k * beside;
  }
  // Copies the slab that begins at k. k_left of its k belong to the tile's sums; the others become zero, as
  // do lines past the operand's end.
  AP_DEV void copy(float* panel, std::int64_t k, int k_left) const {
    if (idle_) return;
    if (bytes_ == 16)
      copy_panel<16>(panel, k, k_left);
    else if (bytes_ == 8)
      copy_panel<8>(panel, k, k_left);
    else
      copy_panel<4>(panel, k, k_left);
  }

 private:
  static constexpr int group = 8, row_bytes = slab_k * 4;  // group: rows after which the swizzle repeats
  static constexpr int bits_of_row = std::countr_zero(static_cast<unsigned>(slab_k)),
                       bits_of_short_row = std::countr_zero(static_cast<unsigned>(FewestLines));

  template <int Bytes> AP_DEV void copy_panel(float* panel, std::int64_t k, int k_left) const {
    shared_place target = panel + fp64_panel<slab_k>::place(row_, column_);
    const float* block = from_ + k * k_stride_;
    int columns_left = (along_k_ ? k_left : lines_left_) - column_;
    AP_ROLLED
    for (int b = 0; b < blocks_; ++b) {
      const float* at = block;
      shared_place to = target;
      int rows_left = columns_left > 0 ? (along_k_ ? lines_left_ : k_left) - row_ : 0;
      AP_ROLLED
      for (int g = share_.index; g < groups_; g += share_.count) {
        copy_group<Bytes>(to, at, rows_left);
        at += to_next_group_, to += share_.count * group * row_bytes, rows_left -= share_.count * group;
      }
      block += to_next_block_, target += slab_k * row_bytes, columns_left -= slab_k;
    }
  }
  template <int Bytes> AP_DEV void copy_group(shared_place to, const float* at, int rows_left) const {
    constexpr auto rows_at_once = [](int floats_of_row) {
      const int all = warp_size * (Bytes / 4) / floats_of_row;
      return all < group ? all : group;
    };
    if constexpr (FewestLines < slab_k) {
      if (short_rows_) return copy_rows<Bytes, rows_at_once(FewestLines)>(to, at, rows_left);
    }
    copy_rows<Bytes, rows_at_once(slab_k)>(to, at, rows_left);
  }
  template <int Bytes, int AtOnce>
  AP_DEV void copy_rows(shared_place to, const float* at, int rows_left) const {
    AP_UNROLL
    for (int n = 0; n < group; n += AtOnce) {
      std::int64_t step = to_next_rows_;
      rematerialise(step);  // else the compiler chains the rows' addresses, each waiting for the last
      copy_async_or_zero<Bytes>((to ^ n * 16u) + static_cast<std::uint32_t>(n * row_bytes),
                                at + step * (n / AtOnce), n < rows_left);
    }
  }

  bool along_k_, short_rows_, idle_;
  int bytes_, lines_left_, blocks_, groups_, row_, column_;
  copying_share share_;
  const float* from_;                                                     // of this lane, at k = 0
  std::int64_t k_stride_, to_next_rows_, to_next_group_, to_next_block_;  // floats
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
