// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/tf32/tf32_plan.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "library/gemm/operands/cost_terms.hpp"
#include "library/gemm/tf32/tf32_lists.hpp"

namespace antiphase::gemms {
namespace {

// in one block: a line's places are numbers of 15 bits
constexpr std::int64_t most_k_of_block = (1 << 15) - tf32_chunk;
constexpr int most_parts = 64, most_shares = 1024;  // shares of a tile; of all tiles, if they are shared

// Floats that a block of a part leaves in the workspace: its sums, and four words for each line of the tile.
constexpr std::int64_t floats_of_share(int cluster) {
  return tf32_tile.m * tf32_tile.n / cluster + 4 * (tf32_tile.m + tf32_tile.n);
}

struct tile_counts {
  std::int64_t along_long, along_short;
};
tile_counts tiles_of(std::int64_t m, std::int64_t n, bool turned) {
  return {ceil_div<std::int64_t>(turned ? n : m, tf32_tile.m),
          ceil_div<std::int64_t>(turned ? m : n, tf32_tile.n)};
}

packing packs_of(const tf32_plan& plan) {
  const problem& p = plan.problem;
  const std::int64_t of_long = plan.turned ? p.c.column_stride : p.c.row_stride,
                     of_short = plan.turned ? p.c.row_stride : p.c.column_stride;
  const bool aligned =
      of_long % 2 == 0 && plan.batch.c_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(p.c.data) % 8 == 0;
  return of_short == 1 && aligned ? packing::pairs_along_short : packing::none;
}

// How whole rows of tiles of C are stored.
struct rows_of_tiles {
  neighbours in_c = neighbours::none;
  bool by_tma = false;
  tensor_map map = {};
};
rows_of_tiles rows_in(const context& where, const tf32_plan& plan) {
  const problem& p = plan.problem;
  if (plan.instance->policy.kept_halves == 0 || (p.c.row_stride != 1 && p.c.column_stride != 1)) return {};
  const bool by_rows = p.c.column_stride == 1;
  const matrix_view<const float> c{p.c.data, p.c.rows, p.c.columns, p.c.row_stride, p.c.column_stride};
  const line_operand rows = lines_of(by_rows ? c : transposed(c), nullptr, plan.batch.c_stride);
  const std::int64_t in_row = by_rows ? p.n() : p.m();
  // The long operand's lines are rows of C unless the product is turned.
  rows_of_tiles all{.in_c = by_rows != plan.turned ? neighbours::along_short : neighbours::along_long};
  all.by_tma = rows.along_k && in_row % 4 == 0 && tma_takes(rows, in_row);
  if (all.by_tma) all.map = encode(where, rows, in_row, plan.batch.count, tf32_tile.m / 2);
  return all;
}

// How tiles are balanced over blocks that keep the short operand: a block takes a band of `rows` rows of
// tiles of one column at a time. Preparing a column takes about as long as a quarter of a tile. columns: of
// all members.
struct kept_bands {
  std::int64_t rows = 1;
  double tiles_of_block = std::numeric_limits<double>::infinity();  // including those quarters
};
kept_bands bands_of(std::int64_t along_long, std::int64_t columns, std::int64_t places) {
  constexpr double preparing = 0.25;
  kept_bands best;
  for (std::int64_t rows = 1; rows < 2 * along_long; rows *= 2) {
    const std::int64_t of_block = ceil_div(ceil_div(along_long, rows) * columns, places);
    const double tiles = static_cast<double>(of_block) *
                         (static_cast<double>(std::min(rows, along_long)) + (columns > 1 ? preparing : 0));
    if (tiles < best.tiles_of_block) best = {rows, tiles};
  }
  return best;
}

struct shape {
  product_shape product;
  std::int64_t along_long, columns;  // tiles; the latter of all members
  double tiles;
  moved_bytes moved;
  mean_layout lies;
};
shape shape_of(const product_shape& p, bool turned) {
  const tile_counts t = tiles_of(p.m, p.n, turned);
  return {.product = p,
          .along_long = t.along_long,
          .columns = t.along_short * p.count,
          .tiles = static_cast<double>(t.along_long * t.along_short * p.count),
          .moved = bytes_of(p),
          .lies = mean_layout_of(p.m, p.n, p.k)};
}
// Kernels that keep the short operand. Rows of C that begin anywhere are stored by threads.
double us_of_kept(const costs::models& l, const device_limits& device, const shape& s) {
  const costs::tf32_cost& us = l.tf32;
  const double multiprocessors = multiprocessors_of(device);
  const double blocks = std::min(1., s.tiles / multiprocessors), halves = s.product.k <= 16   ? 1
                                                                          : s.product.k <= 32 ? 2
                                                                                              : 4;
  const double of_block = bands_of(s.along_long, s.columns, multiprocessors_of(device)).tiles_of_block;
  const bool anywhere = s.product.n % 4 != 0;
  const double of_tile =
      anywhere ? us.odd_tile + halves * us.odd_half
               : (us.kept_tile + halves * us.kept_half) * (s.product.n % 8 != 0 ? us.kept_half_rows : 1);
  // TMA loads C while the previous tile is multiplied; threads read it when the sums are complete, for the
  // first tile too.
  const double adding = s.product.reads_c && !anywhere ? us.kept_read : 0,
               reading = s.product.reads_c && anywhere ? us.odd_read : 0;
  const double slower = 2048. / rates_of(device).tensor_fp16;
  const double computing =
      ((of_block - 1) * (of_tile + adding) + of_block * reading + us.kept_first * blocks) * slower;
  return us.kept_start + us.kept_deep * (halves - 1) +
         longer(computing, us_moved(l, s.moved, s.moved.all() / us.kept_rate) / cards_of(l, device));
}
// A tile's time besides its chunks: `later` for each round after the first, whose share is in `start`.
double us_of(const costs::models& l, const device_limits& device, const shape& s, const tf32_division& how) {
  const costs::tf32_cost& us = l.tf32;
  const double k = static_cast<double>(s.product.k),
               places = multiprocessors_of(device) * share_of_places(how.cluster);
  const double busy = s.tiles * how.cluster * how.parts / places, rounds = std::max(1., std::ceil(busy));
  const double chunks = std::ceil(std::ceil(k / tf32_chunk) / (how.cluster * how.parts));
  const double slower = 2048. / rates_of(device).tensor_fp16, cards = cards_of(l, device);
  const double copied = 1 + (us.threads - 1) * s.lies.either_uneven;
  // Kernels of up to 8 and 32 columns leave out products; splitting the long operand takes the rest.
  const double few = how.pieces == 0 || s.product.m > 32 ? 1 : s.product.m > 8 ? 0.67 : 0.56;
  const double computing =
      rounds * chunks * (us.chunk + us.among_all * std::min(1., busy)) * slower * copied * few +
      (rounds - 1) * us.later + (s.product.reads_c ? rounds * us.read_of_c : 0);
  const double of_c =
      (s.moved.stored + s.moved.read_of_c) * by_rows(s.moved.rows, 1, us.half_rows, us.odd_rows);
  const double moving = us_moved(l, s.moved, s.moved.all() / us.rate + of_c / us.stored) / cards +
                        // rows of 16 bytes take TMA as long as long ones
                        s.lies.brief * s.tiles * k * us.brief_row;
  return us.start + s.lies.either_uneven * us.threads_start + longer(computing, moving) +
         (how.cluster > 1 ? us.cluster : 0) + (how.parts > 1 ? us.part + us.each_part * how.parts : 0);
}
// Mean over layouts: if rows of the long operand begin anywhere, threads copy both operands.
double seconds_of(const costs::models& l, const device_limits& device, const shape& s,
                  const tf32_division& how) {
  if (how.cluster * how.parts > 1 || s.product.k <= sparse_nonzeros || s.product.k > tf32_chunk)
    return 1e-6 * us_of(l, device, s, how);
  shape copied = s;
  copied.lies.either_uneven = 1, copied.lies.brief = 0;
  const double uneven = s.lies.long_uneven;
  return 1e-6 * ((uneven < 1 ? (1 - uneven) * us_of_kept(l, device, s) : 0) +
                 (uneven > 0 ? uneven * us_of(l, device, copied, how) : 0));
}

}  // namespace

double tf32_seconds(const costs::models& l, const product_shape& p, const device_limits& device,
                    const tf32_division& how) {
  return seconds_of(l, device, shape_of(p, how.pieces > 0 || p.n > p.m), how);
}
void each_tf32_division(const costs::models& l, const product_shape& p, const device_limits& device,
                        const std::function<void(const tf32_division&, double)>& use) {
  const shape s = shape_of(p, p.n > p.m);
  const std::int64_t tiles = s.along_long * s.columns, chunks = ceil_div<std::int64_t>(p.k, tf32_chunk);
  const std::int64_t least_parts = ceil_div(p.k, k_of_tf32_share);
  const auto consider = [&](const tf32_division& how) { use(how, seconds_of(l, device, s, how)); };
  consider({1, static_cast<int>(std::min<std::int64_t>(least_parts, std::numeric_limits<int>::max()))});
  const int most = std::min(multiprocessors_of(device), most_shares);
  for (const int cluster : {1, 2, 4})
    for (int parts = 1; parts <= most_parts && tiles * cluster * parts <= most &&
                        chunks >= std::int64_t{2} * cluster * parts;
         ++parts)
      if (cluster * parts > 1 && cluster * parts >= least_parts) consider({cluster, parts});
}
tf32_choice divide_tf32(const product_shape& p, const device_limits& device) {
  tf32_choice best{{}, std::numeric_limits<double>::infinity()};
  each_tf32_division(costs::models_of(device), p, device, [&](const tf32_division& how, double seconds) {
    if (seconds < best.seconds) best = {how, seconds};
  });
  return best;
}

tf32_choice divide_tf32_in_pieces(const product_shape& p, const device_limits& device) {
  const costs::models& l = costs::models_of(device);
  const shape s = shape_of(p, true);
  const int pieces = tf32_pieces_of(p.k);
  tf32_choice best{{}, std::numeric_limits<double>::infinity()};
  const auto consider = [&](const tf32_division& how) {
    if (const double seconds = seconds_of(l, device, s, how); seconds < best.seconds) best = {how, seconds};
  };
  consider({pieces, 1, pieces});
  if (p.k <= most_k_of_block) consider({1, 1, pieces});
  if (s.tiles * pieces <= most_shares) consider({1, pieces, pieces});
  return best;
}

const std::vector<tf32_instance>& tf32_instances(target where) {
  return instances_of<tf32_lists, tf32_instance>(where);
}

std::size_t tf32_plan::workspace() const {
  if (division.parts == 1) return 0;
  return static_cast<std::size_t>((8 + 4 * floats_of_share(division.cluster)) * tiles * division.cluster *
                                  division.parts);
}

bool tf32_tiles_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most_lines = std::numeric_limits<std::int32_t>::max() - 128,
                         most_tiles = std::numeric_limits<std::int32_t>::max();
  if (p.m() > most_lines || p.n() > most_lines || p.k() > most_lines) return false;
  const tile_counts t = tiles_of(p.m(), p.n(), p.n() > p.m());
  const std::int64_t least_parts = ceil_div(p.k(), k_of_tf32_share);
  return t.along_long * t.along_short <=
         (least_parts > 1 ? most_shares / least_parts : most_tiles) / of.count;
}

bool tf32_pieces_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (std::max({p.m(), p.n(), p.k()}) > most - 128) return false;
  const tile_counts t = tiles_of(p.m(), p.n(), true);
  return t.along_long * t.along_short <= most / 4 / of.count;
}

std::size_t most_tf32_workspace(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
  if (m == 0 || n == 0 || batch == 0) return 0;
  const tile_counts t = tiles_of(m, n, n > m);
  const std::int64_t of_tile =
      std::max(ceil_div<std::int64_t>(k, tf32_chunk) / 2, ceil_div(k, k_of_tf32_share));
  if (of_tile < 2) return 0;
  const auto capped = [](std::int64_t count) { return std::min<std::int64_t>(count, most_shares); };
  const std::int64_t shares =
      capped(capped(capped(t.along_long) * capped(t.along_short)) * capped(of_tile) * capped(batch));
  return static_cast<std::size_t>((8 + 4 * floats_of_share(1)) * shares);
}

bool can_tf32(const context& where, const tf32_instance& with, const problem& p, const batch& of,
              bool turned) {
  const both_operands o = operands_of(p, of, turned);
  if (shortage_of(where.limits(), with.code) != shortage::none) return false;
  if (with.policy.loader == loader::cp_async) return true;
  if (const int most = with.policy.columns; most > 0 && most < tf32_tile.n && o.short_one.lines > most)
    return false;
  if (with.policy.kept_halves > 0)
    return p.k() > sparse_nonzeros && p.k() <= with.policy.kept_halves * tf32_stage_k / 2 &&
           tma_takes(o.long_one, p.k()) && o.long_one.along_k == with.policy.long_along_k;
  return tma_takes(o.long_one, p.k()) && tma_takes(o.short_one, p.k()) &&
         o.long_one.along_k == with.policy.long_along_k && o.short_one.along_k == with.policy.short_along_k;
}

tf32_plan plan_tf32(const context& where, const problem& p, const batch& of, const tf32_instance& with,
                    bool turned, const tf32_division& how) {
  tf32_plan plan{in_tiles(p, of, {}, turned, tf32_tile), &with, how};
  const std::int64_t shares = std::int64_t{how.cluster} * how.parts;
  const auto part_of = [&](std::int64_t count) {
    return ceil_div(ceil_div<std::int64_t>(p.k(), tf32_chunk), count) * tf32_chunk;
  };
  plan.k_of_part = part_of(shares);
  plan.k_of_piece = part_of(std::max(how.pieces, 1));
  const std::int64_t resident = multiprocessors_of(where.limits());
  if (with.policy.kept_halves > 0) {
    plan.rows_of_band = bands_of(plan.along_long, plan.along_short * of.count, resident).rows;
    plan.bands = ceil_div(plan.along_long, plan.rows_of_band);
    plan.grid.x = static_cast<unsigned>(std::min(plan.bands * plan.along_short * of.count, resident));
    return plan;
  }
  plan.grid.x = static_cast<unsigned>(shares > 1 ? plan.tiles * shares : std::min(plan.tiles, resident));
  return plan;
}

std::optional<tf32_plan> plan_tf32(const context& where, const problem& p, const batch& of,
                                   const tf32_division& how) {
  const bool turned = how.pieces > 0 || p.n() > p.m(), alone = how.cluster * how.parts == 1;
  const tf32_instance* with = nullptr;
  // Kernels that keep the short operand come first, the smallest that fits K before others; then those with
  // TMA.
  const auto rank = [](const tf32_policy& one) {
    if (one.columns > 0) return one.columns < tf32_tile.n ? 3 * tf32_chunk - one.columns : 0;
    return one.loader == loader::cp_async ? 0 : one.kept_halves == 0 ? 1 : 1 + tf32_chunk - one.kept_halves;
  };
  for (const tf32_instance& i : tf32_instances(where.kind())) {
    if (i.policy.kept_halves > 0 && !alone) continue;
    if (i.policy.columns > 0 ? how.pieces == 0 : alone && how.pieces > 1) continue;
    if (can_tf32(where, i, p, of, turned) && (with == nullptr || rank(i.policy) > rank(with->policy)))
      with = &i;
  }
  if (with == nullptr) return std::nullopt;
  return plan_tf32(where, p, of, *with, turned, how);
}

launch_counts run(const context& where, const tf32_plan& plan, std::span<std::byte> workspace,
                  std::uint64_t* recomputed, stream on) {
  const rows_of_tiles rows = rows_in(where, plan);
  const tf32_policy& how = plan.instance->policy;
  // threads read a kept operand themselves
  const brought_by by{how.loader, how.kept_halves > 0 ? loader::lanes : how.loader};
  const tf32_problem arguments{
      .tiled = arguments_of(where, plan, tf32_tile, by, packs_of(plan), plan.division.cluster,
                            plan.division.parts, workspace),
      .floor = std::ldexp(static_cast<float>(std::max<std::int64_t>(plan.problem.k(), 5)), -125),
      .recomputed = recomputed,
      .in_c = rows.in_c,
      .tma_stores = rows.by_tma,
      .out_map = rows.map,
      .rows_of_band = static_cast<std::uint32_t>(plan.rows_of_band),
      .bands = divider(static_cast<std::uint32_t>(std::max<std::int64_t>(plan.bands, 1))),
      .units = static_cast<std::uint32_t>(plan.bands * plan.along_short * plan.batch.count),
      .chunks_of_piece = static_cast<int>(plan.k_of_piece / tf32_chunk)};
  kernel code = plan.instance->code;
  code.cluster = plan.division.cluster;
  return where.runs_on().launch(code, plan.grid, &arguments, on);
}

}  // namespace antiphase::gemms
