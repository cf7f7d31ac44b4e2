// SPDX-License-Identifier: Apache-2.0
// Rows of a head in shared memory: loading a tile of them, and what a warp computes with it.
#pragma once
#include <antiphase/device/block_vote.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/global.cuh>
#include <antiphase/device/index.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/vector.cuh>
#include "library/attention/fp32/fp32_kernels.hpp"
#include "library/attention/members.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

constexpr int threads_of_block = warps_of_block * warp_size;

// A tile by its number, among the tiles of every head of every member, last tiles first, since with a causal
// mask they see the most keys.
struct block_item {
  int tile, head, member;
  AP_DEV block_item(unsigned number, std::int64_t rows, std::int64_t heads, int of_tile) {
    const auto tiles = static_cast<unsigned>((rows + of_tile - 1) / of_tile);
    const unsigned line = number / tiles;
    tile = static_cast<int>(tiles - 1 - number % tiles);
    head = static_cast<int>(line % static_cast<unsigned>(heads));
    member = static_cast<int>(line / static_cast<unsigned>(heads));
  }
};

// Whether a member and head of K is to be computed: all are, without flags.
AP_DEV bool is_flagged(const std::uint32_t* flags, const problem& p, const member& m, int kv_head) {
  return flags == nullptr || flags[m.index * p.kv_heads + kv_head] != 0;
}
// Whether there are flags, and all are 0. The whole block calls.
AP_DEV bool none_flagged(const std::uint32_t* flags, const problem& p) {
  if (flags == nullptr) return false;
  std::uint32_t any = 0;
  for (std::int64_t i = thread_index(); i < p.members * p.kv_heads; i += threads_of_block) any |= flags[i];
  return !block_barrier_or(any != 0);
}

// Copies Bytes of which the last ones may be missing: those are zeros.
template <bool Async, int Bytes> AP_DEV void copy_floats(float* to, const float* from, int there) {
  constexpr int count = Bytes / 4;
  if constexpr (Async) {
    copy_async<Bytes>(to, from, 4 * there);
  } else if (there == count) {
    store_pack<count>(to, load_pack<count>(in_global_memory(from)));
  } else {
    for (int e = 0; e < count; ++e) to[e] = e < there ? in_global_memory(from)[e] : 0.0f;
  }
}

// The block's threads copy Rows rows, the first at `from`, of which `there` exist: missing rows and columns
// beyond `depth` become zeros. By 16 bytes where all rows are aligned to them.
template <bool Async, int Depth, int Rows, int Pitch>
AP_DEV void load_rows(float (&to)[Rows][Pitch], const float* from, std::int64_t row_stride, int there,
                      int depth) {
  const auto copy_all = [&]<int Width>() {
    constexpr int across = Depth / Width;
    for (int n = thread_index(); n < Rows * across; n += threads_of_block) {
      const int row = n / across, column = n % across * Width, left = row < there ? depth - column : 0;
      const int count = left < 0 ? 0 : left < Width ? left : Width;
      copy_floats<Async, 4 * Width>(&to[row][column], count > 0 ? from + row * row_stride + column : from,
                                    count);
    }
  };
  if (reinterpret_cast<std::uintptr_t>(from) % 16 == 0 && row_stride % 4 == 0)
    copy_all.template operator()<4>();
  else
    copy_all.template operator()<1>();
}

// Products of a warp's Own rows, which all lanes read, with the lane's row of a tile: sums in the order of
// the columns.
template <int Own, int Pitch>
AP_DEV void multiply_rows(float (&sum)[Own], const float (*own)[Pitch], const float* row, int depth) {
  AP_UNROLL
  for (int r = 0; r < Own; ++r) sum[r] = 0;
  for (int c = 0; c < depth; c += 4) {
    const pack<float, 4> mine = load_pack<4>(row + c);
    AP_UNROLL
    for (int r = 0; r < Own; ++r) {
      const pack<float, 4> theirs = load_pack<4>(&own[r][c]);
      AP_UNROLL
      for (int e = 0; e < 4; ++e) sum[r] = multiply_add(theirs.element[e], mine.element[e], sum[r]);
    }
  }
}

// A warp's sums of Own rows of outputs. A lane has columns of every row, in groups of neighbours.
template <int Own, int Depth> struct output_rows {
  static constexpr int columns = Depth / warp_size, group = columns < 4 ? columns : 4;
  float sum[Own][columns];

  AP_DEV static int column(int n) { return n / group * group * warp_size + lane_index() * group + n % group; }

  AP_DEV void clear(float to) {
    AP_UNROLL
    for (int r = 0; r < Own; ++r) {
      AP_UNROLL
      for (int c = 0; c < columns; ++c) sum[r][c] = to;
    }
  }
  AP_DEV void rescale(const float (&by)[Own]) {
    AP_UNROLL
    for (int r = 0; r < Own; ++r) {
      AP_UNROLL
      for (int c = 0; c < columns; ++c) sum[r][c] *= by[r];
    }
  }
  // Adds the rows of a tile by their weights. With All no pair is hidden; else those with a bit in
  // hidden[row of the tile] take no part, whatever the tile has there.
  template <bool All, int Pitch> AP_DEV void add(const float (&weight)[Own][keys_of_tile + tile_padding],
                                                 const float (*tile)[Pitch],
                                                 const std::uint32_t (&hidden)[keys_of_tile]) {
    for (int j = 0; j < keys_of_tile; j += 4) {
      float row[4][columns];
      std::uint32_t hides[4];
      AP_UNROLL
      for (int e = 0; e < 4; ++e) {
        hides[e] = All ? 0 : hidden[j + e];
        AP_UNROLL
        for (int c = 0; c < columns; c += group) {
          const pack<float, group> some = load_pack<group>(&tile[j + e][column(c)]);
          AP_UNROLL
          for (int g = 0; g < group; ++g) row[e][c + g] = some.element[g];
        }
      }
      AP_UNROLL
      for (int r = 0; r < Own; ++r) {
        const pack<float, 4> of = load_pack<4>(&weight[r][j]);
        AP_UNROLL
        for (int e = 0; e < 4; ++e) {
          if (!All && (hides[e] >> r & 1u) != 0) continue;
          AP_UNROLL
          for (int c = 0; c < columns; ++c) sum[r][c] = multiply_add(of.element[e], row[e][c], sum[r][c]);
        }
      }
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
