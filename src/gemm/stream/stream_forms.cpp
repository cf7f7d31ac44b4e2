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
    {{32, 8}, 8, true, 1, {0.01, 2.36, 1.11, 1.89, 4.79, 0.094, 1.26}},
    {{32, 16}, 8, true, 1, {0.07, 3.11, 1.15, 2.84, 5.34, 0.072, 1.30}},
    {{32, 32}, 4, true, 1, {0.12, 3.05, 0.91, 2.87, 4.42, 0.076, 1.32}},
    {{64, 64}, 2, true, 1, {0.18, 3.99, 1.34, 2.61, 5.02, 0.216, 1.28}},
    {{32, 32}, 1, true, 4, {0.15, 2.74, 1.16, 1.35, 3.16, 0.241, 1}},
    {{128, 16}, 1, false, 2, {1.47, 0.80, 0.665, 0, 0, 0, 1.40}},
    {{64, 32}, 1, false, 2, {1.21, 0.75, 0.564, 0, 0, 0, 1.65}},
    {{64, 64}, 1, false, 2, {1.85, 1.00, 0.971, 0, 0, 0, 1.50}},
    {{64, 8}, 1, false, 5, {1.06, 0.0019, 0.00099, 0.36, 0, 0, 1}, stream_feed::lanes},
    {{16, 32}, 1, false, 4, {2.14, 0.00097, 0, 0, 0, 0, 1.14}, stream_feed::kept},
};

// To whole numbers. std::ceil and std::floor are calls of functions where code for every x86-64 is wanted, and a choice needs hundreds.
double down(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
double up(double x) { return down(x) < x ? down(x) + 1 : down(x); }

// Of all places for blocks, those that clusters of so many can take: some multiprocessors of a group are left over.
double share_of_places(int cluster) { return cluster == 8 ? 0.8 : cluster == 4 ? 0.93 : 1; }

struct shape {
  double long_one, short_one, k, batch, bytes, read_of_c;
  int multiprocessors;
  double slower;  // than an H200's FP64 Tensor Cores, by multiprocessor
};
double tiles_of(const stream_form& f, const shape& s) { return up(s.long_one / f.tile.m) * up(s.short_one / f.tile.n) * s.batch; }
double places_of(const stream_form& f, const shape& s, int cluster) {
  return std::max(1., down(s.multiprocessors * f.resident * share_of_places(cluster) / cluster)) * cluster;
}
// Warps of their own, so many to a multiprocessor that what they wait for is hidden: what all blocks take adds up.
double seconds_of_lanes(const stream_form& f, const shape& s) {
  const double halves = up(s.k / (stream_step / 2)), of_132 = s.multiprocessors / 132.;
  return 1e-6 * (f.us.start + f.us.cluster * halves + tiles_of(f, s) * (f.us.round + f.us.step * halves) * s.slower / of_132);
}
double seconds_of_kept(const stream_form& f, const shape& s) {
  const double halves = up(s.k / (stream_step / 2)), of_132 = s.multiprocessors / 132.;
  const double multiply = tiles_of(f, s) * f.us.round * (1 + 0.7 * (halves - 1)) * s.slower, move = s.bytes / 2.9e6;
  return 1e-6 * (f.us.start + 1.4 * (halves - 1) + std::max(multiply, move) / of_132);
}
// How many times as long as the first block alone the blocks take that walk over the tiles, by their number as a share of all places:
// blocks that have a multiprocessor to themselves do not wait for each other, and what one waits for hides behind another's work.
double crowding(double all) {
  constexpr double alone = 0.3, full = 2.2, further = 0.58;
  return all <= alone ? 1 : all <= 1 ? 1 + (full - 1) * (all - alone) / (1 - alone) : full * (1 + further * (all - 1));
}
double seconds_of(const stream_form& f, const shape& s, const stream_division& d) {
  if (f.feed == stream_feed::lanes) return seconds_of_lanes(f, s);
  if (f.feed == stream_feed::kept) return seconds_of_kept(f, s);
  const double blocks = tiles_of(f, s) * d.cluster * d.parts, all = blocks / places_of(f, s, d.cluster);
  const double rounds = !f.shares ? crowding(all) : all <= 1 ? 1 : up(all);
  const double steps = up(up(up(s.k / stream_step) / (d.cluster * d.parts)) / f.slabs);
  const double bandwidth = (s.bytes > 4e7 ? 4.0e6 : 5.5e6) / 132 * s.multiprocessors;  // bytes per microsecond: of memory, of the L2 cache
  double us = f.us.start + std::max(rounds * (f.us.round + steps * f.us.step * s.slower), s.bytes / bandwidth);
  us += s.read_of_c / (3.0e6 / 132 * s.multiprocessors);  // a tile's C is read when its sums are there, so nothing hides that
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
                .multiprocessors = multiprocessors_of(device),
                .slower = fp64_slower(device)};
  constexpr int most_parts = 64;
  constexpr double least_k = 2 * stream_step;  // of a part
  const bool clusters = features_of(device).clusters;
  stream_division_choice best{nullptr, {}, std::numeric_limits<double>::infinity()};
  // Where rows cannot all begin at multiples of 16 bytes, copies are of 4 bytes in some layouts, and results go through shared memory. The
  // prediction must not ask how operands lie, so it is the mean over layouts, of densely packed matrices.
  const auto consider = [&](const stream_form& f, const stream_division& d) {
    const bool uneven = is_uneven(m) || is_uneven(n) || (f.feed == stream_feed::ring && is_uneven(k));
    const double seconds = seconds_of(f, s, d) * (uneven ? f.us.uneven : 1);
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
