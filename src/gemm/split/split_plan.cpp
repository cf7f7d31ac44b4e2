#include "split_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm/bound.hpp>
#include "src/gemm/split/split_pass.hpp"
#include <limits>
#include <vector>

#include "src/gemm/registry.hpp"
#include "src/gemm/request.hpp"

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
// A and B in the places in which A is the one that the product splits itself: rather the one with more lines.
std::optional<problem> with_rows_to_convert(const problem& p) {
  const problem turned{transposed(p.b), transposed(p.a), transposed(p.c), p.alpha, p.beta};
  const bool prefer_turned = p.n() > p.m();
  for (const problem& one : {prefer_turned ? turned : p, prefer_turned ? p : turned})
    if (loads_rows(one)) return one;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refuses_split(const context& where, const problem& p, multiplier by) {
  if (p.m() == 0 || p.n() == 0 || p.k() == 0 || p.alpha == 0) return "there is nothing to multiply";
  const device_limits& device = where.limits();
  const bool warpgroups = by != multiplier::split_mma;
  if (warpgroups ? device.major != 9 : device.major < 8)
    return fmt::format("it needs the Tensor Core instructions of compute capability {}, {} has {}.{}", warpgroups ? "9.0" : "8.0 or above",
                       device.name, device.major, device.minor);
  const product_instance* const with = find_product(where.kind(), by, 1);
  if (with == nullptr) return "this build has no kernels for it";
  if (const auto why = refusal(device, with->code)) return why;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (p.m() > most - split_tile || p.n() > most - split_tile || tiles_along(p.m()) * tiles_along(p.n()) > most)
    return fmt::format("C is {} x {}: more than {} tiles", p.m(), p.n(), most);
  if (by == multiplier::split_inside && !with_rows_to_convert(p))
    return "neither operand lies along k, from an address and in strides that are multiples of 16 bytes";
  return std::nullopt;
}

// Measured on an H200 (docs/gemm.md): every tile of C along the shorter side splits the same rows of A again, so there are two at most; in
// one wave, since its blocks do not stay for another tile.
bool splits_inside_by_itself(const context& where, const problem& p) {
  constexpr std::int64_t least_rows = 4096, most_columns = 2 * split_tile, least_k = 1024;
  if (std::min(p.m(), p.n()) > most_columns || std::max(p.m(), p.n()) < least_rows || p.k() < least_k || p.k() > k_of_a_piece) return false;
  if (refuses_split(where, p, multiplier::split_inside)) return false;
  const problem what = *with_rows_to_convert(p);
  const std::int64_t tiles = tiles_along(what.m()) * tiles_along(what.n()), chunks = ceil_div<std::int64_t>(what.k(), split_chunk);
  const int multiprocessors = std::max(1, where.limits().multiprocessors);
  return what.m() >= least_rows && tiles * blocks_per_tile(tiles, chunks, multiprocessors) <= multiprocessors;
}

product_plan plan_product(const context& where, const problem& p, multiplier by) {
  const bool converting = by == multiplier::split_inside;
  const problem what = converting ? with_rows_to_convert(p).value_or(p) : with_rows_together(p);
  const std::int64_t rows = tiles_along(what.m()), columns = tiles_along(what.n()), tiles = rows * columns;
  const std::int64_t k_piece = std::min(what.k(), k_of_a_piece);
  const int multiprocessors = std::max(1, where.limits().multiprocessors);
  const std::int64_t chunks = ceil_div<std::int64_t>(k_piece, split_chunk),
                     left_over = by != multiplier::split ? 0 : tiles_left_over(tiles, chunks, multiprocessors);
  product_plan plan{what, k_piece, static_cast<std::int32_t>(rows), static_cast<std::int32_t>(columns), multiprocessors, {}};
  const auto add_wave = [&](std::int64_t first, std::int64_t end) {
    const int cluster = by == multiplier::split_mma ? 1 : blocks_per_tile(end - first, chunks, multiprocessors);
    const std::int64_t blocks = cluster > 1 || converting ? (end - first) * cluster : std::min<std::int64_t>(end - first, multiprocessors);
    plan.waves.push_back({require_product(where.kind(), by, cluster),
                          static_cast<std::int32_t>(first),
                          static_cast<std::int32_t>(end),
                          {static_cast<unsigned>(blocks), 1, 1}});
  };
  add_wave(0, tiles - left_over);
  if (left_over > 0) add_wave(tiles - left_over, tiles);
  return plan;
}

const std::vector<product_instance>& product_instances(target where) { return instances_of<product_instance>(where); }

launch_counts run(const context& where, const product_plan& plan, std::span<std::byte> workspace, std::uint64_t* recomputed, stream on) {
  std::byte* const of_right = workspace.data() + plan.of_left();
  std::byte* const notes = of_right + plan.right().bytes();
  const bool converting = plan.converting();
  launch_counts total;
  for (std::int64_t first = 0; first < plan.what.k(); first += plan.k_piece) {
    const std::int64_t k = std::min(plan.k_piece, plan.what.k() - first);
    problem piece = plan.what;
    piece.a = {&plan.what.a(0, first), plan.what.m(), k, plan.what.a.row_stride, plan.what.a.column_stride};
    piece.b = {&plan.what.b(first, 0), k, plan.what.n(), plan.what.b.row_stride, plan.what.b.column_stride};
    if (first > 0) piece.beta = 1;
    const split_layout left{plan.what.m(), k}, right{plan.what.n(), k};
    const split_operand a = lay_out_split(workspace.data(), left), b = lay_out_split(of_right, right);
    const bool tensors = plan.waves.front().with.how.by != multiplier::split_mma;
    product_problem arguments{.a = converting ? encode_rows(where, piece.a)
                                   : tensors  ? encode_parts(where, a, left)
                                              : tensor_map{},
                              .b = tensors ? encode_parts(where, b, right) : tensor_map{},
                              .left = a,
                              .right = b,
                              .what = piece,
                              .rows = plan.rows,
                              .columns = plan.columns,
                              .first = 0,
                              .end = 0,
                              .chunks = static_cast<std::int32_t>(ceil_div<std::int64_t>(k, split_chunk)),
                              .notes = {reinterpret_cast<std::uint32_t*>(notes), reinterpret_cast<std::uint16_t*>(notes + plan.counts())},
                              .recomputed = recomputed,
                              .rows_of = reinterpret_cast<row_facts*>(workspace.data())};
    operand_lines rows{piece.a.data, plan.what.m(), k, piece.a.row_stride, piece.a.column_stride};
    split_operand split_rows = a;
    if (converting) rows = {nullptr, 0, k, 0, 1}, split_rows.lines = 0;  // B alone
    const split_launch split = plan_split(where.kind(), rows, {piece.b.data, plan.what.n(), k, piece.b.column_stride, piece.b.row_stride},
                                          split_rows, b, where.limits().major >= 9);
    total += where.runs_on().launch(split.what, split.grid, &split.arguments, on);
    for (const product_wave& wave : plan.waves) {
      arguments.first = wave.first;
      arguments.end = wave.end;
      total += where.runs_on().launch(wave.with.code, wave.grid, &arguments, on);
    }
  }
  return total;
}

}  // namespace antiphase::gemms
