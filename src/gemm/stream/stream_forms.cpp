// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/stream/stream_forms.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <iterator>
#include <limits>

#include "src/gemm/cost.hpp"
#include "src/gemm/stream/stream_product.hpp"

namespace antiphase::gemms {
namespace {

constexpr stream_times small_blocks = {1.81, 1.24, 0.47, 1.26, 1.94, 0.207, 0.078, 0.0815};
constexpr stream_form by_ring(extent2 tile, int resident, int slabs, bool shares, const stream_times& engine, const stream_times& copiers) {
  return {.tile = tile, .resident = resident, .slabs = slabs, .shares = shares, .engine = engine, .copiers = copiers};
}
constexpr stream_form forms[] = {
    by_ring({32, 8}, 1, 8, true, {0.01, 2.78, 1.06, 1.17, 2.15, 0.0509}, {0.01, 3.17, 0.84, 1.05, 2.1, 0.0738, 0.364, 0.054}),
    by_ring({32, 16}, 1, 8, true, {0.0113, 3.44, 1.08, 1.24, 2.08, 0.11}, {0.0382, 3.73, 1.05, 1.23, 2.22, 0.121, 0.129, 0.058}),
    by_ring({32, 32}, 1, 4, true, {0.0162, 3.43, 0.898, 1.32, 2.23, 0.125}, {0.0787, 3.42, 0.95, 1.4, 2.36, 0.134, 0.0894, 0.0748}),
    by_ring({64, 64}, 1, 2, true, {0.115, 4.66, 1.32, 1.26, 2.76, 0.176}, {0.277, 4.92, 1.42, 1.07, 2.83, 0.193, 0.107, 0.0907}),
    by_ring({32, 32}, 4, 1, true, small_blocks, small_blocks),  // the engine has none
    by_ring({128, 16}, 2, 1, false, {1.53, 0.515, 0.619}, {2.05, 0.573, 0.709, 0, 0, 0, 0.38, 0.0398}),
    by_ring({64, 32}, 2, 1, false, {1.28, 0.477, 0.555}, {1.52, 0.575, 0.61, 0, 0, 0, 0.274, 0.0363}),
    by_ring({64, 64}, 2, 1, false, {1.71, 0.587, 0.973}, {2.08, 0.719, 0.96, 0, 0, 0, 0.137, 0.209}),
    {.tile = {64, 8}, .resident = 4, .slabs = 1, .shares = false, .feed = stream_feed::lanes},
    {.tile = {16, 32}, .resident = 4, .slabs = 1, .shares = false, .feed = stream_feed::kept},
    by_ring({32, 32}, 4, 1, false, {0.959, 0.623, 0.512}, {1.12, 0.698, 0.584, 0, 0, 0, 0.248, 0.258}),
    by_ring({32, 32}, 2, 4, true, {0.736, 2.32, 0.977, 1.59, 2.61, 0.131}, {1.57, 2.06, 1.12, 1.58, 2.19, 0.19, 0.203, 0.134}),
    by_ring({32, 16}, 2, 4, true, {0.45, 2.42, 0.66, 1.41, 2.45, 0.176}, {0.979, 2.27, 0.674, 1.26, 2.11, 0.183, 0.272, 0.111}),
};

// To whole numbers. std::ceil and std::floor are calls of functions where code for every x86-64 is wanted, and a choice needs hundreds.
double down(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
double up(double x) { return down(x) < x ? down(x) + 1 : down(x); }

struct shape {
  double long_one, short_one, k, batch, bytes, read_of_c;
  bool few_products;  // three or four: what is small beside its line's elements is computed once more
  row_start rows;
  mean_layout lies;
  double long_uneven, short_uneven;  // by those
  bool engine;                       // the device has one
  double of_132;                     // multiprocessors, in those of an H200
  int multiprocessors;
  double slower;  // than an H200's FP64 Tensor Cores, by multiprocessor
};
double tiles_of(extent2 tile, const shape& s) { return up(s.long_one / tile.m) * up(s.short_one / tile.n) * s.batch; }
double places_of(const stream_form& f, const shape& s, int cluster) {
  return std::max(1., down(s.multiprocessors * f.resident * share_of_places(cluster) / cluster)) * cluster;
}
double halves_of(const shape& s) { return up(s.k / (stream_step / 2)); }

// Microseconds, and bytes per microsecond, fitted as those of the table. Warps of their own, so many to a multiprocessor that what they
// wait for is hidden: what all blocks take adds up, and a wait for every 16 k is there once.
double seconds_of_lanes(const stream_form& f, const shape& s) {
  constexpr double start = 0.983, of_half = 0.351, of_tile = 0.00203, of_step = 0.000638, of_cache = 4e6, of_memory = 2.56e6;
  const double halves = halves_of(s);
  return 1e-6 * (start + of_half * halves +
                 longer(tiles_of(f.tile, s) * (of_tile + of_step * halves) * s.slower, s.bytes / moved_at(s.bytes, of_cache, of_memory)) /
                     s.of_132);
}
double seconds_of_kept(const stream_form& f, const shape& s) {
  constexpr double start = 2.04, waiting = 0.0198, again = 0.201, second_half = 0.705, of_tile[] = {0.0001, 0.00138},
                   again_of_tile = 7.4e-05, bandwidth = 2.66e6, anywhere = 1.85, half = 1.17, full = 73;
  const double halves = halves_of(s), tiles = tiles_of(f.tile, s), wait = waiting + (s.few_products ? again : 0);
  const double multiply = of_tile[halves > 1 ? 1 : 0] + (s.few_products ? again_of_tile : 0);
  const double move = s.bytes / bandwidth * (s.rows == row_start::anywhere ? anywhere : s.rows == row_start::half ? half : 1);
  return 1e-6 *
         (start + std::min(1., tiles / full) * wait + second_half * (halves - 1) + longer(tiles * multiply * s.slower, move) / s.of_132);
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
  constexpr crowd walking = {1.04, 1.08, 1.66, 3.19, 1.48}, starting = {1.51, 2.1, 3.19, 4.69, 1.31};
  constexpr double of_memory = 4.55e6, of_cache = 3e6, anywhere = 1.02, half = 1.03, walk_anywhere = 1.06, walk_half = 1.07,
                   doubled = 0.152, paired = 1.36, four = 1.84;
  const double all = tiles_of(f.tile, s) * d.cluster * d.parts / places_of(f, s, d.cluster);
  // Of several blocks of a multiprocessor that share tiles, each takes longer. It is the fullest multiprocessor that is waited for.
  const double others = f.resident == 1 ? 0 : std::min<double>(up(all * f.resident), f.resident) - 1;
  const double beside = others > 0 ? 1 + ((f.resident == 2 ? paired : four) - 1) * others / (f.resident - 1) : 1;
  const double rounds = f.shares ? beside * (all <= 1 ? 1 : up(all)) : walking(all);
  const double steps = up(up(up(s.k / stream_step) / (d.cluster * d.parts)) / f.slabs);
  const double starts = f.shares ? rounds : starting(all) * (steps == 1 ? single : 1);
  const double move = s.bytes / (moved_at(s.bytes, of_cache, of_memory) * s.of_132);
  const double rows = s.rows == row_start::anywhere ? (f.shares ? anywhere : walk_anywhere)
                      : s.rows == row_start::half   ? (f.shares ? half : walk_half)
                                                    : 1;
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
  constexpr double of_c = 2.28e6;
  const bool many_rows = tiles_of(f.tile, s) * s.k > static_cast<double>(most_brief_rows);
  const double copied = s.engine ? s.lies.either_uneven + (many_rows ? s.lies.brief : 0) : 1;
  constexpr double single = 1.24, single_copied = 1.05;
  double us = 0;
  if (copied < 1) us += (1 - copied) * us_of_ring(f, f.engine, s, d, 1, single);
  if (copied > 0) {
    const double by_four = (f.copiers.long_by_four * s.long_uneven + f.copiers.short_by_four * s.short_uneven) / copied;
    us += copied * us_of_ring(f, f.copiers, s, d, 1 + by_four, single_copied);
  }
  us += s.read_of_c / (of_c * s.of_132);  // a tile's C is read when its sums are there, so nothing hides that
  return us * 1e-6;
}

}  // namespace

std::span<const stream_form> stream_forms() { return forms; }

stream_division_choice choose_division(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool reads_c,
                                       const device_limits& device, unsigned available) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const double outputs = size(m) * size(n) * (reads_c ? 2 : 1);
  const mean_layout lies = mean_layout_of(m, n, k);
  const shape s{.long_one = size(std::max(m, n)),
                .short_one = size(std::min(m, n)),
                .k = size(k),
                .batch = size(batch),
                .bytes = 4 * size(batch) * (size(m) * size(k) + size(k) * size(n) + outputs),
                .read_of_c = reads_c ? 4 * size(batch) * size(m) * size(n) : 0,
                .few_products = k == 3 || k == 4,
                .rows = rows_of_c(n),
                .lies = lies,
                .long_uneven = m >= n ? lies.a_uneven : lies.b_uneven,
                .short_uneven = m >= n ? lies.b_uneven : lies.a_uneven,
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
