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

constexpr stream_form forms[] = {
    {{32, 8}, 8, true, 1, {0.0133, 2.53, 1.12, 1.25, 2.02, 4.45, 0.0874}},
    {{32, 16}, 8, true, 1, {0.181, 3.33, 1.19, 1.66, 3.04, 4.97, 0.0678}},
    {{32, 32}, 4, true, 1, {0.161, 3.26, 0.877, 1.68, 2.67, 4.11, 0.0707}},
    {{64, 64}, 2, true, 1, {0.143, 3.71, 1.28, 1.58, 2.43, 5.2, 0.227}},
    {{32, 32}, 1, true, 4, {0.336, 2.93, 1.24, 1.08, 1.44, 2.94, 0.258}},
    {{128, 16}, 1, false, 2, {1.24, 0.856, 0.618, 1.32, 0, 0, 0}},
    {{64, 32}, 1, false, 2, {0.943, 0.802, 0.603, 1.04, 0, 0, 0}},
    {{64, 64}, 1, false, 2, {1.15, 0.93, 0.995, 1.44, 0, 0, 0}},
    {{64, 8}, 1, false, 5, {}, stream_feed::lanes},
    {{16, 32}, 1, false, 4, {}, stream_feed::kept},
};

// To whole numbers. std::ceil and std::floor are calls of functions where code for every x86-64 is wanted, and a choice needs hundreds.
double down(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
double up(double x) { return down(x) < x ? down(x) + 1 : down(x); }

// Of all places for blocks, those that clusters of so many can take: some multiprocessors of a group are left over.
double share_of_places(int cluster) { return cluster == 8 ? 0.8 : cluster == 4 ? 0.93 : 1; }

struct shape {
  double long_one, short_one, k, batch, bytes, read_of_c;
  bool few_products;  // three or four: what is small beside its line's elements is computed once more
  row_start rows;
  mean_layout lies;
  double of_132;  // multiprocessors, in those of an H200
  int multiprocessors;
  double slower;  // than an H200's FP64 Tensor Cores, by multiprocessor
};
double tiles_of(const stream_form& f, const shape& s) { return up(s.long_one / f.tile.m) * up(s.short_one / f.tile.n) * s.batch; }
double places_of(const stream_form& f, const shape& s, int cluster) {
  return std::max(1., down(s.multiprocessors * f.resident * share_of_places(cluster) / cluster)) * cluster;
}
double halves_of(const shape& s) { return up(s.k / (stream_step / 2)); }

// Microseconds, and bytes per microsecond, fitted as those of the table. Warps of their own, so many to a multiprocessor that what they
// wait for is hidden: what all blocks take adds up, and a wait for every 16 k is there once.
double seconds_of_lanes(const stream_form& f, const shape& s) {
  constexpr double start = 1.13, of_half = 0.318, of_tile = 0.0022, of_step = 0.0011, bandwidth = 2.55e6;
  const double halves = halves_of(s);
  return 1e-6 *
         (start + of_half * halves + longer(tiles_of(f, s) * (of_tile + of_step * halves) * s.slower, s.bytes / bandwidth) / s.of_132);
}
double seconds_of_kept(const stream_form& f, const shape& s) {
  constexpr double start = 2.17, waiting = 0.11, again = 0.428, second_half = 0.326, of_tile[] = {0.0008, 0.00269},
                   again_of_tile = 0.000268, bandwidth = 3.13e6, anywhere = 1.9, full = 126;
  const double halves = halves_of(s), tiles = tiles_of(f, s), wait = waiting + (s.few_products ? again : 0);
  const double multiply = of_tile[halves > 1 ? 1 : 0] + (s.few_products ? again_of_tile : 0);
  const double move = s.bytes / bandwidth * (s.rows == row_start::anywhere ? anywhere : 1);
  return 1e-6 *
         (start + std::min(1., tiles / full) * wait + second_half * (halves - 1) + longer(tiles * multiply * s.slower, move) / s.of_132);
}
// How many times as long as the first block alone the blocks take that walk over the tiles, by their number as a share of all places:
// blocks that have a multiprocessor to themselves do not wait for each other, and what one waits for hides behind another's work.
double crowding(double all) {
  constexpr double quarter = 1.37, half = 1.42, one = 2.31, two = 2.81, further = 1.3;
  const auto between = [](double from, double to, double share) { return from + (to - from) * share; };
  if (all <= 0.25) return between(1, quarter, all / 0.25);
  if (all <= 0.5) return between(quarter, half, (all - 0.25) / 0.25);
  if (all <= 1) return between(half, one, (all - 0.5) / 0.5);
  return all <= 2 ? between(one, two, all - 1) : two + further * (all - 2);
}
double seconds_of(const stream_form& f, const shape& s, const stream_division& d) {
  if (f.feed == stream_feed::lanes) return seconds_of_lanes(f, s);
  if (f.feed == stream_feed::kept) return seconds_of_kept(f, s);
  constexpr double large = 4e7, of_memory = 4.6e6, of_cache = 4e6, of_c = 0.948e6, anywhere = 1.11, half = 1.14;
  const double tiles = tiles_of(f, s), all = tiles * d.cluster * d.parts / places_of(f, s, d.cluster);
  const double rounds = !f.shares ? crowding(all) : all <= 1 ? 1 : up(all);
  const double steps = up(up(up(s.k / stream_step) / (d.cluster * d.parts)) / f.slabs);
  const double by_threads = s.lies.either_uneven + (tiles * s.k > static_cast<double>(most_brief_rows) ? s.lies.brief : 0);
  double us = longer(rounds * (f.us.round + steps * f.us.step * s.slower), s.bytes / ((s.bytes > large ? of_memory : of_cache) * s.of_132));
  us *= 1 + (f.us.threads - 1) * by_threads;
  us *= s.rows == row_start::anywhere ? anywhere : s.rows == row_start::half ? half : 1;
  us += f.us.start + s.read_of_c / (of_c * s.of_132);  // a tile's C is read when its sums are there, so nothing hides that
  if (d.cluster > 1) us += f.us.cluster;
  if (d.parts > 1) us += f.us.part + d.parts * f.us.each_part;
  return us * 1e-6;
}

}  // namespace

std::span<const stream_form> stream_forms() { return forms; }

stream_division_choice choose_division(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool reads_c,
                                       const device_limits& device, unsigned available) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const double outputs = size(m) * size(n) * (reads_c ? 2 : 1);
  const shape s{.long_one = size(std::max(m, n)),
                .short_one = size(std::min(m, n)),
                .k = size(k),
                .batch = size(batch),
                .bytes = 4 * size(batch) * (size(m) * size(k) + size(k) * size(n) + outputs),
                .read_of_c = reads_c ? 4 * size(batch) * size(m) * size(n) : 0,
                .few_products = k == 3 || k == 4,
                .rows = rows_of_c(n),
                .lies = mean_layout_of(m, n, k),
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
    const double tiles = tiles_of(f, s);
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
