// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/stream/stream_plan.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "src/gemm/registry.hpp"

namespace antiphase::gemms {
namespace {

stream_operand lines_of(const matrix_view<const float>& v, std::int64_t batch_stride) {
  stream_operand o{v.data, v.rows, v.row_stride, v.column_stride, batch_stride, true, 1};
  const auto in_row = [&](std::int64_t extent, std::int64_t stride) { return stride == 1 || extent <= 1; };
  const bool along_k = in_row(v.columns, v.column_stride), along_lines = in_row(v.rows, v.row_stride);
  o.along_k = along_k || (!along_lines && std::abs(v.column_stride) <= std::abs(v.row_stride));
  const std::int64_t apart = o.along_k ? v.row_stride : v.column_stride;
  const bool one_row = (o.along_k ? v.rows : v.columns) <= 1;
  const bool aligned = reinterpret_cast<std::uintptr_t>(v.data) % 16 == 0 && (one_row || apart % 4 == 0) && batch_stride % 4 == 0;
  o.width = (along_k || along_lines) && aligned ? 4 : 1;
  return o;
}

}  // namespace

both_operands operands_of(const problem& p, const batch& of, bool turned) {
  const stream_operand a = lines_of(p.a, of.a_stride), b = lines_of(transposed(p.b), of.b_stride);
  return turned ? both_operands{b, a} : both_operands{a, b};
}

// What the copy engine takes: rows in order, each as far from the one before as at least its length.
bool engine_takes(const stream_operand& o, std::int64_t k) {
  constexpr std::int64_t farthest = std::int64_t{1} << 37, most = std::int64_t{1} << 31;  // floats; indices
  const std::int64_t in_row = o.along_k ? k : o.lines, rows = o.along_k ? o.lines : k, apart = o.along_k ? o.line_stride : o.k_stride;
  return o.width == 4 && in_row < most && rows < most && (rows == 1 || (apart >= in_row && apart < farthest)) && o.batch_stride >= 0 &&
         o.batch_stride < farthest;
}
tensor_map encode(const context& where, const stream_operand& o, std::int64_t k, std::int64_t batch, int lines) {
  const auto in_row = static_cast<std::uint64_t>(o.along_k ? k : o.lines), rows = static_cast<std::uint64_t>(o.along_k ? o.lines : k);
  const std::uint64_t least = ceil_div<std::uint64_t>(in_row, 4) * 16;  // bytes; of a stride that is never taken
  const std::uint64_t apart = rows > 1 ? static_cast<std::uint64_t>(o.along_k ? o.line_stride : o.k_stride) * 4 : least;
  const std::uint64_t members = o.batch_stride > 0 ? static_cast<std::uint64_t>(batch) : 1;
  return where.runs_on().encode({.data = o.data,
                                 .element_bytes = sizeof(float),
                                 .dimensions = 3,
                                 .extent = {in_row, rows, members},
                                 .stride = {sizeof(float), apart, members > 1 ? static_cast<std::uint64_t>(o.batch_stride) * 4 : apart},
                                 .box = {stream_step, static_cast<std::uint32_t>(o.along_k ? lines : stream_step), 1},
                                 .pattern = swizzle::bytes_128});
}

namespace {

int outputs_of_share(const stream_policy& p, int cluster) {
  const int of_cell = p.tile.n / p.warps.n == 8 ? 4 : 8;
  return static_cast<int>(ceil_div(p.tile.m * p.tile.n / of_cell, cluster)) * of_cell;
}

stream_packs packs_of(const stream_plan& plan) {
  const problem& p = plan.what;
  const stream_policy& how = plan.with->how;
  const bool one_line = (plan.turned ? p.m() : p.n()) <= 1;
  const std::int64_t of_long = plan.turned ? p.c.column_stride : p.c.row_stride,
                     of_short = plan.turned ? p.c.row_stride : p.c.column_stride;
  const int wide = how.tile.n / how.warps.n == 8 ? 2 : 4;
  const auto aligned = [&](std::int64_t apart, int count) {
    return apart % count == 0 && plan.of.c_stride % count == 0 &&
           reinterpret_cast<std::uintptr_t>(p.c.data) % (4u * static_cast<unsigned>(count)) == 0;
  };
  if (of_short == 1 && !one_line && aligned(of_long, wide)) return stream_packs::along_short;
  if (of_short == 1 && !one_line && aligned(of_long, 2)) return stream_packs::pairs_along_short;
  if (of_long == 1 && aligned(of_short, 2)) return stream_packs::along_long;
  return stream_packs::none;
}

std::int64_t tiles_of(const problem& p, const batch& of, bool turned, extent2 tile) {
  const std::int64_t long_one = turned ? p.n() : p.m(), short_one = turned ? p.m() : p.n();
  return ceil_div<std::int64_t>(long_one, tile.m) * ceil_div<std::int64_t>(short_one, tile.n) * of.count;
}

}  // namespace

const std::vector<stream_instance>& stream_instances(target where) { return instances_of<stream_instance>(where); }

std::size_t stream_plan::workspace() const {
  if (how.parts == 1) return 0;
  const stream_policy& p = with->how;
  const auto doubles = static_cast<std::size_t>(outputs_of_share(p, how.cluster) + p.tile.m + p.tile.n + 1);
  return doubles * 8 * static_cast<std::size_t>(tiles * how.cluster * how.parts);
}

bool stream_tiles_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most_lines = std::numeric_limits<std::int32_t>::max() - 128, most_tiles = std::numeric_limits<std::int32_t>::max();
  if (p.m() > most_lines || p.n() > most_lines) return false;
  return ceil_div<std::int64_t>(p.m(), 8) * ceil_div<std::int64_t>(p.n(), 8) <= most_tiles / of.count;
}

// A plan has at most two rounds of blocks, 64 parts and a part for every 64 k; an output of a 32 x 8 tile takes less than three doubles
// with what goes along with the tile.
std::size_t most_stream_workspace(std::int64_t m, std::int64_t n, std::int64_t k) {
  static constexpr std::int64_t most = std::int64_t{24} << 20;
  const auto whole = [](std::int64_t extent) { return extent < most ? ceil_div<std::int64_t>(extent, 64) * 64 : most; };
  const std::int64_t parts = std::min<std::int64_t>(k / (2 * stream_step), 64);
  if (parts < 2 || m == 0 || n == 0) return 0;
  return static_cast<std::size_t>(std::min(most, std::min(whole(m) * whole(n), most) * parts * 24));
}

bool can_stream(const context& where, const stream_instance& with, const problem& p, const batch& of, bool turned) {
  const both_operands o = operands_of(p, of, turned);
  if (shortage_of(where.limits(), with.code) != shortage::none) return false;
  if (with.how.by == stream_loader::threads) return true;
  return features_of(where.limits()).sm_90a && engine_takes(o.long_one, p.k()) && engine_takes(o.short_one, p.k()) &&
         (of.count == 1 || (of.a_stride > 0 && of.b_stride > 0));
}

stream_plan plan_stream(const context& where, const problem& p, const batch& of, const stream_instance& with, bool turned,
                        const stream_division& how) {
  stream_plan plan{p, of, &with, turned, how};
  plan.tiles = tiles_of(p, of, turned, with.how.tile);
  const std::int64_t shares = std::int64_t{how.cluster} * how.parts, slabs = ceil_div<std::int64_t>(p.k(), stream_step);
  plan.k_of_part = std::max<std::int64_t>(1, ceil_div(slabs, shares)) * stream_step;
  const std::int64_t resident = std::int64_t{std::max(1, where.limits().multiprocessors)} * with.how.blocks;
  plan.grid.x = static_cast<unsigned>(with.how.shares ? plan.tiles * shares : std::min(plan.tiles, resident));
  return plan;
}

// A form is there if any operands will do for a kernel that has it: the choice must not depend on how they lie.
stream_division_choice divide(const context& where, const problem& p, const batch& of) {
  const auto has = [](const stream_instance& i, const stream_form& f) {
    return i.how.slabs == f.slabs && i.how.shares == f.shares && i.how.tile.n >= f.tile.n;
  };
  unsigned available = 0;
  for (std::size_t i = 0; i < stream_forms().size(); ++i)
    for (const stream_instance& with : stream_instances(where.kind()))
      if (with.how.by == stream_loader::threads && has(with, stream_forms()[i]) && shortage_of(where.limits(), with.code) == shortage::none)
        available |= 1u << i;
  return choose_division(p.m(), p.n(), p.k(), of.count, p.beta != 0, where.limits(), available);
}

// The form follows from the shape. Of the kernels that have it, the best is the narrowest that is as wide as the form's tile, and of those
// the one that the copy engine feeds, if it takes the operands.
std::optional<stream_plan> plan_stream(const context& where, const problem& p, const batch& of, const stream_division_choice& best) {
  const bool turned = p.n() > p.m();
  if (best.form == nullptr) return std::nullopt;
  const stream_instance* with = nullptr;
  const auto better = [&](const stream_instance& one, const stream_instance& other) {
    if (one.how.tile.n != other.how.tile.n) return one.how.tile.n < other.how.tile.n;
    return one.how.by == stream_loader::engine && other.how.by != stream_loader::engine;
  };
  for (const stream_instance& i : stream_instances(where.kind())) {
    if (i.how.slabs != best.how.slabs || i.how.shares != best.form->shares || i.how.tile.n < best.form->tile.n) continue;
    if (can_stream(where, i, p, of, turned) && (with == nullptr || better(i, *with))) with = &i;
  }
  if (with == nullptr) return std::nullopt;
  return plan_stream(where, p, of, *with, turned, best.how);
}

launch_counts run(const context& where, const stream_plan& plan, std::span<std::byte> workspace, stream on) {
  static std::atomic<std::uint64_t> calls = 0x616E'7469'0000'0000ull;
  const stream_policy& with = plan.with->how;
  const problem& p = plan.what;
  const both_operands o = operands_of(p, plan.of, plan.turned);
  const bool engine = with.by == stream_loader::engine;
  const std::int64_t along_long = ceil_div<std::int64_t>(o.long_one.lines, with.tile.m),
                     along_short = ceil_div<std::int64_t>(o.short_one.lines, with.tile.n);
  const auto flags = static_cast<std::size_t>(plan.tiles * plan.how.cluster * plan.how.parts);
  auto* const arrived = reinterpret_cast<std::uint64_t*>(workspace.data());
  const stream_problem arguments{.long_map = engine ? encode(where, o.long_one, p.k(), plan.of.count, with.tile.m) : tensor_map{},
                                 .short_map = engine ? encode(where, o.short_one, p.k(), plan.of.count, with.tile.n) : tensor_map{},
                                 .of_long = o.long_one,
                                 .of_short = o.short_one,
                                 .c = p.c.data,
                                 .long_stride = plan.turned ? p.c.column_stride : p.c.row_stride,
                                 .short_stride = plan.turned ? p.c.row_stride : p.c.column_stride,
                                 .batch_stride = plan.of.c_stride,
                                 .packs = packs_of(plan),
                                 .alpha = p.alpha,
                                 .beta = p.beta,
                                 .k = p.k(),
                                 .k_of_part = plan.k_of_part,
                                 .tiles_along_long = static_cast<std::uint32_t>(along_long),
                                 .tiles_along_short = static_cast<std::uint32_t>(along_short),
                                 .tiles = static_cast<std::uint32_t>(plan.tiles),
                                 .parts = plan.how.parts,
                                 .call = plan.how.parts > 1 ? ++calls : 0,
                                 .partial = plan.how.parts > 1 ? reinterpret_cast<double*>(arrived + flags) : nullptr,
                                 .arrived = arrived};
  kernel code = plan.with->code;
  code.cluster = plan.how.cluster;
  return where.runs_on().launch(code, plan.grid, &arguments, on);
}

}  // namespace antiphase::gemms
