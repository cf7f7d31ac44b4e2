// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/split/split_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm/bound.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "src/gemm/registry.hpp"
#include "src/gemm/request.hpp"
#include "src/gemm/split/split_pass.hpp"

namespace antiphase::gemms {

namespace {

const product_instance* find_product(target where, multiplier by, int cluster) {
  for (const product_instance& i : instances_of<product_instance>(where))
    if (i.how.by == by && i.how.cluster == cluster) return &i;
  return nullptr;
}

const product_instance& require_product(target where, multiplier by, int cluster) {
  if (const product_instance* const found = find_product(where, by, cluster)) return *found;
  throw not_supported(fmt::format("this build has no split product for clusters of {} blocks", cluster));
}

std::int64_t tiles_along(std::int64_t extent) { return ceil_div<std::int64_t>(extent, split_tile); }

// Blocks that share a tile, each with at least a chunk of K. Larger clusters find room on fewer multiprocessors, so they have to leave more
// of them idle to pay (measured on an H200: 4 blocks for 16 tiles, 2 for 64).
int blocks_per_tile(std::int64_t tiles, std::int64_t chunks, int multiprocessors) {
  for (const int blocks : {8, 4, 2}) {
    const int busy = blocks == 2 ? multiprocessors : multiprocessors * 2 / blocks;
    if (chunks >= blocks && tiles * blocks <= busy) return blocks;
  }
  return 1;
}

int blocks_of_cluster(multiplier by, std::int64_t tiles, std::int64_t chunks, int multiprocessors) {
  return by == multiplier::split_mma ? 1 : blocks_per_tile(tiles, chunks, multiprocessors);
}

// Persistent blocks take tiles in rounds, as many at a time as there are multiprocessors. What the last round would leave over is left to
// clusters of blocks that share a tile, in a launch of its own, if there are so few tiles, and K is so long, that the launch costs less
// than it saves: about as much as eight chunks of K (by the time of a chunk and of a launch).
constexpr std::int64_t chunks_of_a_launch = 8;
std::int64_t tiles_left_over(std::int64_t tiles, std::int64_t chunks, int multiprocessors) {
  const std::int64_t left = tiles % multiprocessors;
  if (left == tiles || left == 0) return 0;
  const int cluster = blocks_per_tile(left, chunks, multiprocessors);
  return chunks - ceil_div<std::int64_t>(chunks, cluster) >= chunks_of_a_launch ? left : 0;
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

// One launch for the lines of both operands, none where neither has any to split.
struct lines_to_split {
  operand_lines from;
  split_operand to;
  bool done = false;  // or not wanted
};
launch_counts split_into(const context& where, lines_to_split one, lines_to_split other, stream on) {
  if (one.done && other.done) return {};
  for (lines_to_split* const side : {&one, &other})
    if (side->done) side->from = {nullptr, 0, side->from.k, 0, 1}, side->to.lines = 0;
  const split_launch split = plan_split(where.kind(), one.from, other.from, one.to, other.to, features_of(where.limits()).sm_90a);
  return where.runs_on().launch(split.what, split.grid, &split.arguments, on);
}

// A as it is, for the copy engine.
tensor_map encode_rows(const context& where, const matrix_view<const float>& a) {
  const auto columns = static_cast<std::uint64_t>(a.columns);
  const std::uint64_t apart = a.rows > 1 ? static_cast<std::uint64_t>(a.row_stride) : ceil_div<std::uint64_t>(columns, 4) * 4;
  return where.runs_on().encode({.data = a.data,
                                 .element_bytes = sizeof(float),
                                 .dimensions = 2,
                                 .extent = {columns, static_cast<std::uint64_t>(a.rows)},
                                 .stride = {sizeof(float), apart * sizeof(float)},
                                 .box = {split_step, split_tile},
                                 .pattern = swizzle::bytes_128});
}

// Whether the copy engine can load A's rows as they are.
bool loads_rows(const problem& p) {
  constexpr std::int64_t longest = std::int64_t{1} << 37;  // floats; the engine's strides have 40 bits of bytes
  return (p.a.column_stride == 1 || p.k() == 1) && reinterpret_cast<std::uintptr_t>(p.a.data) % 16 == 0 &&
         (p.m() == 1 || (p.a.row_stride % 4 == 0 && p.a.row_stride >= p.k() && p.a.row_stride < longest));
}
}  // namespace

std::optional<problem> with_rows_to_split(const problem& p) {
  const problem turned{transposed(p.b), transposed(p.a), transposed(p.c), p.alpha, p.beta};
  const bool prefer_turned = p.n() > p.m();
  for (const problem& one : {prefer_turned ? turned : p, prefer_turned ? p : turned})
    if (loads_rows(one)) return one;
  return std::nullopt;
}

const kernel* product_kernel(target where, multiplier by) {
  const product_instance* const found = find_product(where, by, 1);
  return found == nullptr ? nullptr : &found->code;
}

bool product_tiles_fit(const problem& p) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return p.m() <= most - split_tile && p.n() <= most - split_tile && tiles_along(p.m()) * tiles_along(p.n()) <= most;
}

// Measured on an H200 (docs/notebook/gemm.md): every tile of C along the shorter side splits the same rows of A again, so there are two at
// most; in one wave, since its blocks do not stay for another tile.
bool splits_inside_by_itself(const device_limits& device, const problem& p) {
  constexpr std::int64_t least_rows = 4096, most_columns = 2 * split_tile, least_k = 1024;
  if (p.n() > most_columns || p.m() < least_rows || p.k() < least_k || p.k() > k_of_a_piece || !product_tiles_fit(p)) return false;
  const std::int64_t tiles = tiles_along(p.m()) * tiles_along(p.n()), chunks = ceil_div<std::int64_t>(p.k(), split_chunk);
  const int multiprocessors = std::max(1, device.multiprocessors);
  return tiles * blocks_per_tile(tiles, chunks, multiprocessors) <= multiprocessors;
}

product_rounds rounds_of(multiplier by, std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors) {
  const std::int64_t tiles = tiles_along(m) * tiles_along(n), chunks = ceil_div<std::int64_t>(k, split_chunk);
  const int cluster = blocks_of_cluster(by, tiles, chunks, multiprocessors);
  const double all = static_cast<double>(tiles * cluster) / multiprocessors, of_block = std::ceil(static_cast<double>(chunks) / cluster);
  if (all <= 1) return {1, 0, of_block, all};
  const double whole = std::floor(all);
  return {whole, all - whole, of_block, 1};
}

product_plan plan_product(const context& where, const problem& p, multiplier by) {
  return plan_product_of(where, by == multiplier::split_inside ? with_rows_to_split(p).value_or(p) : with_rows_together(p), by);
}

// The sums of earlier pieces wait in C, which beta could not reach if it belonged to a residual.
bool ends_in_product(const problem& p, const epilogue& after) {
  return is_brief(after) && (after.residual.data == nullptr || p.k() <= k_of_a_piece);
}

product_plan plan_product_of(const context& where, const problem& what, multiplier by, const ready_operands& ready, const ending& after) {
  const std::int64_t rows = tiles_along(what.m()), columns = tiles_along(what.n()), tiles = rows * columns;
  const std::int64_t k_piece = std::min(what.k(), k_of_a_piece);
  const int multiprocessors = std::max(1, where.limits().multiprocessors);
  const std::int64_t chunks = ceil_div<std::int64_t>(k_piece, split_chunk),
                     left_over = by != multiplier::split ? 0 : tiles_left_over(tiles, chunks, multiprocessors);
  product_plan plan{what,
                    k_piece,
                    static_cast<std::int32_t>(rows),
                    static_cast<std::int32_t>(columns),
                    multiprocessors,
                    {},
                    by == multiplier::split_inside ? nullptr : ready.parts_of(lines_of_rows(what.a)),  // which it takes as it is
                    ready.parts_of(lines_of_rows(transposed(what.b))),
                    after};
  const auto add_wave = [&](std::int64_t first, std::int64_t end) {
    const int cluster = blocks_of_cluster(by, end - first, chunks, multiprocessors);
    const bool one_tile_each = cluster > 1 || by == multiplier::split_inside;
    const std::int64_t blocks = one_tile_each ? (end - first) * cluster : std::min<std::int64_t>(end - first, multiprocessors);
    plan.waves.push_back({require_product(where.kind(), by, cluster),
                          static_cast<std::int32_t>(first),
                          static_cast<std::int32_t>(end),
                          {static_cast<unsigned>(blocks), 1, 1}});
  };
  add_wave(0, tiles - left_over);
  if (left_over > 0) add_wave(tiles - left_over, tiles);
  return plan;
}

std::size_t ready_bytes(std::int64_t lines, std::int64_t k) {
  const std::int64_t rest = k % k_of_a_piece;
  return static_cast<std::size_t>(k / k_of_a_piece) * split_layout{lines, k_of_a_piece}.bytes() +
         (rest > 0 ? split_layout{lines, rest}.bytes() : 0);
}

bool takes_parts(const context& where) {
  const device_features has = features_of(where.limits());
  const auto runs = [&](multiplier by) {
    const kernel* const code = product_kernel(where.kind(), by);
    return code != nullptr && shortage_of(where.limits(), *code) == shortage::none;
  };
  return (has.sm_90a && runs(multiplier::split)) || (has.cp_async && has.mma_sync && runs(multiplier::split_mma));
}

launch_counts make_ready(const context& where, const ready_lines& lines, stream on) {
  launch_counts total;
  for (std::int64_t first = 0; first < lines.of.k; first += k_of_a_piece) {
    operand_lines piece = lines.of;
    piece.data += first * piece.k_stride;
    piece.k = std::min(k_of_a_piece, lines.of.k - first);
    const split_operand to = lay_out_split(lines.parts + ready_bytes(piece.lines, first), {piece.lines, piece.k});
    total += split_into(where, {piece, to}, {piece, to, true}, on);
  }
  return total;
}

const std::vector<product_instance>& product_instances(target where) { return instances_of<product_instance>(where); }

launch_counts run(const context& where, const product_plan& plan, std::span<std::byte> workspace, std::uint64_t* recomputed, stream on) {
  const multiplier by = plan.by();
  const bool inside = by == multiplier::split_inside, tensors = by != multiplier::split_mma;
  std::byte* const split_b_at = workspace.data() + plan.bytes_of_a(by);
  std::byte* const uncertain = split_b_at + plan.bytes_of_b();
  launch_counts total;
  for (std::int64_t first = 0; first < plan.what.k(); first += plan.k_piece) {
    const std::int64_t k = std::min(plan.k_piece, plan.what.k() - first);
    problem piece = plan.what;
    piece.a = {&plan.what.a(0, first), plan.what.m(), k, plan.what.a.row_stride, plan.what.a.column_stride};
    piece.b = {&plan.what.b(first, 0), k, plan.what.n(), plan.what.b.row_stride, plan.what.b.column_stride};
    if (first > 0) piece.beta = 1;
    ending after = first + k == plan.what.k() ? plan.after : ending_of(piece, {});
    after.beta = piece.beta;
    const split_layout left{plan.what.m(), k}, right{plan.what.n(), k};
    // The split pass has no lines where parts are there, or made elsewhere.
    const auto parts_at = [&](std::byte* ready, std::byte* own, const split_layout& at) {
      return lay_out_split(ready != nullptr ? ready + ready_bytes(at.lines, first) : own, at);
    };
    const split_operand a = parts_at(plan.ready_a, workspace.data(), left), b = parts_at(plan.ready_b, split_b_at, right);
    product_problem arguments{
        .tensor_a = inside    ? encode_rows(where, piece.a)
                    : tensors ? encode_parts(where, a, left)
                              : tensor_map{},
        .tensor_b = tensors ? encode_parts(where, b, right) : tensor_map{},
        .split_a = a,
        .split_b = b,
        .what = {piece, after},
        .rows = plan.rows,
        .columns = plan.columns,
        .first = 0,
        .end = 0,
        .chunks = static_cast<std::int32_t>(ceil_div<std::int64_t>(k, split_chunk)),
        .uncertain = {reinterpret_cast<std::uint32_t*>(uncertain), reinterpret_cast<std::uint16_t*>(uncertain + plan.count_bytes())},
        .recomputed = recomputed,
        .facts = reinterpret_cast<block_facts*>(workspace.data())};
    total += split_into(where, {lines_of_rows(piece.a), a, plan.ready_a != nullptr || inside},
                        {lines_of_rows(transposed(piece.b)), b, plan.ready_b != nullptr}, on);
    for (const product_wave& wave : plan.waves) {
      arguments.first = wave.first;
      arguments.end = wave.end;
      total += where.runs_on().launch(wave.with.code, wave.grid, &arguments, on);
    }
  }
  return total;
}

}  // namespace antiphase::gemms
