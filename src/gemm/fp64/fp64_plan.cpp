// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/fp64/fp64_plan.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "src/gemm/laws/cost.hpp"
#include "src/gemm/registry.hpp"

namespace antiphase::gemms {

// What the copy engine takes: rows in order, each as far from the one before as at least its length.
bool tma_takes(const line_operand& o, std::int64_t k) {
  constexpr std::int64_t farthest = std::int64_t{1} << 37, most = std::int64_t{1} << 31;  // floats; indices
  const std::int64_t in_row = o.along_k ? k : o.lines, rows = o.along_k ? o.lines : k,
                     apart = o.along_k ? o.line_stride : o.k_stride;
  return o.member == nullptr && o.width == 4 && in_row < most && rows < most &&
         (rows == 1 || (apart >= in_row && apart < farthest)) && o.batch_stride >= 0 &&
         o.batch_stride < farthest;
}
tensor_map encode(const context& where, const line_operand& o, std::int64_t k, std::int64_t batch,
                  int lines) {
  const auto in_row = static_cast<std::uint64_t>(o.along_k ? k : o.lines),
             rows = static_cast<std::uint64_t>(o.along_k ? o.lines : k);
  // bytes; of a stride that is never taken
  const std::uint64_t least = ceil_div<std::uint64_t>(in_row, 4) * 16;
  const std::uint64_t apart =
      rows > 1 ? static_cast<std::uint64_t>(o.along_k ? o.line_stride : o.k_stride) * 4 : least;
  const std::uint64_t members = o.batch_stride > 0 ? static_cast<std::uint64_t>(batch) : 1;
  return where.runs_on().encode(
      {.data = o.data,
       .element_bytes = sizeof(float),
       .dimensions = 3,
       .extent = {in_row, rows, members},
       .stride = {sizeof(float), apart, members > 1 ? static_cast<std::uint64_t>(o.batch_stride) * 4 : apart},
       .box = {slab_k, static_cast<std::uint32_t>(o.along_k ? lines : slab_k), 1},
       .pattern = swizzle::bytes_128});
}

namespace {

int outputs_of_share(const fp64_policy& p, int cluster) {
  const int of_cell = 2 * p.cell_width();
  return static_cast<int>(ceil_div(p.tile.m * p.tile.n / of_cell, cluster)) * of_cell;
}

packing packs_of(const fp64_plan& plan) {
  return packs_of(plan.what, plan.of, plan.turned, plan.with->how.cell_width());
}

// What lanes can count in 32 bits: k, and bytes from line to line and from k to k.
bool lanes_reach(const line_operand& o, std::int64_t k) {
  constexpr std::int64_t far = std::int64_t{1} << 29;  // floats
  return std::abs(o.line_stride) < far && std::abs(o.k_stride) < far && k < far;
}
// Whether tiles of so many lines have no edges, and every two floats side by side can be read at once.
bool is_whole(const line_operand& o, std::int64_t lines) {
  return o.lines % lines == 0 && o.width >= 2 && o.member == nullptr;
}
// Whether elements lie side by side, along k or across.
bool side_by_side(const line_operand& o, std::int64_t k) {
  return o.along_k ? o.k_stride == 1 || k == 1 : o.line_stride == 1 || o.lines == 1;
}
// Whether the kernel has room for so many k.
bool holds(const fp64_policy& how, std::int64_t k) {
  return (how.by != loader::kept || k <= most_kept_k(how)) &&
         (how.by != loader::alone || k <= most_alone_k);
}
bool can(const context& where, const fp64_instance& with, const both_operands& o, std::int64_t k) {
  if (shortage_of(where.limits(), with.code) != shortage::none || !holds(with.how, k)) return false;
  switch (with.how.by) {
    case loader::engine:
      return features_of(where.limits()).sm_90a && tma_takes(o.long_one, k) &&
             tma_takes(o.short_one, k);
    case loader::copiers:
    case loader::direct: return true;
    case loader::alone:
      if (!side_by_side(o.long_one, k) || !side_by_side(o.short_one, k)) return false;
      break;
    case loader::lanes: break;
    case loader::kept:
      if (with.how.whole && (k != most_kept_k(with.how) || !is_whole(o.long_one, with.how.tile.m) ||
                             !is_whole(o.short_one, with.how.tile.n)))
        return false;
  }
  return lanes_reach(o.long_one, k) && lanes_reach(o.short_one, k);
}

// Whether the copy engine would bring so many rows of 16 bytes, which take it as long as long ones do, that
// copying warps are faster.
bool avoids_brief_rows(const fp64_policy& how, const both_operands& o, std::int64_t k,
                       std::int64_t members) {
  constexpr std::int64_t brief = 4;  // floats
  const bool has_brief = !o.short_one.along_k && o.short_one.lines <= brief;
  return has_brief && k > most_brief_rows / (members * ceil_div<std::int64_t>(o.long_one.lines, how.tile.m));
}

}  // namespace

const std::vector<fp64_instance>& fp64_instances(target where) {
  return instances_of<fp64_instance>(where);
}

packing packs_of(const problem& p, const batch& of, bool turned, int wide) {
  const bool one_line = (turned ? p.m() : p.n()) <= 1;
  const std::int64_t of_long = turned ? p.c.column_stride : p.c.row_stride,
                     of_short = turned ? p.c.row_stride : p.c.column_stride;
  const auto aligned = [&](std::int64_t apart, int count) {
    const bool begins =
        of.by_pointers() ||
        (of.c_stride % count == 0 &&
         reinterpret_cast<std::uintptr_t>(p.c.data) % (4u * static_cast<unsigned>(count)) == 0);
    return begins && apart % count == 0;
  };
  if (of_short == 1 && !one_line && aligned(of_long, wide)) return packing::along_short;
  if (of_short == 1 && !one_line && aligned(of_long, 2)) return packing::pairs_along_short;
  if (of_long == 1 && aligned(of_short, 2)) return packing::along_long;
  return packing::none;
}

std::size_t fp64_plan::workspace() const {
  if (how.parts == 1) return 0;
  const fp64_policy& p = with->how;
  const auto doubles = static_cast<std::size_t>(outputs_of_share(p, how.cluster) + 1);  // the flag
  return doubles * 8 * static_cast<std::size_t>(tiles * how.cluster * how.parts);
}

bool fp64_tiles_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most_lines = std::numeric_limits<std::int32_t>::max() - 128,
                         most_tiles = std::numeric_limits<std::int32_t>::max();
  if (p.m() > most_lines || p.n() > most_lines) return false;
  return ceil_div<std::int64_t>(p.m(), 8) * ceil_div<std::int64_t>(p.n(), 8) <= most_tiles / of.count;
}

// A plan has at most two rounds of blocks, 64 parts and a part for every 64 k; an output of a tile takes less
// than three doubles with the tile's flag.
std::size_t most_fp64_workspace(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
  static constexpr std::int64_t most = std::int64_t{24} << 20;
  const auto whole = [](std::int64_t extent) {
    return extent < most ? ceil_div<std::int64_t>(extent, 64) * 64 : most;
  };
  const std::int64_t parts = std::min<std::int64_t>(k / (2 * slab_k), 64);
  if (parts < 2 || m == 0 || n == 0 || batch == 0) return 0;
  const std::int64_t outputs = std::min(whole(m) * whole(n), most) * std::min(batch, most);
  return static_cast<std::size_t>(std::min(most, std::min(outputs, most) * parts * 24));
}

bool can_fp64(const context& where, const fp64_instance& with, const problem& p, const batch& of,
                bool turned) {
  return can(where, with, operands_of(p, of, turned), p.k());
}

fp64_plan plan_fp64(const context& where, const problem& p, const batch& of, const epilogue& after,
                        const fp64_instance& with, bool turned, const fp64_division& how, int rounds) {
  fp64_plan plan{in_tiles(p, of, after, turned, with.how.tile), &with, how};
  if (with.how.by == loader::kept) {
    const std::int64_t places =
        std::int64_t{multiprocessors_of(where.limits())} * with.how.blocks * kept_warps;
    plan.rounds = rounds > 0 ? rounds : kept_rounds(plan.along_long, plan.along_short * of.count, places);
    static_cast<tiled_plan&>(plan) =
        in_tiles(p, of, after, turned, {plan.rounds * with.how.tile.m, with.how.tile.n});
    plan.grid.x = static_cast<unsigned>(ceil_div<std::int64_t>(plan.tiles, kept_warps));
    plan.k_of_part = p.k();
    return plan;
  }
  const std::int64_t shares = std::int64_t{how.cluster} * how.parts,
                     slabs = ceil_div<std::int64_t>(p.k(), slab_k);
  plan.k_of_part = std::max<std::int64_t>(1, ceil_div(slabs, shares)) * slab_k;
  const std::int64_t resident = std::int64_t{multiprocessors_of(where.limits())} * with.how.blocks;
  const bool walks = !with.how.shares && with.how.is_fed_by_ring();
  plan.grid.x = static_cast<unsigned>(walks ? std::min(plan.tiles, resident) : plan.tiles * shares);
  return plan;
}

namespace {
// Whether a ring feeds the kernel, and its sums are those of the form, whose tile is no wider.
bool replaces(const fp64_instance& with, const fp64_form& f) {
  const fp64_policy& how = with.how;
  return how.is_fed_by_ring() && how.slabs == f.slabs && how.shares == f.shares && how.tile.n >= f.tile.n;
}
// Whether the kernel has the form; of those that know epilogues, which are fewer, one as wide.
bool has(const fp64_instance& with, const fp64_form& f) {
  if (!with.how.finishes) return with.form == f.name;
  const bool fits = with.how.tile.n >= f.tile.n;
  switch (f.feed) {
    case kernel_kind::lanes: return false;
    case kernel_kind::kept: return with.how.by == loader::kept;
    case kernel_kind::direct: return with.how.by == loader::direct && fits;
    case kernel_kind::alone: return with.how.by == loader::alone && fits;
    case kernel_kind::ring: return replaces(with, f);
  }
  return false;
}
}  // namespace

// A form is there if any operands will do for a kernel that has it: the choice must not depend on how they
// lie.
fp64_choice divide(const context& where, const problem& p, const batch& of, bool undivided) {
  const std::span<const fp64_form> forms = fp64_forms();
  unsigned available = 0;
  for (const fp64_instance& with : fp64_instances(where.kind())) {
    if (with.how.by == loader::engine || with.how.finishes ||
        shortage_of(where.limits(), with.code) != shortage::none)
      continue;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const fp64_form& f = forms[i];
      const bool divides = f.slabs > 1 || f.shares;
      if (has(with, f) && !(undivided && divides) && holds(with.how, p.k())) available |= 1u << i;
    }
  }
  return choose_division(shape_of(p, of), where.limits(), available);
}

// The form follows from the shape. Of the kernels that have it and know what is to be done, the best is the
// narrowest that is as wide as the form's tile, and of those the one that the copy engine feeds, if it takes
// the operands. Where lanes cannot reach all elements, or know no epilogues, a ring feeds a kernel as wide
// whose sums are the same.
std::optional<fp64_plan> plan_fp64(const context& where, const problem& p, const batch& of,
                                       const epilogue& after, const fp64_choice& best) {
  if (best.form == nullptr) return std::nullopt;
  const fp64_instance* with = nullptr;
  const auto better = [&](const fp64_instance& one, const fp64_instance& other, const both_operands& o) {
    if (one.how.tile.n != other.how.tile.n) return one.how.tile.n < other.how.tile.n;
    if (one.how.by == loader::kept)
      return one.how.stages != other.how.stages ? one.how.stages < other.how.stages : one.how.whole;
    const loader first =
        avoids_brief_rows(one.how, o, p.k(), of.count) ? loader::copiers : loader::engine;
    return one.how.by == first && other.how.by != first;
  };
  // Whether B is the long operand. What is kept are lines along which C lies, so that a warp writes whole
  // rows of its tile.
  const auto turned = [&](const fp64_form& form) {
    return form.feed == kernel_kind::kept || form.feed == kernel_kind::alone
               ? p.c.column_stride != 1 && p.c.row_stride == 1
               : p.n() > p.m();
  };
  const auto find = [&](const fp64_form& form, auto will_do) {
    const both_operands operands = operands_of(p, of, turned(form));
    for (const fp64_instance& i : fp64_instances(where.kind()))
      if (i.how.finishes != after.is_plain() && will_do(i, form) && can(where, i, operands, p.k()) &&
          (with == nullptr || better(i, *with, operands)))
        with = &i;
    return with != nullptr;
  };
  fp64_form form = *best.form;
  if (!find(form, has)) {
    if (form.feed == kernel_kind::ring) return std::nullopt;
    form.feed = kernel_kind::ring;
    if (!find(form, replaces)) return std::nullopt;
  }
  return plan_fp64(where, p, of, after, *with, turned(form), best.how);
}

tiled_plan in_tiles(const problem& p, const batch& of, const epilogue& after, bool turned, extent2 tile) {
  tiled_plan plan{.what = p, .of = of, .after = after, .turned = turned};
  plan.along_long = ceil_div<std::int64_t>(turned ? p.n() : p.m(), tile.m);
  plan.along_short = ceil_div<std::int64_t>(turned ? p.m() : p.n(), tile.n);
  plan.tiles = plan.along_long * plan.along_short * of.count;
  return plan;
}

tiled_problem arguments_of(const context& where, const tiled_plan& plan, extent2 tile, brought_by by,
                            packing packs, int cluster, int parts, std::span<std::byte> workspace) {
  static std::atomic<std::uint64_t> calls = 0x616E'7469'0000'0000ull;
  const problem& p = plan.what;
  const both_operands o = operands_of(p, plan.of, plan.turned);
  // Of an operand that the engine cannot take, which others read then, there is none.
  const auto map_of = [&](const line_operand& one, loader loader, int lines) {
    return loader == loader::engine && tma_takes(one, p.k())
               ? encode(where, one, p.k(), plan.of.count, lines)
               : tensor_map{};
  };
  const ending end = ending_of(p, plan.after);
  const auto flags = static_cast<std::size_t>(plan.tiles * cluster * parts);
  auto* const arrived = reinterpret_cast<std::uint64_t*>(workspace.data());
  return {
      .long_map = map_of(o.long_one, by.long_one, tile.m),
      .short_map = map_of(o.short_one, by.short_one, tile.n),
      .of_long = o.long_one,
      .of_short = o.short_one,
      .c = p.c.data,
      .c_member = plan.of.c,
      .long_stride = plan.turned ? p.c.column_stride : p.c.row_stride,
      .short_stride = plan.turned ? p.c.row_stride : p.c.column_stride,
      .batch_stride = plan.of.c_stride,
      .packs = packs,
      .rounds = 1,
      .k = p.k(),
      .k_of_part = plan.k_of_part,
      .tiles_along_long = divider(static_cast<std::uint32_t>(std::max<std::int64_t>(plan.along_long, 1))),
      .tiles_along_short = divider(static_cast<std::uint32_t>(std::max<std::int64_t>(plan.along_short, 1))),
      .tiles = static_cast<std::uint32_t>(plan.tiles),
      .parts = parts,
      .call = parts > 1 ? ++calls : 0,
      .partial = parts > 1 ? reinterpret_cast<double*>(arrived + flags) : nullptr,
      .arrived = arrived,
      .end = plan.turned ? transposed(end) : end};
}

launch_counts run(const context& where, const fp64_plan& plan, std::span<std::byte> workspace, stream on) {
  const fp64_policy& with = plan.with->how;
  tiled_problem arguments = arguments_of(where, plan, with.tile, {with.by, with.by}, packs_of(plan),
                                          plan.how.cluster, plan.how.parts, workspace);
  arguments.rounds = plan.rounds;
  kernel code = plan.with->code;
  code.cluster = plan.how.cluster;
  return where.runs_on().launch(code, plan.grid, &arguments, on);
}

}  // namespace antiphase::gemms
