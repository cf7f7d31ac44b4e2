// From the sums of a split product to C: scales undone, results certified, what is not certified left to FP64.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include "src/gemm/blend.cuh"
#include "src/gemm/split/recompute.cuh"
#include "src/gemm/split/split_product.hpp"
#include <cmath>

namespace antiphase::gemms {
inline namespace AP_TARGET {

// What the epilogue looks at, of a tile.
struct tile_lines {
  alignas(16) float row_scale[split_tile];
  alignas(16) float column_scale[split_tile];
  int top, left;
};
// How many outputs of a tile are not certified: of three tiles by turns, so that one is counted while the one before is still looked at and
// the one to come is cleared.
struct uncertain_count {
  static constexpr int turns = 3;
  std::uint32_t of[turns];
  std::uint32_t noted;  // whether any tile has some, or lines of few nonzeros
};

// How the eight warps that compute hold the 128 x width outputs of a tile that they store: in fragments of 16 x 8, as mma() and wgmma()
// leave them. A warp has `down` rows of fragments, and so many warps lie side by side: one has 16 whole rows, or 32 half rows ...
struct output_layout {
  int width = split_tile;
  int down = 1;
  int first_thread = 0;          // of the eight warps'
  bool even_rows_first = false;  // of eight rows, lanes have 0 2 4 6 1 3 5 7

  constexpr int across() const { return width / (8 * down); }  // fragments of a warp, side by side
};

// Stores 128 x width outputs of a tile, from column `first` of it on. Of a thread's, sum[4 (i across + j) + 2 h + e] is the one of row
// 16 i + lane / 4 + 8 h and column 8 j + 2 (lane % 4) + e of its warp's.
template <output_layout L> struct split_epilogue {
  static constexpr int computing_threads = recompute_shape::threads, barrier = recompute_shape::barrier;
  static constexpr int registers = L.width / 2, across = L.across();
  using sums = float[registers];

  const product_problem& p;
  const tile_lines& lines;
  int first;

  AP_DEV static int member() { return thread_index() - L.first_thread; }
  AP_DEV static int warp() { return member() / warp_size; }
  AP_DEV int row() const { return warp() / L.down * (16 * L.down) + row_of_lane(lane_index()); }
  AP_DEV static int row_of_lane(int lane) { return L.even_rows_first ? lane / 4 % 4 * 2 + lane / 16 : lane / 4; }
  AP_DEV int column() const { return first + warp() % L.down * (8 * across) + lane_index() % 4 * 2; }
  // Of sum[e].
  AP_DEV int row_of(int e) const { return row() + e / (4 * across) * 16 + e / 2 % 2 * 8; }
  AP_DEV int column_of(int e) const { return column() + 8 * (e / 4 % across) + e % 2; }

  // What the tile's lines ask for: nothing but to undo the scales, a certificate for every output, or a look at the lines as well. Every
  // warp asks for all of them, so that all get the same answer.
  enum class care { none, certificate, lines };
  AP_DEV care asked_for() const {
    bool positive = true, known = true;
    AP_UNROLL
    for (int i = 0; i < split_tile; i += warp_size) {
      const float of_row = lines.row_scale[i + lane_index()], of_column = lines.column_scale[i + lane_index()];
      positive = positive && of_row > 0 && of_column > 0;
      known = known && of_row != 0 && of_column != 0;
    }
    return ballot(positive) == all_lanes ? care::none : ballot(known) == all_lanes ? care::certificate : care::lines;
  }

  // A tile inside of C with nothing but the product to store: pairs of outputs, and hardly any arithmetic.
  AP_DEV bool simple() const {
    const matrix_view<float>& c = p.what.c;
    return c.column_stride == 1 && p.what.alpha == 1 && p.what.beta == 0 && lines.top + split_tile <= c.rows &&
           lines.left + first + L.width <= c.columns;
  }
  AP_DEV bool rows_aligned() const {
    const matrix_view<float>& c = p.what.c;
    return c.row_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(c.data) % 8 == 0;
  }
  // Two neighbours of the row that has this scale.
  AP_DEV pack<float, 2> pair(const sums& sum, int half, int j, float of_row) const {
    const pack<float, 2> of_column = load_pack<2>(lines.column_scale + column() + 8 * j);
    pack<float, 2> two;
    AP_UNROLL
    for (int e = 0; e < 2; ++e)
      two.element[e] = sum[4 * (half / 2 * across + j) + 2 * (half % 2) + e] * of_row * std::fabs(of_column.element[e]);
    return two;
  }
  AP_DEV float scale_of_row(int half) const { return std::fabs(lines.row_scale[row() + 8 * half]); }
  // Where rows begin at odd multiples of 4 bytes, the pairs that are aligned are an output of this lane and the next one of the row, which
  // another lane has. One by one, outputs would take half as long again as the whole product (measured at K = 1024).
  AP_DEV void store_realigned(const sums& sum) const {
    const matrix_view<float>& c = p.what.c;
    float* const mine = &c(lines.top + row(), lines.left + column());
    int lane = lane_index();
    rematerialise(lane);  // or what is computed of it waits in local memory during the whole product
    const int next_lane = lane / 4 * 4 + (lane + 1) % 4;
    const bool leads = lane % 4 == 0, trails = lane % 4 == 3;
    AP_UNROLL
    for (int half = 0; half < 2 * L.down; ++half) {
      float* const out = mine + 8 * half * c.row_stride;
      const float of_row = scale_of_row(half);
      const bool aligned = reinterpret_cast<std::uintptr_t>(out) % 8 == 0;
      pack<float, 2> two = pair(sum, half, 0, of_row);
      if (!aligned && leads) out[0] = two.element[0];
      AP_UNROLL
      for (int j = 0; j < across; ++j) {
        const pack<float, 2> next = j + 1 < across ? pair(sum, half, j + 1, of_row) : pack<float, 2>{};
        const float after = shuffle(leads ? next.element[0] : two.element[0], next_lane);
        if (aligned) {
          store_pack<2>(out + 8 * j, two);
        } else if (j + 1 < across || !trails) {
          store_pack<2>(out + 8 * j + 1, pack<float, 2>{{two.element[1], after}});
        } else {
          out[8 * j + 1] = two.element[1];
        }
        two = next;
      }
    }
  }
  AP_DEV void store_all(const sums& sum) const {
    const matrix_view<float>& c = p.what.c;
    const bool direct = simple();
    if (direct && !rows_aligned()) return store_realigned(sum);
    const int rows_left = within(c.rows - lines.top), columns_left = within(c.columns - lines.left);
    float* const mine = &c(lines.top + row(), lines.left + column());
    AP_UNROLL
    for (int half = 0; half < 2 * L.down; ++half) {
      float* const out = mine + 8 * half * c.row_stride;
      const float of_row = scale_of_row(half);
      AP_UNROLL
      for (int j = 0; j < across; ++j) {
        const pack<float, 2> two = pair(sum, half, j, of_row);
        if (direct) {
          store_pack<2>(out + 8 * j, two);
          continue;
        }
        AP_UNROLL
        for (int e = 0; e < 2; ++e) {
          if (row() + 8 * half >= rows_left || column() + 8 * j + e >= columns_left) continue;
          float* const at = out + (8 * j + e) * c.column_stride;
          *at = blend(p.what, two.element[e], at);
        }
      }
    }
  }
  AP_DEV static int within(std::int64_t left) { return static_cast<int>(left < split_tile ? left : split_tile); }

  // The certificate (docs/accuracy.md): an output is as exact as promised if its magnitude, scaled, reaches a bound made of how many tiny
  // elements its lines have. A line that is not finite has bounds that its sum, zero, never reaches.
  AP_DEV static bool certified(float sum, const split_line& a, const split_line& b) {
    return std::fabs(sum) >= 1.01f * (std::fmin(a.tiny, b.norm) + std::fmin(b.tiny, a.norm));
  }
  // sum * 2^exponent with one rounding: the first factor leaves a normal number, or the result does not.
  AP_DEV static float scaled(float sum, int exponent) {
    const int one = exponent < -67 ? -67 : exponent > 127 ? 127 : exponent, rest = exponent - one;
    const int two = rest < -149 ? -149 : rest > 127 ? 127 : rest;
    const auto power = [](int e) { return bit_cast<float>(e < -126 ? 1u << (e + 149) : static_cast<std::uint32_t>(e + 127) << 23); };
    return sum * power(one) * power(two);
  }
  AP_DEV bool inside(int i, int j) const {
    return lines.top + i < static_cast<int>(p.what.c.rows) && lines.left + j < static_cast<int>(p.what.c.columns);
  }
  AP_DEV static split_line line_of(const split_operand& o, int at) { return at < static_cast<int>(o.lines) ? o.line[at] : split_line{}; }

  // Gives use(e, i, j, a, b) the lines of each of the thread's outputs, those of several columns read at a time.
  template <class Use> AP_DEV void each_with_lines(Use use) const {
    constexpr int together = across < 4 ? across : 4;
    split_line a[2 * L.down];
    AP_UNROLL
    for (int half = 0; half < 2 * L.down; ++half) a[half] = line_of(p.left, lines.top + row() + 8 * half);
    AP_UNROLL
    for (int from = 0; from < across; from += together) {
      split_line b[together][2];
      AP_UNROLL
      for (int j = 0; j < 2 * together; ++j) b[j / 2][j % 2] = line_of(p.right, lines.left + column() + 8 * (from + j / 2) + j % 2);
      AP_UNROLL
      for (int i = 0; i < L.down; ++i) {
        AP_UNROLL
        for (int n = 0; n < 4 * together; ++n) {
          const int e = 4 * (i * across + from) + n;
          use(e, row_of(e), column_of(e), a[2 * i + n / 2 % 2], b[n / 4][n % 2]);
        }
      }
    }
  }
  // Lines that are not there have nothing tiny: what is computed from them counts as certified.
  AP_DEV bool all_certified(const sums& sum) const {
    bool all = true;
    each_with_lines([&](int e, int, int, const split_line& a, const split_line& b) { all = certified(sum[e], a, b) && all; });
    return all;
  }
  // A bit for each of the thread's outputs.
  struct findings {
    std::uint64_t uncertain = 0, of_few = 0;
  };
  AP_DEV findings look(const sums& sum) const {
    findings found;
    each_with_lines([&](int e, int i, int j, const split_line& a, const split_line& b) {
      if (!inside(i, j)) return;
      const std::uint64_t bit = std::uint64_t{1} << e;
      if (meet_few(a, b))
        found.of_few |= bit;
      else if (!certified(sum[e], a, b))
        found.uncertain |= bit;
    });
    return found;
  }
  // Counts what is uncertain and says how many outputs there are, before any is stored: if there are too many to be noted, all of the tile
  // is computed again, and C must still be what it was.
  struct counted {
    std::uint32_t all, before;  // of the tile, and of other threads' outputs
  };
  AP_DEV counted count(const findings& found, uncertain_count& tally, cursor<uncertain_count::turns>& turn, std::int64_t tile) const {
    std::uint32_t mine = 0, before = 0;
    AP_UNROLL
    for (int e = 0; e < registers; ++e) mine += static_cast<std::uint32_t>(found.uncertain >> e & 1);
    if (found.of_few != 0) mine += product_notes::few_thread;
    if (mine > 0) before = atomic_add<scope::block>(&tally.of[turn.index], mine);
    if (member() == 0) tally.of[(turn.index + 1) % uncertain_count::turns] = 0;
    named_barrier_sync(barrier, computing_threads);
    const std::uint32_t all = tally.of[turn++.index];
    if (member() == 0) {
      if (all > 0) tally.noted = 1;
      p.notes.count[tile] = all;
    }
    return {all, before % product_notes::few_thread};
  }
  AP_DEV void store_certified(const sums& sum, const findings& found, std::uint16_t* place) const {
    AP_UNROLL
    for (int e = 0; e < registers; ++e) {
      const int i = row_of(e), j = column_of(e);
      if (!inside(i, j) || (found.of_few >> e & 1) != 0) continue;
      if ((found.uncertain >> e & 1) != 0) {
        *place++ = static_cast<std::uint16_t>(i * split_tile + j);
      } else {
        float* const out = &p.what.c(lines.top + i, lines.left + j);
        *out = blend(p.what, unscaled(sum[e], i, j), out);
      }
    }
  }
  AP_DEV float unscaled(float sum, int i, int j) const {
    const float of_row = std::fabs(lines.row_scale[i]), of_column = std::fabs(lines.column_scale[j]);
    if (of_row != 0 && of_column != 0) return sum * of_row * of_column;
    return scaled(sum, -(p.left.line[lines.top + i].exponent + p.right.line[lines.left + j].exponent));
  }

  // `tile`: where its notes are.
  AP_DEV void store(const sums& sum, uncertain_count& tally, cursor<uncertain_count::turns>& turn, std::int64_t tile) const {
    const care how = asked_for();
    counted outputs{0, 0};
    findings found;
    if (how == care::none) {
      if (member() == 0) p.notes.count[tile] = 0;
    } else {
      if (how == care::lines || !all_certified(sum)) found = look(sum);
      outputs = count(found, tally, turn, tile);
    }
    if (outputs.all == 0 && how != care::lines)
      store_all(sum);
    else if (outputs.all % product_notes::few_thread <= note_capacity)
      store_certified(sum, found, p.notes.place + tile * note_capacity + outputs.before);
  }
  // What was noted of a tile, by all computing threads together. Lines of few nonzeros have been left alone throughout.
  AP_DEV static void recompute(const product_problem& p, int top, int left, std::int64_t tile, recompute_storage& memory) {
    const std::uint32_t all = p.notes.count[tile], uncertain = all % product_notes::few_thread;
    if (all == 0) return;
    int thread = member();
    rematerialise(thread);   // or what is computed of it waits in local memory from tile to tile
    problem mine = p.what;  // as far as the columns that these threads store
    if (mine.c.columns > left + L.width) mine.c.columns = mine.b.columns = left + L.width;
    if (uncertain > note_capacity)
      recompute_tile(mine, top, left, memory, thread,
                     [&](std::int64_t row, std::int64_t column) { return !meet_few(p.left.line[row], p.right.line[column]); });
    else if (uncertain > 0)
      recompute_list(mine, top, left - left % split_tile, p.notes.place + tile * note_capacity, static_cast<int>(uncertain), memory,
                     thread);
    if (p.notes.count[tile] >= product_notes::few_thread) recompute_few(mine, top, left, p.left, p.right, thread);
    if (p.recomputed != nullptr && uncertain > 0 && thread == 0) atomic_add(p.recomputed, std::uint64_t{uncertain});
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
