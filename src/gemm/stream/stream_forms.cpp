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

constexpr stream_times small_blocks = {1.47, 1.4, 0.479, 1.26, 1.89, 0.218, 0.0784, 0.0756};
constexpr stream_form by_ring(extent2 tile, int resident, int slabs, bool shares, const stream_times& engine, const stream_times& copiers) {
  return {.tile = tile, .resident = resident, .slabs = slabs, .shares = shares, .engine = engine, .copiers = copiers};
}
constexpr stream_form forms[] = {
    by_ring({32, 8}, 1, 8, true, {0.01, 2.34, 1.12, 1.17, 2.13, 0.0549}, {0.01, 2.89, 0.89, 1.03, 2.18, 0.0759, 0.358, 0.0379}),
    by_ring({32, 16}, 1, 8, true, {0.01, 3.08, 1.15, 1.3, 2.04, 0.117}, {0.026, 3.46, 1.13, 1.27, 2.2, 0.128, 0.105, 0.0418}),
    by_ring({32, 32}, 1, 4, true, {0.0118, 3.09, 0.923, 1.35, 2.15, 0.125}, {0.0396, 3.17, 0.992, 1.46, 2.32, 0.14, 0.0923, 0.0644}),
    by_ring({64, 64}, 1, 2, true, {0.105, 4.58, 1.37, 1.14, 2.67, 0.176}, {0.181, 5.39, 1.45, 0.768, 2.7, 0.185, 0.106, 0.0805}),
    by_ring({32, 32}, 4, 1, true, small_blocks, small_blocks),  // the engine has none
    by_ring({128, 16}, 2, 1, false, {1.4, 0.543, 0.642}, {1.99, 0.683, 0.688, 0, 0, 0, 0.318, 0.0339}),
    by_ring({64, 32}, 2, 1, false, {1.15, 0.491, 0.575}, {1.37, 0.697, 0.599, 0, 0, 0, 0.223, 0.0358}),
    by_ring({64, 64}, 2, 1, false, {1.5, 0.667, 1}, {2.18, 0.828, 0.935, 0, 0, 0, 0.135, 0.143}),
    {.tile = {64, 8}, .resident = 4, .slabs = 1, .shares = false, .feed = stream_feed::lanes},
    {.tile = {16, 32}, .resident = 4, .slabs = 1, .shares = false, .feed = stream_feed::kept},
    by_ring({32, 32}, 4, 1, false, {0.681, 0.662, 0.551}, {0.966, 0.841, 0.577, 0, 0, 0, 0.215, 0.238}),
    by_ring({32, 32}, 2, 4, true, {0.422, 2.37, 1.01, 1.59, 2.56, 0.137}, {0.895, 2.44, 1.15, 1.67, 2.26, 0.196, 0.207, 0.128}),
    by_ring({32, 16}, 2, 4, true, {0.28, 2.33, 0.679, 1.42, 2.29, 0.194}, {0.496, 2.49, 0.694, 1.29, 2.2, 0.189, 0.279, 0.104}),
};

// To whole numbers. std::ceil and std::floor are calls of functions where code for every x86-64 is wanted, and a choice needs hundreds.
double down(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
double up(double x) { return down(x) < x ? down(x) + 1 : down(x); }

struct shape {
  double m, n, long_one, short_one, k, batch, stored, read_of_c, operands, bytes;
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
  constexpr double start = 1.362, second = 0.1504, third = 0.134, of_half = 0.3661, adding = 0.3307, filling = 0.3413, to_fill = 6.609e6,
                   of_tile = 0.001946, of_step = 0.0007395, of_cache = 6.852e6, of_memory = 2.572e6, half = 1.624, anywhere = 4.5, of_c = 0.6755e6;
  const double halves = halves_of(s);
  const double move = (s.stored * by_rows(s.rows, 1, half, anywhere) + s.operands) / of_cache + s.read_of_c / of_c;
  const double wait = (s.k > 8 ? second : 0) + (s.k > 16 ? third : 0) + of_half * std::max(halves - 2, 0.) +
                      (s.read_of_c > 0 ? adding : 0) + filling * filled(s.stored, to_fill);
  return 1e-6 * (start + wait +
                 longer(tiles_of(f.tile, s) * (of_tile + of_step * halves) * s.slower,
                        std::max(move, s.bytes > bytes_of_l2 ? s.bytes / of_memory : 0)) /
                     s.of_132);
}
// Walks over tiles, of which each waits for the one before. Where there are several walks to a place, they come one after the other.
double seconds_of_kept(const stream_form& f, const shape& s) {
  constexpr double start = 1.707, second_half = 0.8787, quarter = 0.3131, column = 0.4619, exact = 0.1613, adding = 0.4259,
                   odd_rows = 0.472, filling = 1.12, to_fill = 3.15e6;
  constexpr double of_round = 1.159, of_half = 0.3657, of_odd_rows = 0.6922, of_adding = 0.0829;  // of a walk alone
  constexpr double crowd = 0.05166, crowd_of_half = 0.03092, crowd_adding = 0.3889;                 // more of one among others
  constexpr double of_cache = 4.826e6, of_memory = 3.522e6, half = 1.579, anywhere = 1.334, far_half = 1.196, read_of_cache = 6.864e6,
                   read_of_memory = 1.623e6;
  const auto whole = [](double x) { return static_cast<std::int64_t>(up(x)); };
  const std::int64_t down_c = whole(s.m / f.tile.m), beside = whole(s.n / f.tile.n) * whole(s.batch),
                     places = std::int64_t{s.multiprocessors} * (s.k > stream_step / 2 ? 3 : 4) * kept_warps,
                     rounds = std::min<std::int64_t>(kept_rounds(down_c, beside, places), down_c);
  const double walks = static_cast<double>(ceil_div(down_c, rounds) * beside) / static_cast<double>(places);
  const double deep = halves_of(s) - 1, adds = s.read_of_c > 0 ? 1 : 0, odd = s.rows == row_start::anywhere ? 1 : 0;
  const bool far = s.stored + s.operands > bytes_of_l2;
  const double move = s.stored * (far ? by_rows(s.rows, 1, far_half, 1) / of_memory : by_rows(s.rows, 1, half, anywhere) / of_cache) +
                      s.read_of_c / (far ? read_of_memory : read_of_cache) + s.operands / of_cache;
  const double eights = up(s.k / 8);
  const double wait = second_half * deep + (down(eights / 2) * 2 == eights ? quarter : 0) + (s.one_column ? column : 0) +
                      (s.few_products ? exact : 0) + adding * adds + odd_rows * odd + filling * filled(s.stored, to_fill);
  const double round = of_round + of_half * deep + of_odd_rows * odd + of_adding * adds +
                       std::min(1., walks) * (crowd + crowd_of_half * deep + crowd_adding * adds) * s.slower;
  return 1e-6 * (start + wait + longer((up(walks) * static_cast<double>(rounds) - 1) * round, move / s.of_132));
}
// How many times as long as the first block alone the blocks take that walk over the tiles, by their number as a share of all places:
// blocks that have a multiprocessor to themselves do not wait for each other, and what one waits for hides behind another's work. As soon
// as some walk over two tiles (`above` one), those are waited for.
struct crowd {
  double quarter, half, one, above, two, further;
  double operator()(double all) const {
    const auto between = [](double from, double to, double share) { return from + (to - from) * share; };
    if (all <= 0.25) return between(1, quarter, all / 0.25);
    if (all <= 0.5) return between(quarter, half, (all - 0.25) / 0.25);
    if (all <= 1) return between(half, one, (all - 0.5) / 0.5);
    return all <= 2 ? between(above, two, all - 1) : two + further * (all - 2);
  }
};
struct crowds {
  crowd walking, starting;
};
constexpr crowds by_engine = {{0.995, 1.07, 1.56, 2.14, 3.04, 1.43}, {1.62, 2.01, 2.71, 3.91, 3.96, 1.32}},
                 by_copiers = {{1.11, 1.2, 1.64, 2.31, 3.31, 1.47}, {1.25, 1.7, 2.39, 3.18, 3.79, 1.45}};
// By a ring; us: of who feeds it. by_four: how many times longer than by 16 bytes a step takes. single: the same of the start of a tile
// that has but one, behind which nothing hides.
double us_of_ring(const stream_form& f, const stream_times& us, const crowds& among, const shape& s, const stream_division& d,
                  double by_four, double single) {
  constexpr double of_memory = 3.56e6, of_cache = 3.04e6, anywhere = 1.04, half = 1.03, walk_anywhere = 1.064, walk_half = 1.052,
                   doubled = 0.1406, paired = 1.35, four = 1.838;
  const double all = tiles_of(f.tile, s) * d.cluster * d.parts / places_of(f, s, d.cluster);
  // Of several blocks of a multiprocessor that share tiles, each takes longer. It is the fullest multiprocessor that is waited for.
  const double others = f.resident == 1 ? 0 : std::min<double>(up(all * f.resident), f.resident) - 1;
  const double beside = others > 0 ? 1 + ((f.resident == 2 ? paired : four) - 1) * others / (f.resident - 1) : 1;
  const double rounds = f.shares ? beside * (all <= 1 ? 1 : up(all)) : among.walking(all);
  const double steps = up(up(up(s.k / stream_step) / (d.cluster * d.parts)) / f.slabs);
  const double starts = f.shares ? rounds : among.starting(all) * (steps == 1 ? single : 1);
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
  constexpr double of_c = 2.803e6, part_of_row = 0.7299, walk_part_of_row = 0.2683;
  const bool many_rows = tiles_of(f.tile, s) * s.k > static_cast<double>(most_brief_rows);
  const double copied = s.engine ? s.lies.either_uneven + (many_rows ? s.lies.brief : 0) : 1;
  constexpr double single = 1.185, single_copied = 1.018;
  double us = 0;
  if (copied < 1) us += (1 - copied) * us_of_ring(f, f.engine, by_engine, s, d, 1, single);
  if (copied > 0) {
    const double by_four = (f.copiers.long_by_four * s.lies.long_uneven + f.copiers.short_by_four * s.lies.short_uneven) / copied;
    us += copied * us_of_ring(f, f.copiers, by_copiers, s, d, 1 + by_four, single_copied);
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

int kept_rounds(std::int64_t tiles_down, std::int64_t columns, std::int64_t places) {
  constexpr int most = 16, start = 1;  // a walk's start takes about as long as another tile
  int best = 1;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int rounds = 1; rounds <= most; ++rounds) {
    const std::int64_t waves = ceil_div(ceil_div<std::int64_t>(tiles_down, rounds) * columns, places), tiles = waves * (rounds + start);
    if (tiles < least) best = rounds, least = tiles;
  }
  return best;
}

stream_division_choice choose_division(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool reads_c,
                                       const device_limits& device, unsigned available) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const double stored = 4 * size(batch) * size(m) * size(n), read_of_c = reads_c ? stored : 0,
               operands = 4 * size(batch) * (size(m) + size(n)) * size(k);
  const shape s{.m = size(m),
                .n = size(n),
                .long_one = size(std::max(m, n)),
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
