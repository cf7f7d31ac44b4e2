// A thread's share of bringing the tiles of one operand into shared memory.
#pragma once
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/gemm/policy.hpp>

namespace antiphase::mm {
inline namespace AP_TARGET {

// A tile of one operand in shared memory: `outer` indices (rows of A, columns of B) by `k` indices. The one that is not a row's lies side by side.
template <int Outer, int K, layout Order, int Padding, int CopyWidth> struct operand_tile {
  static constexpr int outer = Outer, k = K, copy_width = CopyWidth;
  static constexpr layout order = Order;
  static constexpr int rows = Order == layout::k_major ? K : Outer;
  static constexpr int columns = Order == layout::k_major ? Outer : K;

  alignas(16) float data[rows][columns + Padding];

  AP_DEV float& at(int o, int i) { return Order == layout::k_major ? data[i][o] : data[o][i]; }
};
template <policy P> struct tile_a : operand_tile<P.tile.m, P.tile_k, P.a, P.padding_a, P.copy_width_a> {};
template <policy P> struct tile_b : operand_tile<P.tile.n, P.tile_k, layout::k_major, P.padding_b, P.copy_width_b> {};

// Every thread moves `pieces` packets of `width` floats per tile. Packets run side by side along the index whose stride in global memory is 1,
// so that a warp reads whole lines whatever the layout; wide packets need that index to be the contiguous one in shared memory too, and 16-byte aligned
// addresses (the host checks both). What lies outside the matrix becomes zero.
template <policy P, class Tile> struct tile_loader {
  static constexpr int width = Tile::copy_width;
  static constexpr int pieces = Tile::outer * Tile::k / (P.threads() * width);
  static constexpr bool staged = P.copy == copy_kind::registers;

  const float* from;          // this thread's first packet of tile 0
  std::int64_t tile_stride;   // elements from tile to tile, along k
  std::int64_t jump;          // elements from packet to packet
  int outer, k;               // the first packet's place in the tile
  int outer_jump, k_jump;     // places from packet to packet
  int outer_left;             // outer indices from the first packet's on that lie inside the matrix
  int k_extent;
  pack<float, width> held[staged ? pieces : 1];

  AP_DEV tile_loader(const float* data, std::int64_t outer_stride, std::int64_t k_stride, std::int64_t first, std::int64_t extent, std::int64_t depth)
      : tile_stride(k_stride * Tile::k), k_extent(static_cast<int>(depth)), held{} {
    const int thread = thread_index() * width;
    const bool along_k = width > 1 ? Tile::order == layout::outer_major : k_stride == 1;
    if (along_k) {
      k = thread % Tile::k;
      outer = thread / Tile::k;
      k_jump = P.threads() * width % Tile::k;  // 0 where a row of threads covers whole rows; else pieces is 1
      outer_jump = P.threads() * width / Tile::k;
    } else {
      outer = thread % Tile::outer;
      k = thread / Tile::outer;
      outer_jump = P.threads() * width % Tile::outer;
      k_jump = P.threads() * width / Tile::outer;
    }
    from = data + (first + outer) * outer_stride + k * k_stride;
    jump = outer_jump * outer_stride + k_jump * k_stride;
    const std::int64_t left = extent - first - outer;
    outer_left = static_cast<int>(left < Tile::outer ? left : Tile::outer);
  }

  // How many floats of packet `piece` lie inside the matrix: 0 ... width.
  AP_DEV int inside(int step, int piece) const {
    const int outside_in = outer_left - piece * outer_jump;
    const int k_in = k_extent - step * Tile::k - k - piece * k_jump;
    if constexpr (width == 1) {
      return outside_in > 0 && k_in > 0;
    } else {
      const bool along_k = Tile::order == layout::outer_major;
      const int across = along_k ? outside_in : k_in, along = along_k ? k_in : outside_in;
      return across <= 0 || along <= 0 ? 0 : along < width ? along : width;
    }
  }

  AP_DEV void load(int step, Tile& to) {
    const float* tile = from + step * tile_stride;
    AP_UNROLL for (int i = 0; i < pieces; ++i) {
      const int count = inside(step, i);
      const float* packet = count > 0 ? tile + i * jump : from;
      if constexpr (staged) {
        held[i] = fetch(packet, count);
      } else {
        copy_async<static_cast<int>(sizeof(float)) * width>(&to.at(outer + i * outer_jump, k + i * k_jump), packet,
                                                            count * static_cast<int>(sizeof(float)));
      }
    }
  }
  AP_DEV void store(Tile& to) const {
    if constexpr (staged) {
      AP_UNROLL for (int i = 0; i < pieces; ++i) store_pack<width>(&to.at(outer + i * outer_jump, k + i * k_jump), held[i]);
    }
  }

 private:
  AP_DEV static pack<float, width> fetch(const float* packet, int count) {
    if (count == width) return load_pack<width>(packet);
    pack<float, width> p{};
    AP_UNROLL for (int j = 0; j < width; ++j)
      if (j < count) p.element[j] = packet[j];
    return p;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::mm
