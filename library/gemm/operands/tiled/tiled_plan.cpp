// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/operands/tiled/tiled_plan.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <atomic>
#include <cstdint>

namespace antiphase::gemms {

// Strides of a tensor map are not negative; here each row begins after the end of the one before.
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
  // bytes: a valid stride for a map of one row, which has none
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

tiled_plan in_tiles(const problem& p, const batch& of, const epilogue& after, bool turned, extent2 tile) {
  tiled_plan plan{.problem = p, .batch = of, .after = after, .turned = turned};
  plan.along_long = ceil_div<std::int64_t>(turned ? p.n() : p.m(), tile.m);
  plan.along_short = ceil_div<std::int64_t>(turned ? p.m() : p.n(), tile.n);
  plan.tiles = plan.along_long * plan.along_short * of.count;
  return plan;
}

tiled_problem arguments_of(const context& where, const tiled_plan& plan, extent2 tile, brought_by by,
                           packing packs, int cluster, int parts, std::span<std::byte> workspace) {
  static std::atomic<std::uint64_t> calls = 0x616E'7469'0000'0000ull;
  const problem& p = plan.problem;
  const both_operands o = operands_of(p, plan.batch, plan.turned);
  // An empty map for an operand that TMA cannot take: the kernel then loads it by other means.
  const auto map_of = [&](const line_operand& one, loader brings, int lines) {
    return brings == loader::tma && tma_takes(one, p.k()) ? encode(where, one, p.k(), plan.batch.count, lines)
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
      .c_member = plan.batch.c,
      .long_stride = plan.turned ? p.c.column_stride : p.c.row_stride,
      .short_stride = plan.turned ? p.c.row_stride : p.c.column_stride,
      .batch_stride = plan.batch.c_stride,
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

}  // namespace antiphase::gemms
