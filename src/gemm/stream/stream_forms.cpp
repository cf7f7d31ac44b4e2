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

constexpr stream_times four_slabs_by_threads = {{32, 32}, 1, 0.611, 2.93, 1.46, 1.24, 2.04, 0.138, 0.0605, 0.0854},
                       small_by_threads = {{32, 32}, 4, 0.235, 2.97, 1.1, 0.91, 2.74, 0.146, 0.0627, 0.101},
                       walking_threads = {{32, 32}, 4, 0.963, 1.07, 0.722, 0, 0, 0, 0.149, 0.117};
// The engine's tile is the form's.
constexpr stream_form by_ring(int slabs, bool shares, const stream_times& engine, const stream_times& threads) {
  return {.tile = engine.tile, .slabs = slabs, .shares = shares, .engine = engine, .threads = threads};
}
constexpr stream_form forms[] = {
    by_ring(8, true, {{32, 8}, 1, 0.01, 2.75, 1.05, 1.19, 2.13, 0.0531},
            {{32, 8}, 1, 0.0106, 2.97, 1.39, 1.16, 1.98, 0.0803, 0.109, 0.158}),
    by_ring(8, true, {{32, 16}, 1, 0.0195, 3.4, 1.08, 1.25, 2.08, 0.109},
            {{32, 32}, 1, 0.0641, 3.81, 2.05, 2.45, 2.88, 0.125, 0.0344, 0.0639}),
    by_ring(4, true, {{32, 32}, 1, 0.0235, 3.39, 0.893, 1.34, 2.24, 0.124}, four_slabs_by_threads),
    by_ring(2, true, {{64, 64}, 1, 0.0771, 4.62, 1.32, 1.31, 2.76, 0.176},
            {{64, 64}, 1, 1.4, 3.4, 1.97, 0.987, 2.92, 0.145, 0.0642, 0.0641}),
    by_ring(1, true, small_by_threads, small_by_threads),  // the engine has none
    by_ring(1, false, {{128, 16}, 2, 1.68, 0.59, 0.539}, walking_threads),
    by_ring(1, false, {{64, 32}, 2, 1.38, 0.571, 0.483}, walking_threads),
    by_ring(1, false, {{64, 64}, 2, 1.8, 0.681, 0.855}, {{64, 64}, 2, 1.63, 1.2, 1.01, 0, 0, 0, 0.126, 0.126}),
    {.tile = {64, 8}, .slabs = 1, .shares = false, .feed = stream_feed::lanes},
    {.tile = {16, 32}, .slabs = 1, .shares = false, .feed = stream_feed::kept},
    by_ring(1, false, {{32, 32}, 4, 1.04, 0.76, 0.49}, walking_threads),
    by_ring(4, true, {{32, 32}, 2, 1.26, 1.93, 1, 1.63, 2.55, 0.135}, four_slabs_by_threads),
    by_ring(4, true, {{32, 16}, 2, 1.05, 2.03, 0.629, 1.9, 2.39, 0.18}, four_slabs_by_threads),
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
double places_of(const stream_times& us, const shape& s, int cluster) {
  return std::max(1., down(s.multiprocessors * us.resident * share_of_places(cluster) / cluster)) * cluster;
}
double halves_of(const shape& s) { return up(s.k / (stream_step / 2)); }

// Microseconds, and bytes per microsecond, fitted as those of the table. Warps of their own, so many to a multiprocessor that what they
// wait for is hidden: what all blocks take adds up, and a wait for every 16 k is there once.
double seconds_of_lanes(const stream_form& f, const shape& s) {
  constexpr double start = 0.986, of_half = 0.349, of_tile = 0.00207, of_step = 0.000623, of_cache = 4e6, of_memory = 1.5e6;
  const double halves = halves_of(s);
  return 1e-6 * (start + of_half * halves +
                 longer(tiles_of(f.tile, s) * (of_tile + of_step * halves) * s.slower, s.bytes / moved_at(s.bytes, of_cache, of_memory)) /
                     s.of_132);
}
double seconds_of_kept(const stream_form& f, const shape& s) {
  constexpr double start = 2.05, waiting = 0.0174, again = 0.205, second_half = 0.705, of_tile[] = {0.0001, 0.00138},
                   again_of_tile = 8.89e-05, bandwidth = 2.66e6, anywhere = 1.85, half = 1.17, full = 81.4;
  const double halves = halves_of(s), tiles = tiles_of(f.tile, s), wait = waiting + (s.few_products ? again : 0);
  const double multiply = of_tile[halves > 1 ? 1 : 0] + (s.few_products ? again_of_tile : 0);
  const double move = s.bytes / bandwidth * (s.rows == row_start::anywhere ? anywhere : s.rows == row_start::half ? half : 1);
  return 1e-6 *
         (start + std::min(1., tiles / full) * wait + second_half * (halves - 1) + longer(tiles * multiply * s.slower, move) / s.of_132);
}
// How many times as long as the first block alone the blocks take that walk over the tiles, by their number as a share of all places:
// blocks that have a multiprocessor to themselves do not wait for each other, and what one waits for hides behind another's work.
double crowding(double all) {
  constexpr double quarter = 1.19, half = 1.37, one = 1.97, two = 3.72, further = 1.54;
  const auto between = [](double from, double to, double share) { return from + (to - from) * share; };
  if (all <= 0.25) return between(1, quarter, all / 0.25);
  if (all <= 0.5) return between(quarter, half, (all - 0.25) / 0.25);
  if (all <= 1) return between(half, one, (all - 0.5) / 0.5);
  return all <= 2 ? between(one, two, all - 1) : two + further * (all - 2);
}
// By a ring, whoever feeds it. by_four: how many times longer than by 16 bytes a step takes.
double us_of_ring(const stream_form& f, const stream_times& us, const shape& s, const stream_division& d, double by_four) {
  constexpr double of_memory = 4.7e6, of_cache = 3e6, anywhere = 1.04, half = 1.04, walk_anywhere = 1.09, walk_half = 1.09, doubled = 0.138,
                   paired = 1.46;
  const double all = tiles_of(us.tile, s) * d.cluster * d.parts / places_of(us, s, d.cluster);
  // Of two blocks of a multiprocessor that share tiles, each takes longer.
  const double beside = f.shares && us.resident == 2 ? 1 + (paired - 1) * std::clamp(2 * all - 1, 0., 1.) : 1;
  const double rounds = !f.shares ? crowding(all) : beside * (all <= 1 ? 1 : up(all));
  const double steps = up(up(up(s.k / stream_step) / (d.cluster * d.parts)) / f.slabs);
  const double move = s.bytes / (moved_at(s.bytes, of_cache, of_memory) * s.of_132);
  const double rows = s.rows == row_start::anywhere ? (f.shares ? anywhere : walk_anywhere)
                      : s.rows == row_start::half   ? (f.shares ? half : walk_half)
                                                    : 1;
  const double shared = d.cluster == 1 ? 0 : us.cluster * (1 + (d.cluster == 2 ? 0 : d.cluster == 4 ? 1 : 2) * doubled);
  return us.start + longer(rounds * (us.round + steps * us.step * by_four * s.slower), move) * rows + shared +
         (d.parts > 1 ? us.part + d.parts * us.each_part : 0);
}
// In the mean over layouts: the copy engine takes the operands in some of them.
double seconds_of(const stream_form& f, const shape& s, const stream_division& d) {
  if (f.feed == stream_feed::lanes) return seconds_of_lanes(f, s);
  if (f.feed == stream_feed::kept) return seconds_of_kept(f, s);
  constexpr double of_c = 2.52e6;
  const bool many_rows = tiles_of(f.tile, s) * s.k > static_cast<double>(most_brief_rows);
  const double threads = s.engine ? s.lies.either_uneven + (many_rows ? s.lies.brief : 0) : 1;
  double us = 0;
  if (threads < 1) us += (1 - threads) * us_of_ring(f, f.engine, s, d, 1);
  if (threads > 0) {
    const double by_four = (f.threads.long_by_four * s.long_uneven + f.threads.short_by_four * s.short_uneven) / threads;
    us += threads * us_of_ring(f, f.threads, s, d, 1 + by_four);
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
        const double parts = down(places_of(f.engine, s, cluster) * round / (tiles * cluster));
        if (parts > 1 && s.k / (parts * cluster) >= least_k)
          consider(f, {f.slabs, cluster, static_cast<int>(std::min<double>(parts, most_parts))});
      }
    }
  }
  return best;
}

}  // namespace antiphase::gemms
