// SPDX-License-Identifier: Apache-2.0
// A thread's share of bringing the tiles of one operand into shared memory.
#pragma once
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/vector.cuh>

#include "library/gemm/fp32/operand_tile.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Where the matrix lies whose tiles are brought: element (o, i) at data[o * outer_stride + i * k_stride].
struct operand_source {
  const float* data;
  std::int64_t outer_stride, k_stride;
  std::int64_t outer, k;  // extents
};

// Every thread moves `pieces` packets of `width` floats per tile; packets outside the matrix become zero. A
// round of packets, one per thread, covers whole rows of whatever runs side by side, so that packet i lies a
// constant step from packet i - 1.
template <policy P, class Tile> struct loader_shape {
  static constexpr int width = Tile::copy_width;
  static constexpr int round = P.threads() * width;
  static constexpr int pieces = Tile::outer * Tile::k / round;
};

template <policy P, class Tile> struct tile_loader;

// For any strides, one float at a time. Neighbouring threads take neighbours along the index whose stride in
// global memory is 1, so that a warp reads whole lines in either layout.
template <policy P, class Tile>
requires(Tile::along == contiguous::neither) struct tile_loader<P, Tile> : loader_shape<P, Tile> {
  using shape = loader_shape<P, Tile>;
  static constexpr bool staged = P.copy == copy_kind::registers;

  const float* start;        // this thread's first element of tile 0
  std::int64_t tile_stride;  // elements from tile to tile, along k
  std::int64_t jump;         // elements from piece to piece
  int outer, k;              // the first element's place in the tile
  int outer_jump, k_jump;    // places from piece to piece
  int outer_left;            // outer indices from the first one's on that lie inside the matrix
  int k_extent;
  float held[staged ? shape::pieces : 1];

  AP_DEV tile_loader(const operand_source& source, std::int64_t first)
      : tile_stride(source.k_stride * Tile::k), k_extent(static_cast<int>(source.k)), held{} {
    const int thread = thread_index();
    if (source.k_stride == 1) {
      k = thread % Tile::k;
      outer = thread / Tile::k;
      k_jump = shape::round % Tile::k;
      outer_jump = shape::round / Tile::k;
    } else {
      outer = thread % Tile::outer;
      k = thread / Tile::outer;
      outer_jump = shape::round % Tile::outer;
      k_jump = shape::round / Tile::outer;
    }
    start = source.data + (first + outer) * source.outer_stride + k * source.k_stride;
    jump = outer_jump * source.outer_stride + k_jump * source.k_stride;
    const std::int64_t left = source.outer - first - outer;
    outer_left = static_cast<int>(left < Tile::outer ? left : Tile::outer);
  }

  AP_DEV void load(int step, Tile& to) {
    const float* tile = start + step * tile_stride;
    AP_UNROLL
    for (int i = 0; i < shape::pieces; ++i) {
      const bool inside = outer_left > i * outer_jump && k_extent - step * Tile::k - k > i * k_jump;
      const float* element = inside ? tile + i * jump : start;
      if constexpr (staged)
        held[i] = inside ? *element : 0;
      else
        copy_async<sizeof(float)>(to.at(outer + i * outer_jump, k + i * k_jump), element,
                                  inside ? sizeof(float) : 0);
    }
  }
  AP_DEV void store(Tile& to) const {
    if constexpr (staged) {
      AP_UNROLL
      for (int i = 0; i < shape::pieces; ++i) *to.at(outer + i * outer_jump, k + i * k_jump) = held[i];
    }
  }
};

// For an operand whose stride along one index is known to be 1, 4 or 16 bytes at a time along that index; 4
// at a time, the tile may be transposed on the way. The host has checked that packets are aligned and that a
// tile spans less than 4 GiB: then each packet is a constant 32-bit offset from an address that is the same
// for the whole block, and the copies of a tile inside the matrix cost hardly any arithmetic.
template <policy P, class Tile>
requires(Tile::along != contiguous::neither && !Tile::transposed) struct tile_loader<P, Tile>
    : loader_shape<P, Tile> {
  static_assert(P.copy == copy_kind::asynchronous);
  using shape = loader_shape<P, Tile>;
  static constexpr bool along_k = Tile::along == contiguous::k;
  static constexpr int width = shape::width, packet_bytes = width * static_cast<int>(sizeof(float));
  // floats that lie side by side in global memory
  static constexpr int run = along_k ? Tile::k : Tile::outer;
  static constexpr int jump = shape::round / run;  // runs from piece to piece
  static constexpr int columns = static_cast<int>(sizeof(Tile::data[0]) / sizeof(float));
  // floats from piece to piece
  static constexpr int shared_jump = jump * (along_k == (Tile::order == layout::outer_major) ? columns : 1);

  const char* base;          // of the block's next tile: steps come in order
  std::int64_t tile_stride;  // bytes from tile to tile, along k
  std::uint32_t offset[shape::pieces];
  int along, across;  // the first packet's place in the tile: in its run, and which run
  int along_left, across_left;
  int full_steps;  // steps whose tiles lie inside the matrix

  AP_DEV tile_loader(const operand_source& source, std::int64_t first) {
    const int thread = thread_index() * width;
    along = thread % run;
    across = thread / run;
    base = reinterpret_cast<const char*>(source.data + first * source.outer_stride);
    tile_stride = source.k_stride * Tile::k * static_cast<int>(sizeof(float));
    const std::int64_t stride = along_k ? source.outer_stride : source.k_stride;
    AP_UNROLL
    for (int i = 0; i < shape::pieces; ++i)
      offset[i] = static_cast<std::uint32_t>(((across + i * jump) * stride + along) *
                                             static_cast<int>(sizeof(float)));
    const std::int64_t outer_left = source.outer - first;
    const bool full = outer_left >= Tile::outer;
    full_steps = full ? static_cast<int>(source.k / Tile::k) : 0;
    const int in_outer = full ? Tile::outer : static_cast<int>(outer_left), in_k = static_cast<int>(source.k);
    along_left = (along_k ? in_k : in_outer) - along;
    across_left = (along_k ? in_outer : in_k) - across;
  }

  AP_DEV void load(int step, Tile& to) {
    const char* const tile = base;
    base += tile_stride;
    float* const first = to.at(along_k ? across : along, along_k ? along : across);
    if (step < full_steps) {
      AP_UNROLL
      for (int i = 0; i < shape::pieces; ++i)
        copy_async<packet_bytes>(first + i * shared_jump, tile + offset[i], packet_bytes);
    } else {
      const int along_in = along_left - (along_k ? step * Tile::k : 0),
                across_in = across_left - (along_k ? 0 : step * Tile::k);
      AP_UNROLL
      for (int i = 0; i < shape::pieces; ++i) {
        const int floats = across_in <= i * jump || along_in < 0 ? 0 : along_in < width ? along_in : width;
        copy_async<packet_bytes>(first + i * shared_jump, tile + (floats > 0 ? offset[i] : 0),
                                 floats * static_cast<int>(sizeof(float)));
      }
    }
  }
  AP_DEV void store(Tile&) const {}
};

// For an operand that is contiguous along k in aligned rows, and whose tile is k-major: a thread loads 4 x 4
// blocks in packets along k and stores them in packets along the outer index. That takes an eighth of the
// instructions of 4-byte copies, but registers while the step computes. Neighbouring threads take
// neighbouring blocks along k, in pairs of rows, which halves the bank conflicts of the stores.
template <policy P, class Tile>
requires(Tile::transposed) struct tile_loader<P, Tile> {
  static constexpr int across_k = Tile::k / 4, all_blocks = Tile::outer / 4 * across_k;
  static constexpr int loading = all_blocks < P.threads() ? all_blocks : P.threads();  // threads
  // of a thread, and rows from one to the next
  static constexpr int blocks = all_blocks / loading, jump = loading / across_k * 4;

  const char* base;  // of the block's next tile: steps come in order
  std::uint32_t offset, row_bytes;
  int outer, k;  // the first element's place in the tile
  int outer_left, k_left;
  int full_steps;  // steps whose tiles lie inside the matrix
  pack<float, 4> held[blocks][4];

  AP_DEV tile_loader(const operand_source& source, std::int64_t first) : held{} {
    const int thread = thread_index();
    outer = (thread / (2 * across_k) * 2 + thread % 2) * 4;
    k = thread / 2 % across_k * 4;
    base = reinterpret_cast<const char*>(source.data + first * source.outer_stride);
    row_bytes = static_cast<std::uint32_t>(source.outer_stride * static_cast<int>(sizeof(float)));
    offset = static_cast<std::uint32_t>(outer) * row_bytes +
             static_cast<std::uint32_t>(k * static_cast<int>(sizeof(float)));
    const std::int64_t left = source.outer - first;
    const bool full = left >= Tile::outer;
    full_steps = full ? static_cast<int>(source.k / Tile::k) : 0;
    outer_left = (full ? Tile::outer : static_cast<int>(left)) - outer;
    k_left = static_cast<int>(source.k) - k;
  }

  AP_DEV void load(int step, Tile&) {
    const char* const tile = base;
    base += Tile::k * static_cast<int>(sizeof(float));
    const int inside = k_left - step * Tile::k;
    if (idle()) return;
    AP_UNROLL
    for (int i = 0; i < blocks; ++i) {
      AP_UNROLL
      for (int r = 0; r < 4; ++r) {
        const float* const row = reinterpret_cast<const float*>(
            tile + (offset + static_cast<std::uint32_t>(i * jump + r) * row_bytes));
        if (step < full_steps) {
          held[i][r] = load_pack<4>(row);
        } else {
          AP_UNROLL
          for (int e = 0; e < 4; ++e)
            held[i][r].element[e] = i * jump + r < outer_left && e < inside ? row[e] : 0;
        }
      }
    }
  }
  AP_DEV static bool idle() { return loading < P.threads() && thread_index() >= loading; }
  AP_DEV void store(Tile& to) const {
    if (idle()) return;
    AP_UNROLL
    for (int i = 0; i < blocks; ++i) {
      AP_UNROLL
      for (int e = 0; e < 4; ++e)
        store_pack<4>(to.at(outer + i * jump, k + e), {{held[i][0].element[e], held[i][1].element[e],
                                                        held[i][2].element[e], held[i][3].element[e]}});
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
