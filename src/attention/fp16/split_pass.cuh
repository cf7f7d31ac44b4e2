// SPDX-License-Identifier: Apache-2.0
// The passes that split attention's operands into FP16 parts.
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/vector.cuh>
#include <cmath>

#include "src/attention/fp16/split_pass.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// 2^e so that largest * 2^-e is in [2^14, 2^15). At least 2^-126: smaller elements keep all their bits.
// Infinite where `largest` is infinite or NaN.
AP_DEV float scale_for(float largest) {
  const std::uint32_t exponent = bit_cast<std::uint32_t>(largest) >> 23;
  if (exponent == 255) return INFINITY;
  const int e = static_cast<int>(exponent) - 127 - (part_exponent - 1);
  return bit_cast<float>(static_cast<std::uint32_t>((e < -126 ? -126 : e) + 127) << 23);
}
// 1 / scale; 0 for infinity, so that parts of what is not finite are zeros or NaN, and never read.
AP_DEV float inverse_of(float scale) {
  return scale == INFINITY ? 0 : bit_cast<float>((254u << 23) - bit_cast<std::uint32_t>(scale));
}

// Both passes: 256 threads have a tile of 64 rows in registers, four columns to a thread.
template <int Depth> struct tile_in_registers {
  static constexpr int threads = 256, lanes = Depth / 4, step = threads / lanes, count = split_rows / step;
  pack<float, 4> row[count];

  AP_DEV static int lane() { return thread_index() % lanes; }
  AP_DEV static int first_row() { return thread_index() / lanes; }

  // `from`: the tile's first element; zeros behind `rows` rows and `depth` columns.
  AP_DEV void load(const float* from, std::int64_t row_stride, int rows, int depth, bool in_vectors) {
    AP_UNROLL
    for (int i = 0; i < count; ++i) {
      const int r = first_row() + i * step, column = 4 * lane();
      row[i] = {};
      if (r >= rows) continue;
      const float* const at = from + r * row_stride + column;
      if (in_vectors) {
        if (column < depth) row[i] = load_pack<4>(at);
      } else {
        AP_UNROLL
        for (int e = 0; e < 4; ++e)
          if (column + e < depth) row[i].element[e] = at[e];
      }
    }
  }
  // Writes the parts; `up` of each of the thread's columns.
  AP_DEV void store(f16* parts, std::int64_t lo_at, const float (&up)[4], float lo_factor) const {
    AP_UNROLL
    for (int i = 0; i < count; ++i) {
      pack<std::uint32_t, 2> hi, lo;
      AP_UNROLL
      for (int e = 0; e < 2; ++e) {
        const float a = row[i].element[2 * e] * up[2 * e], b = row[i].element[2 * e + 1] * up[2 * e + 1];
        hi.element[e] = to_halves(a, b);
        lo.element[e] = to_halves((a - lower_half(hi.element[e])) * lo_factor,
                                  (b - upper_half(hi.element[e])) * lo_factor);
      }
      f16* const at = parts + (first_row() + i * step) * Depth + 4 * lane();
      store_pack<2>(reinterpret_cast<std::uint32_t*>(at), hi);
      store_pack<2>(reinterpret_cast<std::uint32_t*>(at + lo_at), lo);
    }
  }
};

// The tile of an operand that a block takes.
struct tile_place {
  int head, member, rows;        // rows: that there are in the tile
  std::int64_t tile, first_row;  // of the member
  AP_DEV tile_place(const split_operand& o, int head, std::int64_t tile) : head(head), tile(tile) {
    member = o.shape.member_at(tile);
    first_row = (tile - o.shape.first_tile(member)) * split_rows;
    const std::int64_t left = o.shape.rows_of(member) - first_row;
    rows = left < 0 ? 0 : left < split_rows ? static_cast<int>(left) : split_rows;
  }
  AP_DEV const float* first_element(const split_operand& o) const {
    const std::int64_t row = first_row + (o.shape.offsets == nullptr ? 0 : o.shape.offsets[member]);
    return o.from.data + (o.shape.offsets == nullptr ? member * o.from.member_stride : 0) +
           head * o.from.head_stride + row * o.from.row_stride;
  }
};
template <int Depth> AP_DEV f16* parts_at(const split_operand& o, int head, std::int64_t tile) {
  return o.parts + (head * 2 * o.shape.tiles + tile) * split_rows * Depth;
}

template <int Depth> struct split_pass {
  using in_registers = tile_in_registers<Depth>;
  static constexpr int threads = in_registers::threads, warps = threads / warp_size;
  static constexpr bool overlaps_previous = true;
  using params = split_params;
  struct storage {
    union {
      float largest[warps];
      float of_columns[in_registers::step][Depth];
    };
  };

  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const std::int64_t block = block_index().x;
    wait_for_previous_grid();
    start_next_grid();
    split_one_of(p, s, block);
  }

  AP_DEV static void split_one_of(const params& p, storage& s, std::int64_t block) {
    for (int o = 0; o < p.operands; ++o) {
      const split_operand& of = p.by_tile[o];
      const std::int64_t blocks = of.count * of.shape.tiles;
      if (block < blocks) return split_tile(p, of, s, block);
      block -= blocks;
    }
    largest_of_columns(p, p.by_column, s, block);
  }

 private:
  AP_DEV static void split_tile(const params& p, const split_operand& o, storage& s, std::int64_t block) {
    const tile_place at(o, static_cast<int>(block / o.shape.tiles), block % o.shape.tiles);
    in_registers x;
    x.load(at.first_element(o), o.from.row_stride, at.rows, p.depth, o.in_vectors);
    store_tile(x, o, at, s, p.lo_factor);
  }

 public:
  // Writes the parts of a tile, and its scale.
  AP_DEV static void store_tile(const in_registers& x, const split_operand& o, const tile_place& at, storage& s,
                                float lo_factor) {
    float largest = 0;
    AP_UNROLL
    for (int i = 0; i < in_registers::count; ++i) {
      AP_UNROLL
      for (int e = 0; e < 4; ++e) largest = larger_magnitude(largest, x.row[i].element[e]);
    }
    AP_UNROLL
    for (int by = 1; by < warp_size; by *= 2) largest = larger_magnitude(largest, shuffle_xor(largest, by));
    const int warp = warp_index();
    if (lane_index() == 0) s.largest[warp] = largest;
    block_barrier();
    AP_UNROLL
    for (int w = 0; w < warps; ++w) largest = larger_magnitude(largest, s.largest[w]);
    const float scale = scale_for(largest), up = inverse_of(scale);
    if (thread_index() == 0) o.scale[at.head * o.shape.tiles + at.tile] = scale;
    x.store(parts_at<Depth>(o, at.head, at.tile), o.shape.tiles * split_rows * Depth, {up, up, up, up},
            lo_factor);
  }

 private:
  AP_DEV static void largest_of_columns(const params& p, const split_operand& o, storage& s,
                                        std::int64_t block) {
    const tile_place at(o, static_cast<int>(block / o.shape.tiles), block % o.shape.tiles);
    in_registers x;
    x.load(at.first_element(o), o.from.row_stride, at.rows, p.depth, o.in_vectors);
    AP_UNROLL
    for (int e = 0; e < 4; ++e) {
      float largest = 0;
      AP_UNROLL
      for (int i = 0; i < in_registers::count; ++i) largest = larger_magnitude(largest, x.row[i].element[e]);
      s.of_columns[in_registers::first_row()][4 * in_registers::lane() + e] = largest;
    }
    block_barrier();
    const int column = thread_index();
    if (column >= Depth) return;
    float largest = 0;
    AP_UNROLL
    for (int i = 0; i < in_registers::step; ++i) largest = larger_magnitude(largest, s.of_columns[i][column]);
    o.scale[(at.head * o.shape.tiles + at.tile) * Depth + column] = largest;
  }
};

template <int Depth> struct judge_pass {
  using in_registers = tile_in_registers<Depth>;
  static constexpr int threads = in_registers::threads, groups = threads / Depth;
  static constexpr bool overlaps_previous = true;
  using params = judge_params;
  struct storage {
    float of_columns[groups][Depth];
    float up[Depth];
    float largest[3];
  };

  // Block (x, kv head) has V's tiles from 8 x on, and judges the members that begin there. Without V, K's.
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    wait_for_previous_grid();
    start_next_grid();
    if (block_index().x == 0 && block_index().y == 0 && thread_index() < p.counters)
      p.next_item[thread_index()] = 0;
    const split_operand& o = p.k;
    const int head = static_cast<int>(block_index().y);
    int member = -1;
    for (int i = 0; i < judged_tiles; ++i) {
      const std::int64_t tile = std::int64_t{block_index().x} * judged_tiles + i;
      if (tile >= o.shape.tiles) return;
      const tile_place at(o, head, tile);
      const bool begins = at.first_row == 0;
      if (p.v.count > 0 && at.member != member) scale_columns(p.v, at, s, begins);
      member = at.member;
      if (begins) judge(p, s, head, member);
      if (p.v.count == 0) continue;
      in_registers x;
      x.load(at.first_element(p.v), p.v.from.row_stride, at.rows, p.depth, p.v.in_vectors);
      const float* const up = s.up + 4 * in_registers::lane();
      x.store(parts_at<Depth>(p.v, head, tile), p.v.shape.tiles * split_rows * Depth,
              {up[0], up[1], up[2], up[3]}, p.lo_factor);
    }
  }

 private:
  // The scales of a member's columns, from the largest magnitudes of its tiles.
  AP_DEV static void scale_columns(const split_operand& v, const tile_place& at, storage& s, bool begins) {
    const int column = thread_index() % Depth, group = thread_index() / Depth;
    const std::int64_t first = v.shape.first_tile(at.member), tiles = tiles_in(v.shape.rows_of(at.member));
    const float* const from = v.scale + (at.head * v.shape.tiles + first) * Depth + column;
    float largest = 0;
    for (std::int64_t t = group; t < tiles; t += groups) largest = larger_magnitude(largest, from[t * Depth]);
    block_barrier();  // the tiles before no longer need `up`
    s.of_columns[group][column] = largest;
    block_barrier();
    if (group == 0) {
      AP_UNROLL
      for (int g = 1; g < groups; ++g) largest = larger_magnitude(largest, s.of_columns[g][column]);
      const float scale = scale_for(largest);
      s.of_columns[0][column] = largest;
      s.up[column] = inverse_of(scale);
      if (begins) v.column_scale[(at.member * v.count + at.head) * Depth + column] = scale;
    }
    block_barrier();
  }

  // The largest magnitude among a member's tiles, below 2^15 times the largest scale.
  AP_DEV static float largest_scale(const split_operand& o, int member, int first_head, int heads) {
    const std::int64_t first = o.shape.first_tile(member), tiles = tiles_in(o.shape.rows_of(member));
    float largest = 0;
    for (int h = first_head; h < first_head + heads; ++h)
      for (std::int64_t t = lane_index(); t < tiles; t += warp_size)
        largest = larger_magnitude(largest, o.scale[h * o.shape.tiles + first + t]);
    AP_UNROLL
    for (int by = 1; by < warp_size; by *= 2) largest = larger_magnitude(largest, shuffle_xor(largest, by));
    return largest;
  }
  AP_DEV static void judge(const params& p, const storage& s, int head, int member) {
    if (warp_index() != 0) return;
    const int group = p.q.count / p.k.count;
    const float q = largest_scale(p.q, member, head * group, group), k = largest_scale(p.k, member, head, 1);
    float of_values = 0;
    if (p.v.count > 0) {
      for (int c = lane_index(); c < Depth; c += warp_size)
        of_values = larger_magnitude(of_values, s.of_columns[0][c]);
      AP_UNROLL
      for (int by = 1; by < warp_size; by *= 2)
        of_values = larger_magnitude(of_values, shuffle_xor(of_values, by));
    }
    constexpr float most = 1 << part_exponent;
    const auto depth = static_cast<float>(p.depth);
    bool fine = fabsf(p.scale) * depth * (q * most) * (k * most) <= p.logit_limit && of_values < INFINITY;
    if (p.d_out.count > 0) {
      const float v = largest_scale(p.values, member, head, 1),
                  g = largest_scale(p.d_out, member, head * group, group);
      fine = fine && depth * (v * most) * (g * most) <= 0x1p126f;
    }
    if (lane_index() == 0) p.flags[member * p.k.count + head] = fine ? 0 : 1;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
