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
    {{32, 8}, 8, true, 1, {0, 2.71, 1.03, 2.1, 2.9, 0.106}},
    {{32, 16}, 8, true, 1, {0, 3.36, 1.09, 2.9, 3.5, 0.121}},
    {{32, 32}, 4, true, 1, {0.27, 3.08, 0.87, 2.8, 2.2, 0.19}},
    {{64, 64}, 2, true, 1, {0, 4.34, 1.37, 2.6, 3.2, 0.264}},
    {{32, 32}, 1, true, 4, {0, 2.45, 1.10, 1.3, 3.5, 0.106}},
    {{128, 16}, 1, false, 2, {0.73, 1.58, 0.77, 0, 0, 0}},
    {{64, 64}, 1, false, 2, {1.22, 1.2, 2.3, 0, 0, 0}},
    {{32, 32}, 1, false, 4, {0, 1.9, 1.5, 0, 0, 0}},
    {{64, 8}, 1, false, 5, {1.15, 0.0016, 0.0009, 0.36, 0, 0}, stream_feed::lanes},
    {{16, 32}, 1, false, 4, {2.1, 0.00085, 0, 0, 0, 0}, stream_feed::kept},
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
double seconds_of(const stream_form& f, const shape& s, const stream_division& d) {
  if (f.feed == stream_feed::lanes) return seconds_of_lanes(f, s);
  if (f.feed == stream_feed::kept) return seconds_of_kept(f, s);
  const double blocks = tiles_of(f, s) * d.cluster * d.parts, all = blocks / places_of(f, s, d.cluster);
  const double rounds = all <= 1 ? 1 : f.shares ? up(all) : (up(all) + all) / 2;
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
