// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/fp64/fp64_forms.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <array>
#include <iterator>
#include <limits>

#include "library/gemm/fp64/fp64_kernels.hpp"
#include "library/gemm/operands/tiled/tiled_problem.hpp"

namespace antiphase::gemms {
namespace {

// Values of the first kernel in the table that has the form. index: its place among the forms of its kind.
constexpr fp64_form form_of(std::string_view name, std::size_t index) {
  const auto made_of = [&](const fp64_policy& how) {
    return fp64_form{.name = name,
                     .index = index,
                     .tile = how.tile,
                     .resident = how.blocks,
                     .slabs = how.slabs,
                     .shares = how.shares,
                     .kind = how.kind};
  };
  for (const fp64_kernel& k : fp64::kernels_by_tma)
    if (k.form == name) return made_of(k.policy);
  for (const fp64_kernel& k : fp64::kernels_in_registers)
    if (k.form == name) return made_of(k.policy);
  throw "no kernel has this form";
}
constexpr auto forms = [] {
  std::array<fp64_form, std::size(costs::ring_cost::forms) + 1 + std::size(costs::block_cost::forms) +
                            std::size(costs::warp_cost::forms)>
      all{};
  std::size_t n = 0;
  const auto add = [&](auto& names) {
    for (std::size_t i = 0; i < std::size(names); ++i) all[n++] = form_of(names[i], i);
  };
  add(costs::ring_cost::forms), add(costs::block_cost::forms), add(costs::warp_cost::forms);
  all[n++] = form_of("kept", 0);
  return all;
}();

// Rounding to whole numbers. In code for every x86-64, std::ceil and std::floor are function calls, and a
// choice needs hundreds of them.
double down(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
double up(double x) { return down(x) < x ? down(x) + 1 : down(x); }

struct shape {
  double m, n, long_one, short_one, k, batch;
  moved_bytes moved;
  mean_layout lies;
  bool tma;      // the device has it
  double cards;  // multiprocessors, relative to the card that the cost model was fitted on
  int multiprocessors;
  double slower;  // FP64 Tensor Core time of a multiprocessor, relative to an H200's
};
double tiles_of(extent2 tile, const shape& s) {
  return up(s.long_one / tile.m) * up(s.short_one / tile.n) * s.batch;
}
double places_of(const fp64_form& f, const shape& s, int cluster) {
  return std::max(1., down(s.multiprocessors * f.resident * share_of_places(cluster) / cluster)) * cluster;
}
double halves_of(const shape& s) { return up(s.k / (slab_k / 2)); }

// If there are more walks than places, they run in waves.
double us_of_kept(const costs::models& l, const fp64_form& f, const shape& s) {
  const costs::kept_cost& us = l.fp64.kept;
  const auto whole = [](double x) { return static_cast<std::int64_t>(up(x)); };
  const bool no_edges = (s.k == 16 || s.k == 32) && down(s.m / f.tile.m) * f.tile.m == s.m &&
                        down(s.n / f.tile.n) * f.tile.n == s.n;
  const costs::kept_walk& walk = no_edges ? us.whole : us.any;
  const double deep = halves_of(s) - 1, adds = s.moved.read_of_c > 0,
               odd = s.moved.rows == row_start::anywhere;
  const std::int64_t tiles_down = whole(s.m / f.tile.m), columns = whole(s.n / f.tile.n) * whole(s.batch),
                     places = std::int64_t{s.multiprocessors} * kept_blocks(static_cast<int>(deep) + 1) *
                              kept_warps,
                     rounds = std::min<std::int64_t>(kept_rounds(tiles_down, columns, places), tiles_down);
  const double walks =
                   static_cast<double>(ceil_div(tiles_down, rounds) * columns) / static_cast<double>(places),
               waves = up(walks);
  const double round = walk.round + walk.round_deep * deep + us.odd_round * odd + us.adding_round * adds +
                       std::min(1., walks) * (us.crowd + us.crowd_deep * deep) * s.slower;
  const double compute = (waves * static_cast<double>(rounds) - 1) * round + (waves - 1) * walk.wave;
  return walk.start + walk.deep * deep + us.odd_start * odd + us_before_moving(l, us.moving, s.moved) +
         longer(compute, us_to_move(l, us.moving, s.moved) / s.cards);
}
// Latency-bound blocks, up to two side by side on a multiprocessor, and more of them in waves.
double us_of_block(const costs::models& l, const fp64_form& f, const shape& s) {
  const costs::block_cost& us = l.fp64.block;
  const costs::block_times& of = us.times[f.index];
  const double tiles = tiles_of(f.tile, s), rounds = up(up(s.k / held_k) / f.slabs),
               waves = tiles / places_of(f, s, 1);
  const double of_rounds = of.round * (1 + us.uneven * s.lies.either_uneven) * (rounds - 1);
  const double block =
      tiles > s.multiprocessors ? of.block * us.shared + us.beside_round * of_rounds : of.block + of_rounds;
  const double in_turn = waves > 1 ? us.whole_waves * up(waves) + (1 - us.whole_waves) * waves : 1;
  const double work = block * (1 + (in_turn - 1) * us.further) * s.slower;
  const double move = us_moved(l, s.moved, 0) / s.cards;
  return (s.moved.read_of_c > 0 ? us.adding : 0) + us.filling * filled(s.moved.stored, l.to_fill) +
         longer(work, move);
}
// Latency-bound blocks of four warps, in waves. The issue times of several blocks on a multiprocessor add up,
// less so for those that are resident at once.
double us_of_warp(const costs::models& l, const fp64_form& f, const shape& s) {
  const costs::warp_cost& us = l.fp64.warp;
  const costs::warp_times& of = us.times[f.index];
  const auto count = [&](std::int64_t rows, std::int64_t columns) {
    return up(s.m / static_cast<double>(rows)) * up(s.n / static_cast<double>(columns)) * s.batch;
  };
  const double of_four = count(f.tile.m / 2, f.tile.n / 2) / 4 / s.multiprocessors,
               waves = count(f.tile.m, f.tile.n) / places_of(f, s, 1);
  const double uneven = 1 + us.uneven * s.lies.either_uneven;
  const double block = of.block + of.round * (halves_of(s) - 1) * uneven;
  const double tile = of.tile * (1 + (s.moved.rows == row_start::anywhere ? us.tile_odd : 0)) +
                      of.step * up(s.k / 8) * uneven;
  const double work = (block * (1 + std::max(up(waves) - 1, 0.) * us.further) +
                       tile * (us.at_once * std::max(std::min<double>(of_four, f.resident) - 1, 0.) +
                               std::max(of_four - f.resident, 0.))) *
                      s.slower;
  return us_before_moving(l, us.moving, s.moved) + longer(work, us_to_move(l, us.moving, s.moved) / s.cards);
}
// Time of blocks that take `share` of all places, relative to a block alone: the fullest multiprocessor
// decides. two, four: the same for a full multiprocessor, for forms with two or four resident blocks.
double times_beside(double share, int resident, double two, double four) {
  if (resident == 1) return 1;
  const double others = std::clamp<double>(up(share * resident), 1, resident) - 1;
  return 1 + ((resident == 2 ? two : four) - 1) * others / (resident - 1);
}
// The same for blocks that walk over tiles, `all` per place, in times of one tile alone.
double crowded(const costs::crowd_cost& by, double all, int resident) {
  const auto beside = [&](double share) {
    return (1 + by.load * share) * times_beside(share, resident, by.two, by.four);
  };
  const double whole = down(all), left = all - whole;
  if (whole < 1) return beside(all);
  return beside(1) * (1 + by.further * (whole - 1)) + (left > 0 ? by.further * beside(left) : 0);
}
// A ring. longer_step: factor on a step's time for copies of four bytes.
double us_of_ring(const costs::models& l, const fp64_form& f, const costs::ring_times& of, const shape& s,
                  const fp64_division& d, double start, double longer_step) {
  const costs::ring_cost& us = l.fp64.ring;
  const double all = tiles_of(f.tile, s) * d.cluster * d.parts / places_of(f, s, d.cluster);
  const double rounds = f.shares
                            ? times_beside(all, f.resident, us.paired, us.paired) * (all <= 1 ? 1 : up(all))
                            : crowded(us.walking, all, f.resident);
  const double steps = up(up(up(s.k / slab_k) / (d.cluster * d.parts)) / f.slabs);
  const double starts =
      f.shares ? rounds : crowded(us.starting, all, f.resident) * (steps == 1 ? us.single : 1);
  const double move = us_moved(l, s.moved, s.moved.all() / us.rate) / s.cards;
  // A block of eight slabs has so many loads in flight that its steps keep pace with memory anyway.
  const double ring = starts * of.round + rounds * steps * of.step * longer_step * s.slower,
               moved = f.slabs == 8 ? std::max(ring, move) : longer(ring, move);
  const double shared = d.cluster == 1 ? 0
                                       : us.cluster * (1 + (d.cluster == 2   ? 0
                                                            : d.cluster == 4 ? 1
                                                                             : 2) *
                                                               us.doubled);
  return start + moved * by_rows(s.moved.rows, 1, us.half_rows, us.odd_rows) + shared +
         (d.parts > 1 ? us.part + d.parts * us.each_part : 0);
}
double us_of_rings(const costs::models& l, const fp64_form& f, const shape& s, const fp64_division& d) {
  const costs::ring_cost& us = l.fp64.ring;
  const bool many_rows = tiles_of(f.tile, s) * s.k > static_cast<double>(most_brief_rows);
  const double copied = s.tma ? s.lies.either_uneven + (many_rows ? s.lies.brief : 0) : 1;
  double all = 0;
  if (copied < 1) all += (1 - copied) * us_of_ring(l, f, us.tma[f.index], s, d, us.start, 1);
  if (copied > 0) {
    const double by_four =
        (us.long_by_four * s.lies.long_uneven + us.short_by_four * s.lies.short_uneven) / copied;
    all += copied * us_of_ring(l, f, us.cp_async[f.index], s, d, us.cp_async_start, 1 + by_four);
  }
  // a tile's C is read when its sums are complete, so nothing hides that
  all += s.moved.read_of_c / (us.read_rate * s.cards);
  // TMA fetches a box's row in pieces if the tensor ends before the box, as in the last lines of a short
  // operand across k.
  if (s.tma && s.short_one > 1 && (f.tile.n < slab_k || down(s.short_one / slab_k) * slab_k < s.short_one))
    all += s.lies.short_rows * us.part_of_row *
           std::min(2., tiles_of(f.tile, s) * d.cluster * d.parts / s.multiprocessors);
  return all;
}
// Mean over layouts: TMA takes the operands in some of them only.
double seconds_of(const costs::models& l, const fp64_form& f, const shape& s, const fp64_division& d) {
  switch (f.kind) {
    case kernel_kind::kept_lines: return 1e-6 * us_of_kept(l, f, s);
    case kernel_kind::block_tile: return 1e-6 * us_of_block(l, f, s);
    case kernel_kind::warp_tile: return 1e-6 * us_of_warp(l, f, s);
    case kernel_kind::ring: break;
  }
  return 1e-6 * us_of_rings(l, f, s, d);
}
shape shape_of(const costs::models& l, const product_shape& p, const device_limits& device) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  return {.m = size(p.m),
          .n = size(p.n),
          .long_one = size(std::max(p.m, p.n)),
          .short_one = size(std::min(p.m, p.n)),
          .k = size(p.k),
          .batch = size(p.count),
          .moved = bytes_of(p),
          .lies = mean_layout_of(p.m, p.n, p.k),
          .tma = features_of(device).sm_90a,
          .cards = cards_of(l, device),
          .multiprocessors = multiprocessors_of(device),
          .slower = fp64_slower(device)};
}

}  // namespace

std::span<const fp64_form> fp64_forms() { return forms; }

int kept_rounds(std::int64_t tiles_down, std::int64_t columns, std::int64_t places) {
  constexpr int most = 16, start = 1;  // a walk's start takes about as long as another tile
  int best = 1;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int rounds = 1; rounds <= most; ++rounds) {
    const std::int64_t waves = ceil_div(ceil_div<std::int64_t>(tiles_down, rounds) * columns, places),
                       tiles = waves * (rounds + start);
    if (tiles < least) best = rounds, least = tiles;
  }
  return best;
}

double fp64_seconds(const costs::models& l, const product_shape& p, const device_limits& device,
                    const fp64_form& f, const fp64_division& d) {
  return seconds_of(l, f, shape_of(l, p, device), d);
}

void each_fp64_division(const costs::models& l, const product_shape& p, const device_limits& device,
                        unsigned available,
                        const std::function<void(const fp64_form&, const fp64_division&, double)>& use) {
  constexpr int most_parts = 64;
  constexpr double least_k = 2 * slab_k;  // of a part
  const shape s = shape_of(l, p, device);
  const bool clusters = features_of(device).clusters;
  const auto consider = [&](const fp64_form& f, const fp64_division& d) {
    use(f, d, seconds_of(l, f, s, d));
  };
  for (const fp64_form& f : forms) {
    if ((available >> (&f - forms.data()) & 1u) == 0) continue;
    consider(f, {f.slabs, 1, 1});
    if (!f.shares) continue;
    const double tiles = tiles_of(f.tile, s);
    for (const int cluster : {1, 2, 4, 8}) {
      if (cluster > 1 && (!clusters || s.k < slab_k * f.slabs * cluster)) continue;
      if (cluster > 1) consider(f, {f.slabs, cluster, 1});
      for (const double round : {0.5, 1., 2.}) {
        const double parts = down(places_of(f, s, cluster) * round / (tiles * cluster));
        if (parts > 1 && s.k / (parts * cluster) >= least_k)
          consider(f, {f.slabs, cluster, static_cast<int>(std::min<double>(parts, most_parts))});
      }
    }
  }
}

fp64_choice choose_division(const product_shape& p, const device_limits& device, unsigned available) {
  constexpr double never = std::numeric_limits<double>::infinity();
  fp64_choice best{.seconds = never, .next_seconds = never};
  each_fp64_division(costs::models_of(device), p, device, available,
                     [&](const fp64_form& f, const fp64_division& d, double seconds) {
                       if (seconds < best.seconds) {
                         if (best.form != &f) best.next = best.form, best.next_seconds = best.seconds;
                         best.form = &f, best.division = d, best.seconds = seconds;
                       } else if (best.form != &f && seconds < best.next_seconds) {
                         best.next = &f, best.next_seconds = seconds;
                       }
                     });
  return best;
}

}  // namespace antiphase::gemms
