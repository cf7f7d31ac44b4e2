// SPDX-License-Identifier: Apache-2.0
// explain(): what was chosen for a product, as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <antiphase/gemm.hpp>
#include <cmath>
#include <limits>

#include "src/gemm/choice/choose.hpp"

namespace antiphase {
namespace gemms {
namespace {

// describe(): what a plan launches, besides its name and workspace.
void describe(gemm_choice& to, const product_plan& p) {
  const product_wave &first = p.waves.front(), &last = p.waves.back();
  for (const product_wave& wave : p.waves) to.code.emplace_back(wave.with.code.name);
  to.tile = {split_tile, split_tile};
  to.tile_k = split_step;
  to.stages = first.with.how.stages;
  to.blocks = first.grid.count();
  to.cluster = first.with.how.cluster;
  if (to.cluster > 1)
    to.why.push_back(fmt::format(
        "C has fewer tiles than the device multiprocessors: {} blocks share each, a part of K for each block",
        to.cluster));
  if (p.waves.size() > 1)
    to.why.push_back(
        fmt::format("{} tiles are left over after rounds of one for each multiprocessor: {} blocks share "
                    "each, in a second launch",
                    last.end - last.first, last.with.how.cluster));
  if (p.k_piece < p.what.k()) to.why.push_back(fmt::format("K is taken in pieces of {}", p.k_piece));
}
void describe(gemm_choice& to, const short_plan& p) {
  to.code.emplace_back(p.code.name);
  to.tile = short_tile(p.arguments.lane_bits, p.arguments.steps);
  to.tile_k = short_k;
  to.stages = 1;
  to.blocks = p.grid.count();
}
void say_how_shared(gemm_choice& to) {
  if (to.cluster > 1)
    to.why.push_back(fmt::format("{} blocks share each tile of C, a part of K for each block", to.cluster));
  if (to.parts > 1)
    to.why.push_back(fmt::format("K is taken in {} parts, whose sums meet in the workspace", to.parts));
}
void describe(gemm_choice& to, const fp64_plan& p) {
  to.code.emplace_back(p.with->code.name);
  to.tile = p.turned ? extent2{p.with->how.tile.n, p.with->how.tile.m} : p.with->how.tile;
  to.tile_k = p.with->how.is_fed_by_ring() ? slab_k * p.with->how.slabs : slab_k / 2;
  to.stages = std::max(p.with->how.stages, 1);
  to.blocks = p.grid.count();
  to.cluster = p.how.cluster;
  to.parts = p.how.parts;
  if (p.with->how.by == loader::cp_async && p.with->how.finishes)
    to.why.emplace_back(
        "warps of their own copy the operands, as in all kernels of fp64 that have a ring and know "
        "epilogues");
  else if (p.with->how.by == loader::cp_async)
    to.why.emplace_back(
        "warps of their own copy the operands: TMA (compute capability 9.0) takes rows at "
        "multiples of 16 bytes, and is left "
        "not many of 16 bytes alone");
  if (p.with->how.kind == kernel_kind::kept_lines)
    to.why.push_back(fmt::format(
        "each warp keeps 32 lines of an operand in registers, and walks over {} tiles of C", p.rounds));
  if (p.with->how.kind == kernel_kind::block_tile)
    to.why.push_back(fmt::format("the {} warps of a block take {} k each by turns, straight into registers",
                                 p.with->how.slabs, held_k));
  if (p.with->how.kind == kernel_kind::warp_tile)
    to.why.emplace_back(
        "each warp has a tile of its own and all of K, straight from memory to registers and back");
  say_how_shared(to);
}
void describe(gemm_choice& to, const tf32_plan& p) {
  to.code.emplace_back(p.with->code.name);
  to.tile = p.turned ? extent2{tf32_tile.n, tf32_tile.m} : tf32_tile;
  to.tile_k = tf32_stage_k;
  to.stages = p.with->how.stages();
  to.blocks = p.grid.count();
  to.cluster = p.how.cluster;
  to.parts = p.how.parts;
  if (p.with->how.by == loader::cp_async)
    to.why.emplace_back("threads copy the operands, since TMA would ask for rows at multiples of 16 bytes");
  say_how_shared(to);
}
void describe(gemm_choice& to, const dots_plan& p) {
  to.code.emplace_back(p.with->code.name);
  const extent2 tile{p.lines(), p.how.for_vector() ? 1 : p.how.square};
  to.tile = p.turned ? extent2{tile.n, tile.m} : tile;
  to.tile_k = p.how.k_at_once();
  to.stages = 1;
  to.blocks = p.grid.count();
  if (!p.how.for_vector())
    to.why.push_back(fmt::format("{} threads share {} of C, a part of K for each", p.how.slots,
                                 p.how.square == 1 ? "each element" : "each 2 x 2 elements"));
}
void describe(gemm_choice& to, const finish_plan& p) {
  to.kernel = "finish";
  to.tile = finish_tile;
  to.blocks = finish_blocks(p.what, p.of);
}
void describe(gemm_choice& to, const plan& p) {
  to.code.emplace_back(p.what.code.name);
  to.tile = p.what.how.tile;
  to.tile_k = p.what.how.tile_k;
  to.stages = p.what.how.stages;
  to.blocks = p.grid.count();
}

// Whether prepared operands are used.
void say_prepared(gemm_choice& to, const choice& c) {
  if (!c.of.ready.any()) return;
  const auto* const plan = std::get_if<product_plan>(&c.plan);
  const auto taken = [&](const ready_lines& one) {
    return plan != nullptr && one.parts != nullptr &&
           (plan->ready_a == one.parts || plan->ready_b == one.parts);
  };
  const bool a = taken(c.of.ready.a), b = taken(c.of.ready.b);
  to.why.push_back(
      a || b ? fmt::format("{} prepared, so the split pass leaves {} out",
                           a && b ? "A and B are"
                           : a    ? "A is"
                                  : "B is",
                           a && b ? "them" : "it")
             : fmt::format("policy {} has no use for what was prepared: it reads the operand", to.kernel));
}

}  // namespace

std::string sentence(const candidate& c, const objection& o, const request& r) {
  switch (o.why) {
    case objection::reason::lacks_feature: return lacks(r.device(), c.is.needs).value();
    case objection::reason::no_kernel: return "this build has no kernel for it";
    case objection::reason::does_not_fit: return refusal(r.device(), o.code).value();
    case objection::reason::long_k: return fmt::format("it is for K up to {}, K is {}", short_k, r.what.k());
    case objection::reason::many_lines:
      return fmt::format(
          "it is for up to {} rows or columns of C or up to {} million multiply-adds, and C is {} x {} with "
          "K = {}",
          dots_lines, dots_lanes_most_work / 1e6, r.what.m(), r.what.n(), r.what.k());
    case objection::reason::many_tiles:
      return fmt::format("C is {} x {}: more than {} tiles", r.what.m(), r.what.n(),
                         std::numeric_limits<std::int32_t>::max());
    case objection::reason::pointers:
      return "it takes no arrays of pointers: policies fp64, fp64-dots and fp64-short do";
    case objection::reason::input_is_c:
      return "it stores sums in C before the epilogue, whose gradient reads C: policies fp64, fp64-dots and "
             "fp64-short do both at once";
    case objection::reason::many_parts:
      return fmt::format("K = {} takes parts of up to {} each, which C of {} x {} has too many tiles for",
                         r.what.k(), k_of_tf32_share, r.what.m(), r.what.n());
    case objection::reason::unknown_sums: break;
  }
  return fmt::format(
      "nothing is promised of how the Tensor Cores of {} round, which has compute capability {}; it runs if "
      "asked for",
      r.device().name, compute_capability(r.device()));
}

gemm_choice described(const choice& c) {
  gemm_choice to;
  to.kernel = c.chosen->is.name;
  to.workspace = c.workspace();
  to.bound = c.bound;
  to.asked = c.asked;
  to.predicted = c.seconds();
  to.tuning = tuning_text(c.of.device(), c.given);
  if (c.by_name)
    to.why.push_back(fmt::format("policy {} was asked for", c.chosen->is.name));
  else if (c.chosen->is.ladder == nullptr)
    to.why.push_back(fmt::format("precision fp32: {}", c.chosen->why));
  else {
    if (!c.of.multiplies()) to.why.emplace_back("there is nothing to multiply: C is scaled, if anything");
    if (c.accuracy == precision::strict)
      to.why.emplace_back("precision strict: IEEE multiply-adds in the order of k");
    if (!c.only_finishes()) to.why.emplace_back(c.chosen->why);
  }
  if (!c.by_name)
    for (std::size_t i = 0; i < c.considered_count; ++i)
      to.considered.push_back(
          {std::string(c.considered[i].what->is.name), c.considered[i].seconds, c.considered[i].factor});
  for (std::size_t i = 0; i < c.refusal_count; ++i) {
    const choice::refused& r = c.refusals[i];
    to.refused.push_back(fmt::format("{}: {}", r.what->is.name, sentence(*r.what, r.why, c.of)));
  }
  if (c.by_members())
    to.why.push_back(
        fmt::format("the {} products of the batch are computed one after the other", c.of.of.count));
  if (c.finishes_behind()) to.why.emplace_back("the epilogue is a launch of its own");
  std::visit([&](const auto& plan) { describe(to, plan); }, c.plan);
  if (!to.code.empty()) to.why.push_back(fmt::format("kernel {}", fmt::join(to.code, ", ")));
  if (const auto& how = c.of.division;
      std::holds_alternative<fp64_plan>(c.plan) && how && how->next != nullptr)
    to.why.push_back(
        fmt::format("of its forms {} is predicted to take {:.4g} us, and {}, the next, {:.4g} us",
                    how->form->name, 1e6 * how->seconds, how->next->name, 1e6 * how->next_seconds));
  say_prepared(to, c);
  return to;
}

}  // namespace gemms

std::string to_text(const gemm_bound& bound) {
  if (std::isinf(bound.units)) return "no known bound";
  if (bound.units == 0 && bound.absolute == 0) return "0";
  const double times = bound.absolute / gemm_bound::underflow;
  return fmt::format("{:.7g} u |A||B| + {}2^-150", bound.units,
                     times == 1 ? "" : fmt::format("{:.10g} x ", times));
}

gemm_choice explain(const context& where, const gemm_problem& p, const gemm_options& options) {
  return described(choose(where, p, options));
}

}  // namespace antiphase
