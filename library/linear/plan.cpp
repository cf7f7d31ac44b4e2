// SPDX-License-Identifier: Apache-2.0
// The choice among the kernels of linear layers, none of which changes a bit of the result.
#include "library/linear/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <limits>
#include <optional>

#include "core/names.hpp"
#include "library/costs/models.hpp"
#include "library/linear/linear_lists.hpp"

namespace antiphase::linears {
namespace {

constexpr std::int64_t most_tiles = std::numeric_limits<std::int32_t>::max();

// Tiles of rows x columns; of groups, at most so many.
std::int64_t tiles_of(const linear_problem& p, int rows, int columns) {
  const std::int64_t across = ceil_div<std::int64_t>(p.n, columns);
  return p.group_ends != nullptr ? (p.m / rows + p.members) * across
                                 : ceil_div<std::int64_t>(p.m, rows) * across * p.members;
}

// Along k, or across it: rows are neighbours.
enum class lies { along_k, across_k };
lies layout_of(const linear_operand& o) { return o.k_stride == 1 ? lies::along_k : lies::across_k; }
// Whether pieces of 16 bytes can be copied. A stride along an extent of 1 does not matter.
bool is_aligned(const linear_operand& o, std::int64_t rows, std::int64_t k, std::int64_t members) {
  const bool along = layout_of(o) == lies::along_k;
  const std::int64_t lines = along ? rows : k;
  return (along || o.row_stride == 1) && reinterpret_cast<std::uintptr_t>(o.data) % 16 == 0 &&
         (lines == 1 || (along ? o.row_stride : o.k_stride) % 8 == 0) &&
         (members == 1 || o.member_stride % 8 == 0);
}
// Why TMA does not bring the operand; nothing if it does.
std::optional<std::string> unsuited(const char* name, const linear_operand& o, std::int64_t rows,
                                    std::int64_t k, std::int64_t members) {
  if (!is_aligned(o, rows, k, members))
    return fmt::format(
        "{} has rows from {} on, {} elements apart, and {} between neighbours along k: tiles "
        "take contiguous rows at multiples of 16 bytes",
        name, o.data, o.row_stride, o.k_stride);
  const bool along = layout_of(o) == lies::along_k;
  if ((along ? rows : k) > 1 && (along ? o.row_stride : o.k_stride) < (along ? k : rows))
    return fmt::format("{} has rows that overlap, {} elements apart", name,
                       along ? o.row_stride : o.k_stride);
  if (std::max({o.row_stride, o.k_stride, o.member_stride}) >= std::int64_t{1} << 38)
    return fmt::format("{} has rows that are 2^39 bytes apart or more", name);
  return std::nullopt;
}
bool fits(const tile_policy& how, const linear_problem& p) {
  return how.x_across == (layout_of(p.x) == lies::across_k) &&
         how.w_across == (layout_of(p.w) == lies::across_k);
}

bool is_shared(const linear_operand& o, const linear_problem& p) {
  return p.members == 1 || o.member_stride == 0;
}
// Whether every fourth element of each row is at a multiple of the size of four.
bool lies_by_fours(const linear_problem& p, const void* data, std::int64_t row_stride,
                   std::int64_t member_stride, std::int64_t members) {
  return reinterpret_cast<std::uintptr_t>(data) % (4 * size_of(p.out)) == 0 &&
         (p.m == 1 || row_stride % 4 == 0) && (members == 1 || member_stride % 4 == 0);
}
arguments arguments_of(const linear_problem& p) {
  arguments a{};
  a.x = p.x, a.w = p.w, a.y = p.y, a.residual = p.residual;
  a.bias = p.bias, a.bias_member_stride = p.bias_member_stride, a.group_ends = p.group_ends;
  a.m = static_cast<int>(p.m), a.n = static_cast<int>(p.n), a.k = static_cast<int>(p.k);
  a.members = static_cast<int>(p.members);
  a.blocks = static_cast<int>(ceil_div<std::int64_t>(p.k, depth));
  a.x_step = p.group_ends == nullptr && !is_shared(p.x, p), a.w_step = !is_shared(p.w, p);
  if (a.x_step == 0) a.x.member_stride = 0;
  if (a.w_step == 0) a.w.member_stride = 0;
  a.out = p.out, a.function = p.function;
  const std::int64_t members = p.group_ends != nullptr ? 1 : p.members;
  a.by_fours = p.n % 4 == 0 && lies_by_fours(p, p.y.data, p.y.row_stride, p.y.member_stride, members) &&
               lies_by_fours(p, p.residual.data, p.residual.row_stride, p.residual.member_stride, members);
  return a;
}

// Rows that have no neighbour still have a stride.
std::uint64_t bytes_apart(std::int64_t stride, std::int64_t least) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(stride, ceil_div<std::int64_t>(least, 8) * 8)) * 2;
}
// An operand in boxes of 64 elements along and `lines` across its rows in memory.
tensor_layout layout_of_map(const linear_operand& o, std::int64_t rows, std::int64_t k, std::int64_t members,
                            int lines) {
  const auto number = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  const bool along = layout_of(o) == lies::along_k;
  const std::uint64_t apart = along ? bytes_apart(o.row_stride, k) : bytes_apart(o.k_stride, rows);
  return {.data = o.data,
          .dimensions = 3,
          .extent = {number(along ? k : rows), number(along ? rows : k), number(members)},
          .stride = {0, apart, members > 1 ? number(2 * o.member_stride) : apart},
          .box = {depth, static_cast<std::uint32_t>(lines), 1},
          .pattern = swizzle::bytes_128};
}
void encode_maps(const executor& on, const linear_problem& p, const tile_policy& how, int slot_blocks,
                 arguments& a) {
  const std::int64_t rows = 64 * how.groups;
  a.loaded_rows = static_cast<int>(
      how.x_across || how.cluster > 1 ? rows : std::min(rows, ceil_div<std::int64_t>(p.m, 8) * 8));
  a.whole_blocks = p.k % depth == 0;
  a.x_map = on.encode(layout_of_map(p.x, p.m, p.k, a.x_step == 0 ? 1 : p.members,
                                    how.x_across ? depth : a.loaded_rows / how.cluster));
  tensor_layout w =
      layout_of_map(p.w, p.n, p.k, a.w_step == 0 ? 1 : p.members, how.w_across ? depth : how.columns);
  if (!how.w_across && slot_blocks > 1) {  // at once
    w.dimensions = 4;
    w.extent[3] = w.extent[2], w.stride[3] = w.stride[2], w.box[3] = 1;
    w.extent[2] = a.whole_blocks != 0 ? w.extent[0] / depth : 1;
    w.stride[2] = a.whole_blocks != 0 ? 2 * depth : w.stride[1];
    w.box[2] = static_cast<std::uint32_t>(a.whole_blocks != 0 ? slot_blocks : 1);
    if (a.whole_blocks != 0) w.extent[0] = depth;
  }
  a.w_map = on.encode(w);
}

// Blocks of 64 k that a slot of tile_product holds.
int slot_blocks_of(const tile_policy& how) {
  const int bytes = (64 * how.groups + how.columns) * 2 * depth;
  return bytes >= 16384 ? 1 : bytes >= 12288 ? 2 : 4;
}

// Rows of X of a member, or of a group in the mean.
std::int64_t rows_of(const linear_problem& p) {
  return p.group_ends != nullptr ? ceil_div(p.m, std::max<std::int64_t>(1, p.members)) : p.m;
}
// A W that blocks read again and again, so that what it takes to bring it from memory matters little.
bool is_small_w(const linear_problem& p) { return p.n * p.k <= std::int64_t{1} << 21; }

// The predicted time, which decides nothing but the tile: waves of blocks, each of which takes what a
// multiprocessor takes to bring, to multiply or to wait for its slots.
double seconds_of(const costs::linear_cost& us, const linear_problem& p, const tile_policy& how,
                  int multiprocessors) {
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const std::int64_t of_group = rows_of(p), whole = 64 * how.groups;
  const double blocks = number(ceil_div<std::int64_t>(p.k, depth)), line = 2 * depth * blocks;
  const double rows =
      number(how.cluster > 1 ? whole : std::min(whole, ceil_div<std::int64_t>(of_group, 8) * 8));
  const std::int64_t at_once = multiprocessors / how.cluster * how.cluster,
                     tiles = ceil_div(of_group, whole) * p.members * how.cluster *
                             ceil_div<std::int64_t>(p.n, how.columns * how.cluster);
  double tile =
      std::max({(rows + how.columns) * line / us.intake,
                number(whole * std::max(how.columns, 32)) * depth * blocks / us.multiply, us.step * blocks});
  if (2 * tiles > multiprocessors)  // neighbors are at work, too
    tile = std::max(tile, 2 * (rows / how.cluster + how.columns) * line / us.couple);
  if (how.groups == 2)
    tile = std::max(tile, (2 * (64 + how.columns) + rows + how.columns) * line / us.shared);
  const double waves = number(ceil_div(tiles, std::max<std::int64_t>(1, at_once))),
               of_memory = number(p.n * p.k * p.members) * 2 / us.memory;
  // Two warpgroups hide more of each other's waits than one with a tile of the same size, where both fill the
  // device. Tiles one below the other that share a W from memory do not stay together.
  const double alone = (how.groups == 1 && of_group >= 1024 ? 1.01 : 1) *
                       (of_group > whole && of_memory > waves * tile ? 1.02 : 1);
  return 1e-6 * alone *
         (us.start + std::max(waves * tile, of_memory) +
          waves * us.store * (1 + how.groups * how.columns / 128.));
}

linear_plan tile_plan(const executor& on, const linear_problem& p, const tile_policy& how,
                      const kernel& code) {
  const int rows = 64 * how.groups;
  linear_plan plan{code, {}, arguments_of(p)};
  plan.arguments.down = static_cast<int>(ceil_div<std::int64_t>(p.m, rows));
  const int columns = how.columns * how.cluster;
  plan.arguments.across = static_cast<int>(ceil_div<std::int64_t>(p.n, columns));
  encode_maps(on, p, how, slot_blocks_of(how), plan.arguments);
  plan.grid.x = static_cast<unsigned>(
      how.cluster * std::min<std::int64_t>(tiles_of(p, rows, columns),
                                           std::max(1, on.limits().multiprocessors / how.cluster)));
  return plan;
}
// True if an X along k, and a W that lies so, come by pieces of 16 bytes. Groups are members of W alone.
bool comes_by_pieces(const linear_problem& p, lies w) {
  return layout_of(p.x) == lies::along_k && layout_of(p.w) == w &&
         is_aligned(p.x, p.m, p.k, p.group_ends != nullptr ? 1 : p.members) &&
         is_aligned(p.w, p.n, p.k, p.members);
}
bool suits(const mma_policy& how, const linear_problem& p) {
  return !how.whole_pieces || comes_by_pieces(p, how.w_across ? lies::across_k : lies::along_k);
}
linear_plan mma_plan(const linear_problem& p, const mma_policy& how, const kernel& code) {
  linear_plan plan{code, {}, arguments_of(p)};
  plan.arguments.down = static_cast<int>(ceil_div<std::int64_t>(p.m, how.tile));
  plan.arguments.across = static_cast<int>(ceil_div<std::int64_t>(p.n, how.tile));
  plan.arguments.rows_aligned = comes_by_pieces(p, lies::along_k);
  plan.grid.x = static_cast<unsigned>(tiles_of(p, how.tile, how.tile));
  return plan;
}

constexpr device_features needs_of_tiles{.bulk_copies = true, .wgmma = true, .sm_90a = true},
    needs_of_mma{.cp_async = true, .mma_sync = true};

// Why no tile takes the problem on this device; nothing if all do.
std::optional<std::string> tiles_refuse(const executor& on, const linear_problem& p) {
  if (auto why = lacks(on.limits(), needs_of_tiles)) return why;
  if (p.k == 0) return "there is nothing to multiply: k is 0";
  if (p.group_ends != nullptr && layout_of(p.x) == lies::across_k)
    return "a group of rows may begin anywhere, but tiles of an X across k begin at multiples of 16 bytes";
  if (auto why = unsuited("X", p.x, p.m, p.k, p.group_ends != nullptr ? 1 : p.members)) return why;
  return unsuited("W", p.w, p.n, p.k, p.members);
}

// The kernel of that name, or the one that fits: large tiles where there are enough of them. On an H200, 128
// tiles of 128 x 128 on 132 multiprocessors take 0.64 of the time of small ones, 32 of them 1.8 of it.
const mma_instance& mma_of(const executor& on, const linear_problem& p, std::string_view name) {
  const mma_instance* best = nullptr;
  for (const mma_instance& i : mma_instances(on.kind())) {
    if (i.policy.of_bf16 != (p.in == element::bf16)) continue;
    if (name_in_options(i.code) == name) return i;
    const int tile = i.policy.tile;
    if (best == nullptr || (suits(i.policy, p) && rows_of(p) > tile / 2 &&
                            3 * tiles_of(p, tile, tile) >= 2 * std::int64_t{on.limits().multiprocessors}))
      best = &i;
  }
  if (best == nullptr) throw not_supported("linear: this build has no kernel for it");
  return *best;
}

bool is_empty(const linear_problem& p) { return p.m == 0 || p.n == 0 || p.members == 0; }
linear_plan overlapping(linear_plan plan, early_start how) {
  plan.code.overlaps_previous = how != early_start::none;
  plan.arguments.w_complete = how == early_start::loads;
  return plan;
}

}  // namespace

std::string_view name_in_options(const kernel& k) {
  return std::string_view(k.name).substr(std::string_view("linear.").size());
}
const std::vector<tile_instance>& tile_instances(target where) {
  return instances_of<linear_lists, tile_instance>(where);
}
const std::vector<mma_instance>& mma_instances(target where) {
  return instances_of<linear_lists, mma_instance>(where);
}

std::vector<std::string> kernel_names(target where, element in) {
  std::vector<std::string> names;
  const auto add = [&](const auto& instances) {
    for (const auto& i : instances)
      if (i.policy.of_bf16 == (in == element::bf16)) names.emplace_back(name_in_options(i.code));
  };
  add(tile_instances(where));
  add(mma_instances(where));
  return names;
}

// Measured on an H200: launches gain up to a fifth, except where several small tiles share a W that comes
// from memory: they drift apart, and W is read more than once. A W of a gigabyte loses 3 %.
early_start early_start_of(const linear_problem& p, const tile_policy& how, bool w_complete) {
  const std::int64_t rows = rows_of(p), of_w = p.n * p.k;
  const bool alone = rows <= 64 * how.groups,
             drifts = !alone && !is_small_w(p) && (rows > 256 || of_w > std::int64_t{1} << 22);
  if ((drifts && how.groups * how.columns < 256) || of_w > std::int64_t{1} << 27) return early_start::none;
  return w_complete && alone ? early_start::loads : early_start::launch;
}

linear_plan plan_of(const executor& on, const linear_problem& p, const tile_policy& how, const kernel& code) {
  return tile_plan(on, p, how, code);
}
linear_plan plan_of(const executor&, const linear_problem& p, const mma_policy& how, const kernel& code) {
  return mma_plan(p, how, code);
}

linear_plan plan_of(const executor& on, const linear_problem& p, const linear_options& options) {
  const bool any = options.kernel == "auto";
  const tile_instance* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  const costs::linear_cost& us = costs::models_of(on.limits()).linear;
  for (const tile_instance& i : tile_instances(on.kind())) {
    if (i.policy.of_bf16 != (p.in == element::bf16)) continue;
    if (!any && name_in_options(i.code) != options.kernel) continue;
    if (any && (!fits(i.policy, p) || (i.policy.groups > 1 && p.m <= 64) ||
                (i.policy.cluster > 1 && (p.m <= 64 || !is_small_w(p)))))
      continue;
    const double seconds = seconds_of(us, p, i.policy, std::max(1, on.limits().multiprocessors));
    if (seconds < least) best = &i, least = seconds;
  }
  const mma_instance& mma = mma_of(on, p, options.kernel);
  const bool by_mma = options.kernel == name_in_options(mma.code);
  if (best == nullptr && !by_mma && !any) {
    std::vector<std::string> known = kernel_names(on.kind(), p.in);
    known.emplace_back("auto");
    refuse_name("kernel of linear layers", options.kernel, known);
  }
  if (is_empty(p)) return {best != nullptr ? best->code : mma.code, {0, 0, 0}, {}, 0};
  if (tiles_of(p, 64, 8) > most_tiles)
    throw not_supported(
        fmt::format("linear: {} members of {} x {} have too many tiles", p.members, p.m, p.n));
  const std::optional<std::string> refused =
      by_mma                  ? "another kernel is asked for"
      : best == nullptr       ? "this build has no tiles"
      : fits(best->policy, p) ? tiles_refuse(on, p)
                              : "it takes X and W that lie otherwise: along k, or across it (m, n)";
  if (!refused) {
    linear_plan plan = tile_plan(on, p, best->policy, best->code);
    plan.seconds = least;
    return overlapping(plan, early_start_of(p, best->policy, options.overlap));
  }
  if (!any && !by_mma) throw not_supported(fmt::format("linear, kernel {}: {}", options.kernel, *refused));
  if (const auto why = lacks(on.limits(), needs_of_mma)) throw not_supported("linear: " + *why);
  if (!suits(mma.policy, p))
    throw not_supported(
        fmt::format("linear, kernel {}: it takes rows of X at multiples of 16 bytes, contiguous along k, and "
                    "W likewise{}",
                    options.kernel, mma.policy.w_across ? ", across k" : ""));
  const tile_policy alike{true, mma.policy.tile / 64, mma.policy.tile};
  return overlapping(mma_plan(p, mma.policy, mma.code), early_start_of(p, alike, false));
}

}  // namespace antiphase::linears
