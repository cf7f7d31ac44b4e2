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

#include "library/attention/fp16/depths.hpp"
#include "library/attention/fp16/split_pass.hpp"
#include "library/attention/fp16/visible_bits.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// 2^e so that largest * 2^-e is in [2^14, 2^15). At least 2^-126: smaller elements keep all their bits.
// Infinite where `largest` is infinite or NaN, 0 where it is 0.
AP_DEV float scale_for(float largest) {
  const std::uint32_t exponent = bit_cast<std::uint32_t>(largest) >> 23;
  if (exponent == 255) return INFINITY;
  if (largest == 0) return 0;
  const int e = static_cast<int>(exponent) - 127 - (part_exponent - 1);
  return bit_cast<float>(static_cast<std::uint32_t>((e < -126 ? -126 : e) + 127) << 23);
}
// The exponent of a scale, which is a power of two; of 0, the scale of zeros, -127.
AP_DEV int exponent_of(float scale) { return static_cast<int>(bit_cast<std::uint32_t>(scale) >> 23) - 127; }
// mantissa * 2^e, with e brought into [-126, 126]: never 0, so that -infinity times it is -infinity.
// `mantissa` in [1, 2].
AP_DEV float power_of_two(int e, float mantissa) {
  const int nearest = e < -126 ? -126 : e > 126 ? 126 : e;
  return bit_cast<float>(bit_cast<std::uint32_t>(mantissa) + (static_cast<std::uint32_t>(nearest) << 23));
}
// A bound of the logits' magnitudes, of rows of `depth` elements whose largest magnitudes are q and k;
// infinite or NaN if an element is.
AP_DEV float bound_of_logits(float scale, int depth, float q, float k) {
  return fabsf(scale) * static_cast<float>(depth) * q * k;
}
// True if sums of `rows` elements of such magnitudes are finite.
AP_DEV bool sums_are_finite(float largest, int rows) { return largest * static_cast<float>(rows) < INFINITY; }
AP_DEV float largest_of_warp(float magnitude) {
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2)
    magnitude = larger_magnitude(magnitude, shuffle_xor(magnitude, by));
  return magnitude;
}
// 1 / scale; 0 for infinity, and finite for 0.
AP_DEV float inverse_of(float scale) {
  return scale == INFINITY ? 0 : bit_cast<float>((254u << 23) - bit_cast<std::uint32_t>(scale));
}

// The largest and the smallest scale of columns that are not zeros: a lane's, and of all lanes after share().
struct range_of_scales {
  float largest = 0, smallest = INFINITY;
  AP_DEV void add(float scale) {
    largest = fmaxf(largest, scale);
    if (scale > 0) smallest = fminf(smallest, scale);
  }
  AP_DEV void share() {
    AP_UNROLL
    for (int by = 1; by < warp_size; by *= 2) {
      largest = fmaxf(largest, shuffle_xor(largest, by));
      smallest = fminf(smallest, shuffle_xor(smallest, by));
    }
  }
  AP_DEV bool is_near() const { return largest <= most_between_columns * smallest; }
};

// A block's threads have a tile of 64 rows in registers, four columns to a thread.
template <int Depth, int Threads = 256> struct tile_in_registers {
  static constexpr int threads = Threads, lanes = Depth / 4, step = threads / lanes,
                       count = split_rows / step;
  pack<float, 4> row[count];

  AP_DEV static int lane() { return thread_index() % lanes; }
  AP_DEV static int first_row() { return thread_index() / lanes; }

  // `from`: the tile's first element; zeros after `rows` rows and `depth` columns.
  AP_DEV void load(const float* from, std::int64_t row_stride, int rows, int depth, bool in_vectors) {
    const int column = 4 * lane();
    const float* at = from + first_row() * row_stride + column;
    const auto each = [&](auto load_row) {
      AP_UNROLL
      for (int i = 0; i < count; ++i, at += step * row_stride) {
        row[i] = {};
        if (first_row() + i * step < rows) load_row(row[i]);
      }
    };
    if (in_vectors)
      each([&](pack<float, 4>& x) {
        if (column < depth) x = load_pack<4>(at);
      });
    else
      each([&](pack<float, 4>& x) {
        AP_UNROLL
        for (int e = 0; e < 4; ++e)
          if (column + e < depth) x.element[e] = at[e];
      });
  }
  // The largest magnitude in each of the thread's columns, among its rows.
  AP_DEV void largest_of_columns(float (&of_column)[4]) const {
    AP_UNROLL
    for (int e = 0; e < 4; ++e) {
      of_column[e] = 0;
      AP_UNROLL
      for (int i = 0; i < count; ++i) of_column[e] = larger_magnitude(of_column[e], row[i].element[e]);
    }
  }
  // Calls store(row, column, hi, lo) with the parts of four elements; `up` of each of the thread's columns.
  template <class Store> AP_DEV void split(const float (&up)[4], float lo_factor, Store store) const {
    AP_UNROLL
    for (int i = 0; i < count; ++i) {
      pack<std::uint32_t, 2> hi, lo;
      AP_UNROLL
      for (int e = 0; e < 2; ++e) {
        // What is not finite, of scale 0, becomes zeros: its neighbours in a tile multiply it by zeros.
        const auto scaled = [&](int c) { return up[c] == 0 ? 0 : row[i].element[c] * up[c]; };
        const float a = scaled(2 * e), b = scaled(2 * e + 1);
        hi.element[e] = to_halves(a, b);
        lo.element[e] = to_halves((a - lower_half(hi.element[e])) * lo_factor,
                                  (b - upper_half(hi.element[e])) * lo_factor);
      }
      store(first_row() + i * step, 4 * lane(), hi, lo);
    }
  }
  // Writes the parts to global memory, row after row.
  AP_DEV void store(f16* parts, std::int64_t lo_at, const float (&up)[4], float lo_factor) const {
    split(up, lo_factor, [&](int r, int column, const auto& hi, const auto& lo) {
      f16* const at = parts + r * Depth + column;
      store_pack<2>(reinterpret_cast<std::uint32_t*>(at), hi);
      store_pack<2>(reinterpret_cast<std::uint32_t*>(at + lo_at), lo);
    });
  }
};

// The tile of an operand that a block takes.
struct tile_place {
  int head, member, rows;        // rows: that there are in the tile
  std::int64_t tile, first_row;  // of the member
  AP_DEV tile_place(const split_operand& o, int of_head, std::int64_t number) : head(of_head), tile(number) {
    member = o.shape.member_at(tile);
    first_row = (tile - o.shape.first_tile(member)) * split_rows;
    const std::int64_t left = o.shape.rows_of(member) - first_row;
    rows = left < 0 ? 0 : left < split_rows ? static_cast<int>(left) : split_rows;
  }
  AP_DEV const float* first_element(const split_operand& o) const {
    const std::int64_t row = first_row + o.shape.first_row(member);
    return o.source.data + (o.shape.offsets == nullptr ? member * o.source.member_stride : 0) +
           head * o.source.head_stride + row * o.source.row_stride;
  }
};
template <int Depth> struct split_pass {
  using in_registers = tile_in_registers<Depth>;
  static constexpr int threads = in_registers::threads, warps = threads / warp_size;
  static constexpr bool overlaps_previous = true;
  using params = forward_split_params;
  struct storage {
    float of_columns[in_registers::step][Depth];  // largest magnitudes
    float of_warps[warps];
  };

  // A block has a tile of a head of an operand, or a tile of visible_bits for each warp.
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const std::int64_t block = block_index().x;
    wait_for_previous_grid();
    start_next_grid();
    if (block == 0 && thread_index() == 0) *p.parts.next_item = 0;
    if (block < p.first_of_visible) return split_one_of(p.parts, s, block, far_lo);
    write_visible(p.problem, p.visible, (block - p.first_of_visible) * warps + warp_index());
  }

  // `of_columns`: lo_factor of operands with a scale for each column.
  AP_DEV static void split_one_of(const split_params& p, storage& s, std::int64_t block, float of_columns) {
    for (int i = 0; i < p.operands; ++i) {
      const split_operand& o = p.operand[i];
      const std::int64_t blocks = o.count * o.shape.tiles;
      if (block < blocks) {
        const tile_place at(o, static_cast<int>(block / o.shape.tiles), block % o.shape.tiles);
        in_registers x;
        x.load(at.first_element(o), o.source.row_stride, at.rows, p.depth, o.in_vectors);
        return write(o, x, at, s, o.by_column ? of_columns : p.lo_factor);
      }
      block -= blocks;
    }
  }
  // Writes the parts of a tile, and its scales.
  AP_DEV static void write(const split_operand& o, const in_registers& x, const tile_place& at, storage& s,
                           float lo_factor) {
    const int warp = warp_index();
    const std::int64_t index = at.head * o.shape.tiles + at.tile;
    float of_column[4], largest = 0;
    x.largest_of_columns(of_column);
    AP_UNROLL
    for (int e = 0; e < 4; ++e) {
      if (o.column_scale != nullptr)
        s.of_columns[in_registers::first_row()][4 * in_registers::lane() + e] = of_column[e];
      largest = larger_magnitude(largest, of_column[e]);
    }
    largest = largest_of_warp(largest);
    if (lane_index() == 0) s.of_warps[warp] = largest;
    block_barrier();
    AP_UNROLL
    for (int w = 0; w < warps; ++w) largest = larger_magnitude(largest, s.of_warps[w]);
    const float scale = scale_for(largest);
    if (thread_index() == 0) o.scale[index] = scale;
    float up[4];
    AP_UNROLL
    for (int e = 0; e < 4; ++e) {
      float own = scale;
      if (o.column_scale != nullptr) {
        const int column = 4 * in_registers::lane() + e;
        AP_UNROLL
        for (int i = 0; i < in_registers::step; ++i)
          of_column[e] = larger_magnitude(of_column[e], s.of_columns[i][column]);
        const float of_this = scale_for(of_column[e]);
        if (o.by_column) own = of_this;
        if (in_registers::first_row() == 0)
          o.column_scale[index * Depth + column] = of_this * (1.f / (1 << part_exponent));
      }
      up[e] = inverse_of(own) * o.sign;
    }
    x.store(o.parts + (at.head * 2 * o.shape.tiles + at.tile) * split_rows * Depth,
            o.shape.tiles * split_rows * Depth, up, lo_factor);
  }
};

// A block for each member and head of K, a warp for each operand.
struct contract_pass {
  static constexpr int operands = 4, threads = operands * warp_size;
  static constexpr bool overlaps_previous = true;
  using params = contract_params;
  struct storage {
    float largest[operands];
    int near[operands];
    bool far;
  };

  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    wait_for_previous_grid();
    start_next_grid();
    const int head = static_cast<int>(block_index().x) % p.k.count,
              member = static_cast<int>(block_index().x) / p.k.count, warp = warp_index();
    // The padded depth as an expression of two rows: nvcc makes other code of a function.
    constexpr int least = fp16::depths[0].depth;
    static_assert(std::size(fp16::depths) == 2);
    if (warp < 2 + p.other_count) {
      const split_operand& o = warp == 0 ? p.q : warp == 1 ? p.k : p.others[warp - 2];
      const int of_key = o.count / p.k.count;  // heads
      const float largest = largest_scale(o, member, head * of_key, of_key);
      const bool near =
          o.by_column || o.column_scale == nullptr ||
          columns_are_near(o, p.depth <= least ? least : fp16::most_depth, member, head * of_key, of_key);
      if (lane_index() == 0) s.largest[warp] = (1 << part_exponent) * largest, s.near[warp] = near;
    }
    block_barrier();
    if (thread_index() == 0) decide(p, s, member);
    if (p.far == nullptr) return;
    block_barrier();
    if (!s.far) return;
    const int of_key = p.q.count / p.k.count;
    for (int h = 0; h < of_key; ++h) write_far(p.q, p.depth, member, head * of_key + h);
    write_far(p.k, p.depth, member, head);
  }

 private:
  AP_DEV static void decide(const params& p, storage& s, int member) {
    const float logits = bound_of_logits(p.scale, p.depth, s.largest[0], s.largest[1]);
    bool fine = logits <= p.logit_limit;
    float product = static_cast<float>(p.depth);
    for (int i = 0; i < p.other_count; ++i) {
      fine = fine && sums_are_finite(s.largest[2 + i], p.others[i].shape.rows_of(member));
      product *= s.largest[2 + i];
    }
    if (p.other_count == 2 && s.largest[2] != 0 && s.largest[3] != 0)
      fine = fine && s.largest[3] >= least_gradient && product >= least_product && product < most_product;
    for (int i = 0; i < 2 + p.other_count; ++i) fine = fine && s.near[i] != 0;
    p.flags[block_index().x] = fine ? 0 : 1;
    if (p.far == nullptr) return;
    s.far = fine && logits > p.near_limit;
    p.far[block_index().x] = s.far ? 1 : 0;
  }
  // Writes the lo parts of a head again, with far_lo.
  AP_DEV static void write_far(const split_operand& o, int depth, int member, int head) {
    const int padded = depth <= fp16::depths[0].depth ? fp16::depths[0].depth : fp16::most_depth;
    const std::int64_t first = o.shape.first_tile(member), lo_at = o.shape.tiles * split_rows * padded;
    for (std::int64_t t = 0; t < tiles_in(o.shape.rows_of(member)); ++t) {
      const tile_place at(o, head, first + t);
      const float* const from = at.first_element(o);
      const float up = inverse_of(o.scale[head * o.shape.tiles + at.tile]) * o.sign;
      auto* const parts = reinterpret_cast<std::uint32_t*>(o.parts + (head * 2 * o.shape.tiles + at.tile) *
                                                                         split_rows * padded);
      for (int i = thread_index(); i < at.rows * padded / 2; i += threads) {
        const int r = 2 * i / padded, c = 2 * i % padded;
        const auto scaled = [&](int e) {
          return c + e < depth ? from[r * o.source.row_stride + c + e] * up : 0;
        };
        parts[i + lo_at / 2] = to_halves((scaled(0) - lower_half(parts[i])) * far_lo,
                                         (scaled(1) - upper_half(parts[i])) * far_lo);
      }
    }
  }
  AP_DEV static float largest_scale(const split_operand& o, int member, int first_head, int heads) {
    const std::int64_t first = o.shape.first_tile(member), tiles = tiles_in(o.shape.rows_of(member));
    float largest = 0;
    for (int h = first_head; h < first_head + heads; ++h)
      for (std::int64_t t = lane_index(); t < tiles; t += warp_size)
        largest = larger_magnitude(largest, o.scale[h * o.shape.tiles + first + t]);
    return largest_of_warp(largest);
  }
  AP_DEV static bool columns_are_near(const split_operand& o, int padded, int member, int first_head,
                                      int heads) {
    const std::int64_t first = o.shape.first_tile(member), tiles = tiles_in(o.shape.rows_of(member));
    const int column = 4 * lane_index() % padded, at_once = 4 * warp_size / padded;  // tiles
    bool near = true;
    for (int h = first_head; h < first_head + heads; ++h) {
      pack<float, 4> of_column = {};
      for (std::int64_t t = 4 * lane_index() / padded; t < tiles; t += at_once) {
        const auto there = load_pack<4>(o.column_scale + (h * o.shape.tiles + first + t) * padded + column);
        AP_UNROLL
        for (int e = 0; e < 4; ++e) of_column.element[e] = fmaxf(of_column.element[e], there.element[e]);
      }
      range_of_scales of_all;
      AP_UNROLL
      for (int e = 0; e < 4; ++e) {
        float& x = of_column.element[e];
        if (at_once == 2) x = fmaxf(x, shuffle_xor(x, 16));
        of_all.add(x);
      }
      of_all.share();
      near = near && of_all.is_near();
    }
    return near;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
