// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/short/short_plan.hpp"

#include <antiphase/core/tile.hpp>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "src/gemm/registry.hpp"

namespace antiphase::gemms {
namespace {

// Whether columns of C lie side by side, and rows do not: then the transposed product is computed.
bool turned(const problem& p) { return p.c.column_stride != 1 && p.c.row_stride == 1; }

int lanes_for(std::int64_t columns) {
  int lanes = 1;
  while (lanes < 32 && lanes * short_columns < columns) lanes *= 2;
  return lanes;
}

template <class T> members<T> of_batch(const matrix_view<T>& v, std::int64_t stride) {
  return {v.data, v.row_stride, v.column_stride, stride};
}

}  // namespace

const kernel* short_kernel(target where) {
  const std::vector<short_instance>& all = instances_of<short_instance>(where);
  return all.empty() ? nullptr : &all.front().code;
}

bool short_tiles_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto tiles = [](std::int64_t rows, std::int64_t columns) {
    const extent2 tile = short_tile(lanes_for(columns));
    return std::pair{ceil_div<std::int64_t>(rows, tile.m), ceil_div<std::int64_t>(columns, tile.n)};
  };
  const auto [down, across] = turned(p) ? tiles(p.n(), p.m()) : tiles(p.m(), p.n());
  return down <= most && across <= most && (down == 0 || across == 0 || down * across <= most / of.count);
}

short_plan plan_short(target where, const problem& p, const batch& of, const epilogue& after) {
  members<const float> a = of_batch(p.a, of.a_stride), b = of_batch(p.b, of.b_stride);
  matrix_view<float> c = p.c;
  ending end = ending_of(p, after);
  const float* const* a_of = of.a;
  const float* const* b_of = of.b;
  if (turned(p)) {
    std::swap(a, b), std::swap(a_of, b_of);
    std::swap(a.row_stride, a.column_stride), std::swap(b.row_stride, b.column_stride);
    c = transposed(c), end = transposed(end);
  }
  const int lanes = lanes_for(c.columns);
  const extent2 tile = short_tile(lanes);
  const std::int64_t down = ceil_div<std::int64_t>(c.rows, tile.m), across = ceil_div<std::int64_t>(c.columns, tile.n);
  const bool begins = of.by_pointers() || (reinterpret_cast<std::uintptr_t>(c.data) % 16 == 0 && of.c_stride % 4 == 0);
  return {.what = p,
          .code = *short_kernel(where),
          .arguments = {.a = a,
                        .b = b,
                        .c = of_batch(c, of.c_stride),
                        .a_of = a_of,
                        .b_of = b_of,
                        .c_of = of.c,
                        .end = end,
                        .rows = c.rows,
                        .columns = c.columns,
                        .k = static_cast<std::int32_t>(p.k()),
                        .lanes = lanes,
                        .packs = begins && c.column_stride == 1 && c.row_stride % 4 == 0,
                        .tiles_down = static_cast<std::uint32_t>(down),
                        .tiles_across = static_cast<std::uint32_t>(across)},
          .grid = {static_cast<unsigned>(down * across * of.count), 1, 1}};
}

}  // namespace antiphase::gemms
