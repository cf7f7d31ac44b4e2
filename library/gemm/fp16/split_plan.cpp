// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/fp16/split_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm/bound.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "library/gemm/fp16/fp16_lists.hpp"
#include "library/gemm/fp16/pass/split_pass.hpp"
#include "library/gemm/operands/checks.hpp"

namespace antiphase::gemms {

namespace {

const product_instance* find_product(target where, multiplier by, int cluster, bool ordered = false) {
  for (const product_instance& i : instances_of<fp16_lists, product_instance>(where))
    if (i.policy.multiplier == by && i.policy.cluster == cluster && i.policy.ordered == ordered) return &i;
  return nullptr;
}

const product_instance& require_product(target where, multiplier by, int cluster, bool ordered) {
  if (const product_instance* const found = find_product(where, by, cluster, ordered)) return *found;
  throw not_supported(fmt::format("this build has no split product for clusters of {} blocks", cluster));
}

std::int64_t tiles_along(std::int64_t extent) { return ceil_div<std::int64_t>(extent, split_tile); }

// Blocks that share a tile, each with at least a chunk of K. Larger clusters find room on fewer
// multiprocessors, so they have to leave more of them idle to pay (measured on an H200: 4 blocks for 16
// tiles, 2 for 64).
int blocks_per_tile(std::int64_t tiles, std::int64_t chunks, int multiprocessors) {
  for (const int blocks : {8, 4, 2}) {
    const int busy = blocks == 2 ? multiprocessors : multiprocessors * 2 / blocks;
    if (chunks >= blocks && tiles * blocks <= busy) return blocks;
  }
  return 1;
}

int blocks_of_cluster(multiplier by, std::int64_t tiles, std::int64_t chunks, int multiprocessors) {
  return by == multiplier::warps ? 1 : blocks_per_tile(tiles, chunks, multiprocessors);
}

// Persistent blocks take tiles in rounds, as many at a time as there are multiprocessors. What the last round
// would leave over is left to clusters of blocks that share a tile, in a launch of its own, if there are so
// few tiles, and K is so long, that the launch costs less than it saves: about as much as eight chunks of K
// (by the time of a chunk and of a launch).
constexpr std::int64_t chunks_of_a_launch = 8;
std::int64_t tiles_left_over(std::int64_t tiles, std::int64_t chunks, int multiprocessors) {
  const std::int64_t left = tiles % multiprocessors;
  if (left == tiles || left == 0) return 0;
  const int cluster = blocks_per_tile(left, chunks, multiprocessors);
  return chunks - ceil_div<std::int64_t>(chunks, cluster) >= chunks_of_a_launch ? left : 0;
}

// Lines of an operand that are the rows of a view.
operand_lines lines_of_rows(const matrix_view<const float>& v) {
  return {v.data, v.rows, v.columns, v.row_stride, v.column_stride};
}
tensor_map encode_parts(const context& where, const split_operand& o, const split_layout& at) {
  const auto elements = static_cast<std::uint64_t>(at.line_elements());
  return where.runs_on().encode({.data = o.parts,
                                 .element_bytes = sizeof(f16),
                                 .dimensions = 2,
                                 .extent = {elements, static_cast<std::uint64_t>(at.lines)},
                                 .stride = {sizeof(f16), elements * sizeof(f16)},
                                 .box = {2 * split_step, split_tile},
                                 .pattern = swizzle::bytes_128});
}

}  // namespace

const kernel* product_kernel(target where, multiplier by) {
  const product_instance* const found = find_product(where, by, 1);
  return found == nullptr ? nullptr : &found->code;
}

bool product_tiles_fit(const problem& p) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return p.m() <= most - split_tile && p.n() <= most - split_tile &&
         tiles_along(p.m()) * tiles_along(p.n()) <= most;
}

product_rounds rounds_of(multiplier by, std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors) {
  const std::int64_t tiles = tiles_along(m) * tiles_along(n), chunks = ceil_div<std::int64_t>(k, split_chunk);
  const int cluster = blocks_of_cluster(by, tiles, chunks, multiprocessors);
  const double all = static_cast<double>(tiles * cluster) / multiprocessors,
               of_block = std::ceil(static_cast<double>(chunks) / cluster);
  if (all <= 1) return {1, 0, of_block, all};
  const double whole = std::floor(all);
  return {whole, all - whole, of_block, 1};
}

// The split pass reads operands and writes two halves of each element; of short lines its instructions take
// longer than that. Then the product reads them, a chunk of K at a time, and C goes while the next tile is
// multiplied.
double split_seconds(const costs::models& l, const product_shape& p, const device_limits& device,
                     multiplier by) {
  const costs::fp16_cost& us = l.fp16;
  const costs::fp16_multiply& of = by == multiplier::warpgroups ? us.wgmma : us.mma;
  const double cards = cards_of(l, device), m = static_cast<double>(p.m), n = static_cast<double>(p.n),
               k = static_cast<double>(p.k);
  const mean_layout lies = mean_layout_of(p.m, p.n, p.k);
  const auto pass_of = [&](double lines, double uneven) {
    return 2 * 4 * k * lines * (1 + (us.across - 1) / 2) * (1 + (us.odd_pass - 1) * uneven) / of.pass_rate;
  };
  const double line = p.k <= split_brief_k ? us.brief_line : us.line;
  const double pass = longer(pass_of(m, lies.a_uneven) + pass_of(n, lies.b_uneven), (m + n) * line) / cards;

  const product_rounds work = rounds_of(by, p.m, p.n, p.k, multiprocessors_of(device));
  const double rounds = work.whole + (work.left > 0 ? of.left + (1 - of.left) * work.left : 0);
  const double chunk =
      of.chunk * (of.alone + (1 - of.alone) * work.busy) * (2048. / rates_of(device).tensor_fp16);
  const bool shared = work.chunks < std::ceil(k / split_chunk);
  const double multiply = rounds * (work.chunks * chunk + of.tail) + (shared ? us.cluster : 0);
  const double adds = p.reads_c ? of.adds : 1;
  // Rows that begin anywhere are stored in sectors where the tile is whole, and one by one at C's edges.
  const double whole =
      std::floor(m / split_tile) * std::floor(n / split_tile) * split_tile * split_tile / (m * n);
  const double odd = (p.reads_c ? us.adds_odd : us.odd_rows) * (whole + (1 - whole) * us.edges);
  const moved_bytes moved = bytes_of(p);
  const double slower = by_rows(moved.rows, adds, std::max(us.half_rows, adds), odd);
  const moved_bytes of_c{
      .stored = moved.stored, .read_of_c = moved.read_of_c, .operands = 0, .rows = moved.rows};
  const double move = us_moved(l, of_c, (of_c.stored + of_c.read_of_c) * slower / of.stored) / cards;
  return 1e-6 * (of.start + pass + longer(multiply, move) + (p.reads_c ? rounds * us.read_of_c : 0));
}

product_plan plan_product(const context& where, const problem& p, multiplier by) {
  return plan_product_of(where, with_rows_together(p), by);
}

// The sums of earlier pieces wait in C, which beta could not reach if it belonged to a residual.
bool ends_in_product(const problem& p, const epilogue& after) {
  return is_brief(after) && (after.residual.data == nullptr || p.k() <= k_of_a_piece);
}

product_plan plan_product_of(const context& where, const problem& what, multiplier by, const ending& after,
                             bool ordered) {
  const std::int64_t rows = tiles_along(what.m()), columns = tiles_along(what.n()), tiles = rows * columns;
  const std::int64_t k_piece = std::min(what.k(), k_of_a_piece);
  const int multiprocessors = std::max(1, where.limits().multiprocessors);
  const std::int64_t chunks = ceil_div<std::int64_t>(k_piece, split_chunk),
                     left_over = by != multiplier::warpgroups || ordered
                                     ? 0
                                     : tiles_left_over(tiles, chunks, multiprocessors);
  product_plan plan{
      what, k_piece, static_cast<std::int32_t>(rows), static_cast<std::int32_t>(columns), multiprocessors,
      {},   after};
  const auto add_wave = [&](std::int64_t first, std::int64_t end) {
    const int cluster = ordered ? 1 : blocks_of_cluster(by, end - first, chunks, multiprocessors);
    const std::int64_t blocks =
        cluster > 1 ? (end - first) * cluster : std::min<std::int64_t>(end - first, multiprocessors);
    plan.waves.push_back({require_product(where.kind(), by, cluster, ordered),
                          static_cast<std::int32_t>(first),
                          static_cast<std::int32_t>(end),
                          {static_cast<unsigned>(blocks), 1, 1}});
  };
  add_wave(0, tiles - left_over);
  if (left_over > 0) add_wave(tiles - left_over, tiles);
  return plan;
}

const std::vector<product_instance>& product_instances(target where) {
  return instances_of<fp16_lists, product_instance>(where);
}

launch_counts run(const context& where, const product_plan& plan, std::span<std::byte> workspace,
                  std::uint64_t* recomputed, stream on) {
  const multiplier by = plan.by();
  const bool tensors = by != multiplier::warps;
  std::byte* const split_b_at = workspace.data() + plan.split_a().bytes();
  std::byte* const uncertain = split_b_at + plan.split_b().bytes();
  launch_counts total;
  for (std::int64_t first = 0; first < plan.problem.k(); first += plan.k_piece) {
    const std::int64_t k = std::min(plan.k_piece, plan.problem.k() - first);
    problem piece = plan.problem;
    piece.a = {&plan.problem.a(0, first), plan.problem.m(), k, plan.problem.a.row_stride,
               plan.problem.a.column_stride};
    piece.b = {&plan.problem.b(first, 0), k, plan.problem.n(), plan.problem.b.row_stride,
               plan.problem.b.column_stride};
    if (first > 0) piece.beta = 1;
    ending after = first + k == plan.problem.k() ? plan.after : ending_of(piece, {});
    after.beta = piece.beta;
    const split_layout left{plan.problem.m(), k}, right{plan.problem.n(), k};
    const split_operand a = lay_out_split(workspace.data(), left), b = lay_out_split(split_b_at, right);
    product_problem arguments{.tensor_a = tensors ? encode_parts(where, a, left) : tensor_map{},
                              .tensor_b = tensors ? encode_parts(where, b, right) : tensor_map{},
                              .split_a = a,
                              .split_b = b,
                              .problem = {piece, after},
                              .rows = plan.rows,
                              .columns = plan.columns,
                              .first = 0,
                              .end = 0,
                              .chunks = static_cast<std::int32_t>(ceil_div<std::int64_t>(k, split_chunk)),
                              .uncertain = {reinterpret_cast<std::uint32_t*>(uncertain),
                                            reinterpret_cast<std::uint16_t*>(uncertain + plan.count_bytes())},
                              .recomputed = recomputed};
    const split_launch split =
        plan_split(where.kind(), lines_of_rows(piece.a), lines_of_rows(transposed(piece.b)), a, b,
                   features_of(where.limits()).sm_90a);
    total += where.runs_on().launch(split.kernel, split.grid, &split.arguments, on);
    for (const product_wave& wave : plan.waves) {
      arguments.first = wave.first;
      arguments.end = wave.end;
      total += where.runs_on().launch(wave.instance.code, wave.grid, &arguments, on);
    }
  }
  return total;
}

}  // namespace antiphase::gemms
