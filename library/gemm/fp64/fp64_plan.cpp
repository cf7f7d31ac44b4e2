// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/fp64/fp64_plan.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "library/gemm/fp64/fp64_lists.hpp"
#include "library/gemm/operands/cost_terms.hpp"

namespace antiphase::gemms {

namespace {

int outputs_of_share(const fp64_policy& p, int cluster) {
  const int of_cell = 2 * p.cell_width();
  return static_cast<int>(ceil_div(p.tile.m * p.tile.n / of_cell, cluster)) * of_cell;
}

packing packs_of(const fp64_plan& plan) {
  return packs_of(plan.problem, plan.batch, plan.turned, plan.instance->policy.cell_width());
}

// Whether lanes can address it in 32 bits: k, and the strides of lines and of k in bytes.
bool lanes_reach(const line_operand& o, std::int64_t k) {
  constexpr std::int64_t far = std::int64_t{1} << 29;  // floats
  return std::abs(o.line_stride) < far && std::abs(o.k_stride) < far && k < far;
}
// Whether tiles of that many lines have no edges, and adjacent floats can be loaded in pairs everywhere.
bool is_whole(const line_operand& o, std::int64_t lines) {
  return o.lines % lines == 0 && o.width >= 2 && o.member == nullptr;
}
// Whether elements are contiguous, along k or across.
bool side_by_side(const line_operand& o, std::int64_t k) {
  return o.along_k ? o.k_stride == 1 || k == 1 : o.line_stride == 1 || o.lines == 1;
}
// Whether the kernel takes that many k.
bool holds(const fp64_policy& how, std::int64_t k) {
  return (how.kind != kernel_kind::kept_lines || k <= most_kept_k(how)) &&
         (how.kind != kernel_kind::warp_tile || k <= most_warp_tile_k);
}
bool can(const context& where, const fp64_instance& with, const both_operands& o, std::int64_t k) {
  if (shortage_of(where.limits(), with.code) != shortage::none || !holds(with.policy, k)) return false;
  switch (with.policy.kind) {
    case kernel_kind::ring:
      return with.policy.loader != loader::tma ||
             (features_of(where.limits()).sm_90a && tma_takes(o.long_one, k) && tma_takes(o.short_one, k));
    case kernel_kind::block_tile: return true;
    case kernel_kind::warp_tile:
      if (!side_by_side(o.long_one, k) || !side_by_side(o.short_one, k)) return false;
      break;
    case kernel_kind::kept_lines:
      if (with.policy.whole && (k != most_kept_k(with.policy) || !is_whole(o.long_one, with.policy.tile.m) ||
                                !is_whole(o.short_one, with.policy.tile.n)))
        return false;
  }
  return lanes_reach(o.long_one, k) && lanes_reach(o.short_one, k);
}

// Whether TMA would bring enough rows of 16 bytes, each as slow as a long one, to be slower than copying
// warps.
bool avoids_brief_rows(const fp64_policy& how, const both_operands& o, std::int64_t k, std::int64_t members) {
  constexpr std::int64_t brief = 4;  // floats
  const bool has_brief = !o.short_one.along_k && o.short_one.lines <= brief;
  return has_brief && k > most_brief_rows / (members * ceil_div<std::int64_t>(o.long_one.lines, how.tile.m));
}

}  // namespace

const std::vector<fp64_instance>& fp64_instances(target where) {
  return instances_of<fp64_lists, fp64_instance>(where);
}

std::size_t fp64_plan::workspace() const {
  if (division.parts == 1) return 0;
  const fp64_policy& p = instance->policy;
  const auto doubles =
      static_cast<std::size_t>(outputs_of_share(p, division.cluster) + 1);  // one more: the flag
  return doubles * 8 * static_cast<std::size_t>(tiles * division.cluster * division.parts);
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
  fp64_plan plan{in_tiles(p, of, after, turned, with.policy.tile), &with, how};
  if (with.policy.kind == kernel_kind::kept_lines) {
    const std::int64_t places =
        std::int64_t{multiprocessors_of(where.limits())} * with.policy.blocks * kept_warps;
    plan.rounds = rounds > 0 ? rounds : kept_rounds(plan.along_long, plan.along_short * of.count, places);
    static_cast<tiled_plan&>(plan) =
        in_tiles(p, of, after, turned, {plan.rounds * with.policy.tile.m, with.policy.tile.n});
    plan.grid.x = static_cast<unsigned>(ceil_div<std::int64_t>(plan.tiles, kept_warps));
    plan.k_of_part = p.k();
    return plan;
  }
  const std::int64_t shares = std::int64_t{how.cluster} * how.parts,
                     slabs = ceil_div<std::int64_t>(p.k(), slab_k);
  plan.k_of_part = std::max<std::int64_t>(1, ceil_div(slabs, shares)) * slab_k;
  const std::int64_t resident = std::int64_t{multiprocessors_of(where.limits())} * with.policy.blocks;
  const bool walks = !with.policy.shares && with.policy.is_fed_by_ring();
  plan.grid.x = static_cast<unsigned>(walks ? std::min(plan.tiles, resident) : plan.tiles * shares);
  return plan;
}

namespace {
// Whether the kernel is a ring with the form's sums and a tile that is at least as wide.
bool replaces(const fp64_instance& with, const fp64_form& f) {
  const fp64_policy& how = with.policy;
  return how.is_fed_by_ring() && how.slabs == f.slabs && how.shares == f.shares && how.tile.n >= f.tile.n;
}
// Whether the kernel has the form. Kernels with epilogues are fewer: of these, one at least as wide will do.
bool has(const fp64_instance& with, const fp64_form& f) {
  if (!with.policy.finishes) return with.form == f.name;
  const bool fits = with.policy.tile.n >= f.tile.n;
  switch (f.kind) {
    case kernel_kind::kept_lines: return with.policy.kind == f.kind;
    case kernel_kind::block_tile:
    case kernel_kind::warp_tile: return with.policy.kind == f.kind && fits;
    case kernel_kind::ring: return replaces(with, f);
  }
  return false;
}
}  // namespace

// A form is available if a kernel that has it takes operands of any layout: the choice must not depend on
// layouts.
fp64_choice divide(const context& where, const problem& p, const batch& of, bool undivided) {
  const std::span<const fp64_form> forms = fp64_forms();
  unsigned available = 0;
  for (const fp64_instance& with : fp64_instances(where.kind())) {
    if (with.policy.loader == loader::tma || with.policy.finishes ||
        shortage_of(where.limits(), with.code) != shortage::none)
      continue;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const fp64_form& f = forms[i];
      const bool divides = f.slabs > 1 || f.shares;
      if (has(with, f) && !(undivided && divides) && holds(with.policy, p.k())) available |= 1u << i;
    }
  }
  return choose_division(shape_of(p, of), where.limits(), available);
}

// The form follows from the shape. Of the kernels that have it, with or without epilogue as asked, the best
// is the narrowest that is at least as wide as the form's tile; among equally wide ones, the one with TMA if
// it takes the operands. Where lanes cannot address all elements or have no epilogue, a ring takes over that
// is at least as wide and whose sums are the same.
std::optional<fp64_plan> plan_fp64(const context& where, const problem& p, const batch& of,
                                   const epilogue& after, const fp64_choice& best) {
  if (best.form == nullptr) return std::nullopt;
  const fp64_instance* with = nullptr;
  const auto better = [&](const fp64_instance& one, const fp64_instance& other, const both_operands& o) {
    if (one.policy.tile.n != other.policy.tile.n) return one.policy.tile.n < other.policy.tile.n;
    if (one.policy.kind == kernel_kind::kept_lines)
      return one.policy.held != other.policy.held ? one.policy.held < other.policy.held : one.policy.whole;
    const loader first = avoids_brief_rows(one.policy, o, p.k(), of.count) ? loader::cp_async : loader::tma;
    return one.policy.loader == first && other.policy.loader != first;
  };
  // Whether B is the long operand. For kept_lines and warp_tile C's layout decides instead of the size: C is
  // contiguous along the short operand's lines, so that a warp writes whole rows of its tile.
  const auto turned = [&](const fp64_form& form) {
    return form.kind == kernel_kind::kept_lines || form.kind == kernel_kind::warp_tile
               ? p.c.column_stride != 1 && p.c.row_stride == 1
               : p.n() > p.m();
  };
  const auto find = [&](const fp64_form& form, auto will_do) {
    const both_operands operands = operands_of(p, of, turned(form));
    for (const fp64_instance& i : fp64_instances(where.kind()))
      if (i.policy.finishes != after.is_plain() && will_do(i, form) && can(where, i, operands, p.k()) &&
          (with == nullptr || better(i, *with, operands)))
        with = &i;
    return with != nullptr;
  };
  fp64_form form = *best.form;
  if (!find(form, has)) {
    if (form.kind == kernel_kind::ring) return std::nullopt;
    form.kind = kernel_kind::ring;
    if (!find(form, replaces)) return std::nullopt;
  }
  return plan_fp64(where, p, of, after, *with, turned(form), best.division);
}

launch_counts run(const context& where, const fp64_plan& plan, std::span<std::byte> workspace, stream on) {
  const fp64_policy& with = plan.instance->policy;
  tiled_problem arguments = arguments_of(where, plan, with.tile, {with.loader, with.loader}, packs_of(plan),
                                         plan.division.cluster, plan.division.parts, workspace);
  arguments.rounds = plan.rounds;
  kernel code = plan.instance->code;
  code.cluster = plan.division.cluster;
  return where.runs_on().launch(code, plan.grid, &arguments, on);
}

}  // namespace antiphase::gemms
