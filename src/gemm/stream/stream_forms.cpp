// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/stream/stream_forms.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <cmath>
#include <iterator>
#include <limits>

#include "src/gemm/cost.hpp"
#include "src/gemm/stream/stream_product.hpp"

namespace antiphase::gemms {
namespace {

constexpr stream_times small_blocks = {1.5, 1.31, 0.486, 1.29, 1.97, 0.22, 0.0743, 0.0758};
constexpr stream_form by_ring(extent2 tile, int resident, int slabs, bool shares, const stream_times& engine, const stream_times& copiers) {
  return {.tile = tile, .resident = resident, .slabs = slabs, .shares = shares, .engine = engine, .copiers = copiers};
}
constexpr stream_form forms[] = {
    by_ring({32, 8}, 1, 8, true, {0.01, 2.38, 1.12, 1.16, 2.15, 0.0554}, {0.01, 2.9, 0.902, 1.07, 2.16, 0.0763, 0.361, 0.0495}),
    by_ring({32, 16}, 1, 8, true, {0.01, 3.08, 1.15, 1.3, 2.08, 0.116}, {0.0316, 3.42, 1.14, 1.28, 2.25, 0.128, 0.104, 0.0476}),
    by_ring({32, 32}, 1, 4, true, {0.0137, 3.08, 0.928, 1.34, 2.17, 0.127}, {0.0575, 3.09, 1, 1.47, 2.39, 0.141, 0.0855, 0.066}),
    by_ring({64, 64}, 1, 2, true, {0.105, 4.55, 1.37, 1.15, 2.71, 0.178}, {0.23, 4.92, 1.48, 0.984, 2.94, 0.193, 0.0995, 0.0815}),
    by_ring({32, 32}, 4, 1, true, small_blocks, small_blocks),  // the engine has none
    by_ring({128, 16}, 2, 1, false, {1.58, 0.438, 0.61}, {1.99, 0.607, 0.709, 0, 0, 0, 0.388, 0.0376}),
    by_ring({64, 32}, 2, 1, false, {1.27, 0.435, 0.546}, {1.37, 0.627, 0.611, 0, 0, 0, 0.274, 0.0358}),
    by_ring({64, 64}, 2, 1, false, {1.68, 0.557, 0.955}, {2.07, 0.757, 0.953, 0, 0, 0, 0.149, 0.209}),
    {.tile = {64, 8}, .resident = 4, .slabs = 1, .shares = false, .feed = stream_feed::lanes},
    {.tile = {16, 32}, .resident = 4, .slabs = 1, .shares = false, .feed = stream_feed::kept},
    by_ring({32, 32}, 4, 1, false, {0.828, 0.582, 0.528}, {0.987, 0.75, 0.584, 0, 0, 0, 0.256, 0.258}),
    by_ring({32, 32}, 2, 4, true, {0.453, 2.31, 1.01, 1.59, 2.59, 0.137}, {1.13, 2.17, 1.16, 1.69, 2.32, 0.198, 0.202, 0.129}),
    by_ring({32, 16}, 2, 4, true, {0.31, 2.3, 0.683, 1.44, 2.32, 0.192}, {0.6, 2.37, 0.699, 1.32, 2.22, 0.189, 0.277, 0.11}),
};

// To whole numbers. std::ceil and std::floor are calls of functions where code for every x86-64 is wanted, and a choice needs hundreds.
double down(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
double up(double x) { return down(x) < x ? down(x) + 1 : down(x); }

struct shape {
  double long_one, short_one, k, batch, stored, read_of_c, operands, bytes;
  bool few_products;  // three or four: what is small beside its line's elements is computed once more
  bool one_column;    // C has
  row_start rows;
  mean_layout lies;
  bool engine;    // the device has one
  double of_132;  // multiprocessors, in those of an H200
  int multiprocessors;
  double slower;  // than an H200's FP64 Tensor Cores, by multiprocessor
};
double tiles_of(extent2 tile, const shape& s) { return up(s.long_one / tile.m) * up(s.short_one / tile.n) * s.batch; }
double places_of(const stream_form& f, const shape& s, int cluster) {
  return std::max(1., down(s.multiprocessors * f.resident * share_of_places(cluster) / cluster)) * cluster;
}
double halves_of(const shape& s) { return up(s.k / (stream_step / 2)); }

// Microseconds, and bytes per microsecond, fitted as those of the table. Warps of their own, so many to a multiprocessor that what they
// wait for is hidden: what all blocks take adds up, and what a warp waits for at its start, for its values of k and to store, is there
// once.
double seconds_of_lanes(const stream_form& f, const shape& s) {
  constexpr double start = 1.32, second = 0.122, third = 0.144, of_half = 0.399, adding = 0.351, filling = 0.546, to_fill = 2.73e6,
                   of_tile = 0.00194, of_step = 0.000555, of_cache = 5.67e6, of_memory = 2.55e6, half = 2.78, anywhere = 4, of_c = 0.8e6;
  const double halves = halves_of(s);
  const double move = (s.stored * by_rows(s.rows, 1, half, anywhere) + s.operands) / of_cache + s.read_of_c / of_c;
  const double wait = (s.k > 8 ? second : 0) + (s.k > 16 ? third : 0) + of_half * std::max(halves - 2, 0.) +
                      (s.read_of_c > 0 ? adding : 0) + filling * filled(s.stored, to_fill);
  return 1e-6 * (start + wait +
                 longer(tiles_of(f.tile, s) * (of_tile + of_step * halves) * s.slower,
                        std::max(move, s.bytes > bytes_of_l2 ? s.bytes / of_memory : 0)) /
                     s.of_132);
}
double seconds_of_kept(const stream_form& f, const shape& s) {
  constexpr double start = 1.63, second_half = 0.527, quarter = 0.471, column = 0.491, adding = 0.367, filling = 2.18, to_fill = 12.4e6,
                   of_tile[] = {8.5e-5, 0.00152}, again = 0.245, again_of_tile = 0.000406, again_anywhere = 0.532, of_cache = 3.32e6,
                   of_memory = 2.85e6, half = 1.31, anywhere = 1.91, far_half = 1.06, far_anywhere = 1.54, read_of_cache = 5.7e6,
                   read_of_memory = 1.81e6;
  const double halves = halves_of(s), tiles = tiles_of(f.tile, s);
  const bool far = s.bytes > bytes_of_l2;
  const double multiply = of_tile[halves > 1 ? 1 : 0] + (s.few_products ? again_of_tile : 0);
  const double move =
      s.stored * by_rows(s.rows, 1, far ? far_half : half, far ? far_anywhere : anywhere) / moved_at(s.bytes, of_cache, of_memory) +
      s.read_of_c / moved_at(s.bytes, read_of_cache, read_of_memory) + s.operands / of_cache;
  const double eights = up(s.k / 8);
  const double wait = second_half * (halves - 1) + (down(eights / 2) * 2 == eights ? quarter : 0) + (s.one_column ? column : 0) +
                      (s.read_of_c > 0 ? adding : 0) + filling * filled(s.stored, to_fill) +
                      (s.few_products ? again + (s.rows == row_start::anywhere ? again_anywhere : 0) : 0);
  return 1e-6 * (start + wait + longer(tiles * multiply * s.slower, move) / s.of_132);
}
// How many times as long as the first block alone the blocks take that walk over the tiles, by their number as a share of all places:
// blocks that have a multiprocessor to themselves do not wait for each other, and what one waits for hides behind another's work.
struct crowd {
  double quarter, half, one, two, further;
  double operator()(double all) const {
    const auto between = [](double from, double to, double share) { return from + (to - from) * share; };
    if (all <= 0.25) return between(1, quarter, all / 0.25);
    if (all <= 0.5) return between(quarter, half, (all - 0.25) / 0.25);
    if (all <= 1) return between(half, one, (all - 0.5) / 0.5);
    return all <= 2 ? between(one, two, all - 1) : two + further * (all - 2);
  }
};
// By a ring; us: of who feeds it. by_four: how many times longer than by 16 bytes a step takes. single: the same of the start of a tile
// that has but one, behind which nothing hides.
double us_of_ring(const stream_form& f, const stream_times& us, const shape& s, const stream_division& d, double by_four, double single) {
  constexpr crowd walking = {1.06, 1.13, 1.72, 3.24, 1.49}, starting = {1.44, 1.84, 2.97, 4.57, 1.46};
  constexpr double of_memory = 3.72e6, of_cache = 3e6, anywhere = 1.03, half = 1.03, walk_anywhere = 1.07, walk_half = 1.07,
                   doubled = 0.155, paired = 1.36, four = 1.84;
  const double all = tiles_of(f.tile, s) * d.cluster * d.parts / places_of(f, s, d.cluster);
  // Of several blocks of a multiprocessor that share tiles, each takes longer. It is the fullest multiprocessor that is waited for.
  const double others = f.resident == 1 ? 0 : std::min<double>(up(all * f.resident), f.resident) - 1;
  const double beside = others > 0 ? 1 + ((f.resident == 2 ? paired : four) - 1) * others / (f.resident - 1) : 1;
  const double rounds = f.shares ? beside * (all <= 1 ? 1 : up(all)) : walking(all);
  const double steps = up(up(up(s.k / stream_step) / (d.cluster * d.parts)) / f.slabs);
  const double starts = f.shares ? rounds : starting(all) * (steps == 1 ? single : 1);
  const double move = s.bytes / (moved_at(s.bytes, of_cache, of_memory) * s.of_132);
  const double rows = by_rows(s.rows, 1, f.shares ? half : walk_half, f.shares ? anywhere : walk_anywhere);
  const double shared = d.cluster == 1 ? 0 : us.cluster * (1 + (d.cluster == 2 ? 0 : d.cluster == 4 ? 1 : 2) * doubled);
  // A block of eight slabs has so much in flight that its steps go at the pace of memory anyway.
  const double ring = starts * us.round + rounds * steps * us.step * by_four * s.slower,
               moved = f.slabs == 8 ? std::max(ring, move) : longer(ring, move);
  return us.start + moved * rows + shared + (d.parts > 1 ? us.part + d.parts * us.each_part : 0);
}
// In the mean over layouts: the copy engine takes the operands in some of them.
double seconds_of(const stream_form& f, const shape& s, const stream_division& d) {
  if (f.feed == stream_feed::lanes) return seconds_of_lanes(f, s);
  if (f.feed == stream_feed::kept) return seconds_of_kept(f, s);
  constexpr double of_c = 2.2e6, part_of_row = 0.563, walk_part_of_row = 0.95;
  const bool many_rows = tiles_of(f.tile, s) * s.k > static_cast<double>(most_brief_rows);
  const double copied = s.engine ? s.lies.either_uneven + (many_rows ? s.lies.brief : 0) : 1;
  constexpr double single = 1.16, single_copied = 1.03;
  double us = 0;
  if (copied < 1) us += (1 - copied) * us_of_ring(f, f.engine, s, d, 1, single);
  if (copied > 0) {
    const double by_four = (f.copiers.long_by_four * s.lies.long_uneven + f.copiers.short_by_four * s.lies.short_uneven) / copied;
    us += copied * us_of_ring(f, f.copiers, s, d, 1 + by_four, single_copied);
  }
  us += s.read_of_c / (of_c * s.of_132);  // a tile's C is read when its sums are there, so nothing hides that
  // A row of a box that ends before the box does, as the last ones of a short operand across k do, the engine asks for in pieces.
  if (s.engine && s.short_one > 1 && (f.tile.n < stream_step || down(s.short_one / stream_step) * stream_step < s.short_one))
    us += s.lies.short_rows * (f.shares ? part_of_row : walk_part_of_row) *
          std::min(2., tiles_of(f.tile, s) * d.cluster * d.parts / (132 * s.of_132));
  return us * 1e-6;
}

}  // namespace

std::span<const stream_form> stream_forms() { return forms; }

stream_division_choice choose_division(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool reads_c,
                                       const device_limits& device, unsigned available) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const double stored = 4 * size(batch) * size(m) * size(n), read_of_c = reads_c ? stored : 0,
               operands = 4 * size(batch) * (size(m) + size(n)) * size(k);
  const shape s{.long_one = size(std::max(m, n)),
                .short_one = size(std::min(m, n)),
                .k = size(k),
                .batch = size(batch),
                .stored = stored,
                .read_of_c = read_of_c,
                .operands = operands,
                .bytes = stored + read_of_c + operands,
                .few_products = k == 3 || k == 4,
                .one_column = n == 1,
                .rows = rows_of_c(n),
                .lies = mean_layout_of(m, n, k),
                .engine = features_of(device).sm_90a,
                .of_132 = multiprocessors_of(device) / 132.,
                .multiprocessors = multiprocessors_of(device),
                .slower = fp64_slower(device)};
  constexpr int most_parts = 64;
  constexpr double least_k = 2 * stream_step;  // of a part
  const bool clusters = features_of(device).clusters;
  stream_division_choice best{nullptr, {}, std::numeric_limits<double>::infinity()};
  // The prediction must not ask how operands lie: it is that of the mean layout of densely packed matrices, with C by rows.
  const auto consider = [&](const stream_form& f, const stream_division& d) {
    const double seconds = seconds_of(f, s, d);
    if (seconds < best.seconds) best = {&f, d, seconds};
  };
  for (const stream_form& f : forms) {
    if ((available >> (&f - forms) & 1u) == 0) continue;
    consider(f, {f.slabs, 1, 1});
    if (!f.shares) continue;
    const double tiles = tiles_of(f.tile, s);
    for (const int cluster : {1, 2, 4, 8}) {
      if (cluster > 1 && (!clusters || s.k < stream_step * f.slabs * cluster)) continue;
      if (cluster > 1) consider(f, {f.slabs, cluster, 1});
      for (const double round : {0.5, 1., 2.}) {
        const double parts = down(places_of(f, s, cluster) * round / (tiles * cluster));
        if (parts > 1 && s.k / (parts * cluster) >= least_k)
          consider(f, {f.slabs, cluster, static_cast<int>(std::min<double>(parts, most_parts))});
      }
    }
  }
  return best;
}

}  // namespace antiphase::gemms
