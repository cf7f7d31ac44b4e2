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

constexpr stream_times small_blocks = {1.44, 1.38, 0.481, 1.26, 1.9, 0.219, 0.0622, 0.0587};
constexpr stream_form by_ring(extent2 tile, int resident, int slabs, bool shares, const stream_times& engine, const stream_times& copiers) {
  return {.tile = tile, .resident = resident, .slabs = slabs, .shares = shares, .engine = engine, .copiers = copiers};
}
constexpr stream_form direct(extent2 tile, const direct_times& us) {
  return {.tile = tile, .resident = 2, .slabs = 8, .shares = false, .feed = stream_feed::direct, .direct = us};
}
constexpr stream_form alone(extent2 tile, int resident, const alone_times& us) {
  return {.tile = tile, .resident = resident, .slabs = 1, .shares = false, .feed = stream_feed::alone, .alone = us};
}
constexpr stream_form forms[] = {
    by_ring({32, 8}, 1, 8, true, {0.01, 2.35, 1.12, 1.17, 2.13, 0.0546}, {0.01, 2.79, 0.894, 1.02, 2.19, 0.076, 0.278, 0.0256}),
    by_ring({32, 16}, 1, 8, true, {0.01, 3.07, 1.15, 1.31, 2.04, 0.117}, {0.022, 3.37, 1.13, 1.27, 2.2, 0.128, 0.0827, 0.0305}),
    by_ring({32, 32}, 1, 4, true, {0.0104, 3.09, 0.925, 1.35, 2.15, 0.125}, {0.0302, 3.07, 0.993, 1.46, 2.33, 0.14, 0.0732, 0.0495}),
    by_ring({64, 64}, 1, 2, true, {0.11, 4.55, 1.37, 1.16, 2.69, 0.176}, {0.152, 5.26, 1.45, 0.752, 2.71, 0.184, 0.0835, 0.0622}),
    by_ring({32, 32}, 4, 1, true, small_blocks, small_blocks),  // the engine has none
    by_ring({128, 16}, 2, 1, false, {1.09, 0.864, 0.649}, {1.11, 0.952, 0.756, 0, 0, 0, 0.232, 0.0221}),
    by_ring({64, 32}, 2, 1, false, {0.864, 0.78, 0.584}, {0.697, 0.972, 0.655, 0, 0, 0, 0.158, 0.0236}),
    by_ring({64, 64}, 2, 1, false, {1.12, 1.02, 1.01}, {1.23, 1.12, 1.04, 0, 0, 0, 0.101, 0.0936}),
    {.tile = {64, 8}, .resident = 4, .slabs = 1, .shares = false, .feed = stream_feed::lanes},
    {.tile = {16, 32}, .resident = 4, .slabs = 1, .shares = false, .feed = stream_feed::kept},
    by_ring({32, 32}, 4, 1, false, {0.692, 0.857, 0.465}, {0.77, 0.777, 0.536, 0, 0, 0, 0.172, 0.173}),
    by_ring({32, 32}, 2, 4, true, {0.466, 2.31, 1.01, 1.6, 2.57, 0.136}, {0.898, 2.36, 1.15, 1.68, 2.27, 0.196, 0.161, 0.0991}),
    by_ring({32, 16}, 2, 4, true, {0.3, 2.31, 0.681, 1.43, 2.31, 0.193}, {0.491, 2.42, 0.696, 1.29, 2.21, 0.188, 0.218, 0.0788}),
    by_ring({32, 32}, 1, 8, true, {0.1, 4.21, 1.34, 1.28, 1.91, 0.135}, {0.01, 4.54, 1.75, 1.23, 2.24, 0.132, 0.2, 0.173}),
    direct({16, 8}, {1.209, 1.467, 0.3537, 1.491}),  // by 20261126-stream-direct.json
    direct({32, 8}, {1.476, 1.864, 0.5774, 1.652}),
    direct({16, 16}, {1.377, 1.865, 0.4533, 1.354}),
    alone({32, 32}, 6, {1.453, 0.4021, 0.09332, 0.05747}),  // by 20261126-stream-alone.json
    alone({32, 64}, 4, {1.619, 0.4537, 0.1379, 0.07975}),
    alone({64, 64}, 3, {2.125, 0.6661, 0.2701, 0.1502}),
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
  constexpr double start = 1.362, second = 0.1531, third = 0.1328, of_half = 0.3663, adding = 0.3398, filling = 0.2756, to_fill = 9.617e6,
                   of_tile = 0.001995, of_step = 0.0007382, of_cache = 7.13e6, of_memory = 2.551e6, half = 1.193, anywhere = 4.5,
                   of_c = 0.6606e6;
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
struct kept_times {
  double start, second_half, filling, of_wave, of_round, of_half, of_cache, of_memory;
};
constexpr kept_times kept_any = {1.708, 0.8891, 1.197, 1.105, 1.11, 0.3698, 5.403e6, 3.601e6},
                     kept_whole = {1.303, 0.5463, 1.739, 0.8558, 1.024, 0.1372, 9e6, 4.602e6};  // by 20261126-kept-whole.json
double seconds_of_kept(const stream_form& f, const shape& s) {
  const bool no_edges = (s.k == 16 || s.k == 32) && down(s.m / f.tile.m) * f.tile.m == s.m && down(s.n / f.tile.n) * f.tile.n == s.n;
  const auto [start, second_half, filling, of_wave, of_round, of_half, of_cache, of_memory] = no_edges ? kept_whole : kept_any;
  constexpr double quarter = 0.3192, column = 0.4579, exact = 0.1604, adding = 0.4208, odd_rows = 0.381, to_fill = 3.311e6;
  constexpr double of_odd_rows = 0.555, of_adding = 0.09441;                        // of a walk alone
  constexpr double crowd = 0.0466, crowd_of_half = 0.02987, crowd_adding = 0.3924;  // more of one among others
  constexpr double half = 1.682, anywhere = 1.424, far_half = 1.208, read_of_cache = 6.697e6, read_of_memory = 1.635e6;
  const auto whole = [](double x) { return static_cast<std::int64_t>(up(x)); };
  const std::int64_t tiles_down = whole(s.m / f.tile.m), columns = whole(s.n / f.tile.n) * whole(s.batch),
                     places = std::int64_t{s.multiprocessors} * kept_blocks(static_cast<int>(halves_of(s))) * kept_warps,
                     rounds = std::min<std::int64_t>(kept_rounds(tiles_down, columns, places), tiles_down);
  const double walks = static_cast<double>(ceil_div(tiles_down, rounds) * columns) / static_cast<double>(places);
  const double deep = halves_of(s) - 1, adds = s.read_of_c > 0 ? 1 : 0, odd = s.rows == row_start::anywhere ? 1 : 0;
  const bool far = s.stored + s.operands > bytes_of_l2;
  const double move = s.stored * (far ? by_rows(s.rows, 1, far_half, 1) / of_memory : by_rows(s.rows, 1, half, anywhere) / of_cache) +
                      s.read_of_c / (far ? read_of_memory : read_of_cache) + s.operands / (far ? of_memory : of_cache);
  const double eights = up(s.k / 8);
  const double wait = second_half * deep + (down(eights / 2) * 2 == eights ? quarter : 0) + (s.one_column ? column : 0) +
                      (s.few_products ? exact : 0) + adding * adds + odd_rows * odd + filling * filled(s.stored, to_fill);
  const double round = of_round + of_half * deep + of_odd_rows * odd + of_adding * adds +
                       std::min(1., walks) * (crowd + crowd_of_half * deep + crowd_adding * adds) * s.slower;
  const double waves = up(walks), compute = (waves * static_cast<double>(rounds) - 1) * round + (waves - 1) * of_wave;
  return 1e-6 * (start + wait + longer(compute, move / s.of_132));
}
// Blocks that wait for latency, up to two on a multiprocessor side by side, and more of them in waves.
double seconds_of_direct(const stream_form& f, const shape& s) {
  constexpr double start = 0.3, adding = 0.1588, filling = 0.7564, to_fill = 1e5, uneven = 0.06427, further = 1.122, whole_waves = 0.6171,
                   of_memory = 2.129e6;
  const double tiles = tiles_of(f.tile, s), rounds = up(up(s.k / direct_step) / f.slabs), waves = tiles / places_of(f, s, 1);
  const double of_rounds = f.direct.round * (1 + uneven * s.lies.either_uneven) * (rounds - 1);
  const double block = tiles > s.multiprocessors ? f.direct.block_of_two + f.direct.two * of_rounds : f.direct.block + of_rounds;
  const double in_turn = waves > 1 ? whole_waves * up(waves) + (1 - whole_waves) * waves : 1;
  const double work = block * (1 + (in_turn - 1) * further) * s.slower, move = s.bytes > bytes_of_l2 ? s.bytes / (of_memory * s.of_132) : 0;
  return 1e-6 * (start + (s.read_of_c > 0 ? adding : 0) + filling * filled(s.stored, to_fill) + longer(work, move));
}
// Blocks of four warps that wait for latency, and more of them in waves; where a multiprocessor has several, what they issue adds up, less
// so among those that it has at once.
double seconds_of_alone(const stream_form& f, const shape& s) {
  constexpr double adding = 0.5949, filling = 1.087, to_fill = 1.446e6, half = 1.573, anywhere = 1.143, uneven = 0.1385,
                   round_uneven = 0.1645, of_odd_rows = 1.429, further = 0.4113, at_once = 0.8088;
  // Of memory by what stream-kept takes: these products were timed on an H100, whose memory is slower, as far as they fit its cache.
  constexpr double of_cache = 3.194e6, of_memory = 3.1e6, read_of_cache = 2.705e6, read_of_memory = 1.6e6;
  const auto count = [&](std::int64_t rows, std::int64_t columns) {
    return up(s.m / static_cast<double>(rows)) * up(s.n / static_cast<double>(columns)) * s.batch;
  };
  const double of_four = count(f.tile.m / 2, f.tile.n / 2) / 4 / s.multiprocessors, waves = count(f.tile.m, f.tile.n) / places_of(f, s, 1);
  const double block = f.alone.block + f.alone.round * (halves_of(s) - 1) * (1 + round_uneven * s.lies.either_uneven);
  const double tile = f.alone.tile * (1 + (s.rows == row_start::anywhere ? of_odd_rows : 0)) +
                      f.alone.step * up(s.k / 8) * (1 + uneven * s.lies.either_uneven);
  const double work = (block * (1 + std::max(up(waves) - 1, 0.) * further) +
                       tile * (at_once * std::max(std::min<double>(of_four, f.resident) - 1, 0.) + std::max(of_four - f.resident, 0.))) *
                      s.slower;
  const bool far = s.stored + s.operands > bytes_of_l2;
  const double move = (s.stored * by_rows(s.rows, 1, half, anywhere) + s.operands) / (far ? of_memory : of_cache) +
                      s.read_of_c / (far ? read_of_memory : read_of_cache);
  return 1e-6 * ((s.read_of_c > 0 ? adding : 0) + filling * filled(s.stored, to_fill) + longer(work, move / s.of_132));
}
// How many times as long as one block alone those take that have a share of all places: the fullest multiprocessor is waited for. two,
// four: the same where it has all that a form with two, or four, lets it have.
double times_beside(double share, int resident, double two, double four) {
  if (resident == 1) return 1;
  const double others = std::clamp<double>(up(share * resident), 1, resident) - 1;
  return 1 + ((resident == 2 ? two : four) - 1) * others / (resident - 1);
}
// Of blocks that walk over the tiles: how much longer each takes the more of all places are taken, how many times as long where two, and
// where four, are on a multiprocessor, and how much of that each tile behind the first one takes.
struct crowd {
  double load, two, four, further;
  double operator()(double all, int resident) const {
    const auto beside = [&](double share) { return (1 + load * share) * times_beside(share, resident, two, four); };
    const double whole = down(all), left = all - whole;
    if (whole < 1) return beside(all);
    return beside(1) * (1 + further * (whole - 1)) + (left > 0 ? further * beside(left) : 0);
  }
};
// By who feeds them. single: how many times longer the start of a tile takes that has but one step, behind which nothing hides.
struct walk_times {
  crowd walking, starting;
  double single;
};
constexpr walk_times by_engine = {{0.0518, 1.36, 1.78, 0.953}, {1.2, 0.997, 0.971, 0.385}, 1.108},
                     by_copiers = {{0.0828, 1.31, 1.65, 0.925}, {0.772, 1.14, 1.4, 0.533}, 1.023};
// By a ring; us, walk: of who feeds it. by_four: how many times longer than by 16 bytes a step takes.
double us_of_ring(const stream_form& f, const stream_times& us, const walk_times& walk, const shape& s, const stream_division& d,
                  double by_four) {
  constexpr double of_memory = 3.589e6, of_cache = 3.857e6, anywhere = 1.04, half = 1.03, walk_anywhere = 1.051, walk_half = 1.041,
                   doubled = 0.1393, paired = 1.352, four = 1.828;
  const double all = tiles_of(f.tile, s) * d.cluster * d.parts / places_of(f, s, d.cluster);
  const double rounds = f.shares ? times_beside(all, f.resident, paired, four) * (all <= 1 ? 1 : up(all)) : walk.walking(all, f.resident);
  const double steps = up(up(up(s.k / stream_step) / (d.cluster * d.parts)) / f.slabs);
  const double starts = f.shares ? rounds : walk.starting(all, f.resident) * (steps == 1 ? walk.single : 1);
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
  if (f.feed == stream_feed::direct) return seconds_of_direct(f, s);
  if (f.feed == stream_feed::alone) return seconds_of_alone(f, s);
  constexpr double of_c = 2.81e6, part_of_row = 0.7332, walk_part_of_row = 0.2697;
  const bool many_rows = tiles_of(f.tile, s) * s.k > static_cast<double>(most_brief_rows);
  const double copied = s.engine ? s.lies.either_uneven + (many_rows ? s.lies.brief : 0) : 1;
  double us = 0;
  if (copied < 1) us += (1 - copied) * us_of_ring(f, f.engine, by_engine, s, d, 1);
  if (copied > 0) {
    const double by_four = (f.copiers.long_by_four * s.lies.long_uneven + f.copiers.short_by_four * s.lies.short_uneven) / copied;
    us += copied * us_of_ring(f, f.copiers, by_copiers, s, d, 1 + by_four);
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
