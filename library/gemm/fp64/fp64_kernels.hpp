// SPDX-License-Identifier: Apache-2.0
// Table of the fp64 kernels: source of the lists of instances, recording twins, forms and cases of the
// checker.
#pragma once
#include "library/gemm/fp64/fp64_product.hpp"

namespace antiphase::gemms {

struct fp64_kernel {
  const char* name;
  // kernels of a form give the same bits and share the cost model's numbers of that name (fp64_forms.cpp)
  const char* form;
  fp64_policy policy;
  bool drawn = false;  // in the documentation and in tests: its recording twin is always built
};

inline fp64_instance instance_of(const fp64_kernel& row, kernel code) {
  return {.form = row.form, .policy = row.policy, .code = code};
}

// Designated initialisers skip no member in between: nvcc 13.0 misplaces those after a gap.
namespace fp64 {

constexpr fp64_policy sharing(fp64_policy p) {
  p.shares = true;
  return p;
}
constexpr fp64_policy
    ring_32x8_8 = sharing({.tile = {32, 8}, .warps = {1, 1}, .slabs = 8, .blocks = 1, .stages = 3}),
    ring_32x32_8 = sharing({.tile = {32, 32}, .warps = {1, 1}, .slabs = 8, .blocks = 1, .stages = 3}),
    ring_32x16_4 = sharing({.tile = {32, 16}, .warps = {2, 1}, .slabs = 4, .blocks = 2, .stages = 3}),
    ring_32x32_4 = sharing({.tile = {32, 32}, .warps = {2, 1}, .slabs = 4, .blocks = 2, .stages = 3}),
    ring_128x16 = {.tile = {128, 16}, .warps = {4, 1}, .slabs = 1, .blocks = 2, .stages = 4},
    ring_64x64 = {.tile = {64, 64}, .warps = {2, 2}, .slabs = 1, .blocks = 2, .stages = 4},
    ring_32x32 = {.tile = {32, 32}, .warps = {2, 2}, .slabs = 1, .blocks = 4, .stages = 4};

constexpr fp64_policy by_cp_async(int warps, fp64_policy p) {
  p.loader = loader::cp_async, p.copying_warps = warps;
  return p;
}
constexpr fp64_policy finishing(fp64_policy p) {
  p.finishes = true;
  return p;
}
constexpr fp64_policy by_lanes(kernel_kind kind, fp64_policy p) {
  p.kind = kind, p.loader = loader::lanes;
  return p;
}
constexpr fp64_policy kept(int held) {
  return by_lanes(kernel_kind::kept_lines, {.tile = {16, 32},
                                            .warps = {1, 1},
                                            .slabs = 1,
                                            .blocks = kept_blocks(held),
                                            .stages = 0,
                                            .held = held});
}
constexpr fp64_policy kept_whole(int held) {
  fp64_policy p = kept(held);
  p.whole = true;
  return p;
}
constexpr fp64_policy block_tile_of(extent2 tile) {
  return by_lanes(kernel_kind::block_tile, {.tile = tile, .warps = {1, 1}, .slabs = 8, .blocks = 2});
}
constexpr fp64_policy warp_tile_of(extent2 tile, int blocks) {
  return by_lanes(kernel_kind::warp_tile, {.tile = tile, .warps = {2, 2}, .slabs = 1, .blocks = blocks});
}

// A ring that TMA fills (sm_90a).
constexpr fp64_kernel kernels_by_tma[] = {
    {.name = "gemm.fp64-32x8-8", .form = "32x8-8", .policy = ring_32x8_8, .drawn = true},
    {.name = "gemm.fp64-32x32-8", .form = "32x32-8", .policy = ring_32x32_8, .drawn = true},
    {.name = "gemm.fp64-32x16-4", .form = "32x16-4", .policy = ring_32x16_4},
    {.name = "gemm.fp64-32x32-4-pair", .form = "32x32-4", .policy = ring_32x32_4},
    {.name = "gemm.fp64-128x16", .form = "128x16", .policy = ring_128x16},
    {.name = "gemm.fp64-64x64", .form = "64x64", .policy = ring_64x64, .drawn = true},
    {.name = "gemm.fp64-32x32", .form = "32x32", .policy = ring_32x32}};

// A ring that copying warps fill (sm_80).
constexpr fp64_kernel kernels_by_cp_async[] = {
    {.name = "gemm.fp64-async-32x8-8",
     .form = "32x8-8",
     .policy = by_cp_async(8, ring_32x8_8),
     .drawn = true},
    {.name = "gemm.fp64-async-32x32-8",
     .form = "32x32-8",
     .policy = by_cp_async(8, ring_32x32_8),
     .drawn = true},
    {.name = "gemm.fp64-async-32x16-4", .form = "32x16-4", .policy = by_cp_async(4, ring_32x16_4)},
    {.name = "gemm.fp64-async-32x32-4-pair", .form = "32x32-4", .policy = by_cp_async(2, ring_32x32_4)},
    {.name = "gemm.fp64-async-128x16", .form = "128x16", .policy = by_cp_async(4, ring_128x16)},
    {.name = "gemm.fp64-async-64x64", .form = "64x64", .policy = by_cp_async(2, ring_64x64), .drawn = true},
    {.name = "gemm.fp64-async-32x32", .form = "32x32", .policy = by_cp_async(2, ring_32x32)}};

// The same with epilogues (sm_80). A form that has none uses one with a wider tile.
constexpr fp64_kernel kernels_that_finish[] = {
    {.name = "gemm.fp64-finish-32x8-8", .form = "32x8-8", .policy = finishing(by_cp_async(8, ring_32x8_8))},
    {.name = "gemm.fp64-finish-32x32-8",
     .form = "32x32-8",
     .policy = finishing(by_cp_async(8, ring_32x32_8))},
    {.name = "gemm.fp64-finish-32x32-4",
     .form = "32x32-4",
     .policy = finishing(by_cp_async(2, ring_32x32_4))},
    {.name = "gemm.fp64-finish-32x32", .form = "32x32", .policy = finishing(by_cp_async(2, ring_32x32))},
    {.name = "gemm.fp64-finish-64x64", .form = "64x64", .policy = finishing(by_cp_async(2, ring_64x64))}};

// From global memory straight to registers (sm_80).
constexpr fp64_kernel kernels_in_registers[] = {
    {.name = "gemm.fp64-kept-16", .form = "kept", .policy = kept(1)},
    {.name = "gemm.fp64-kept-32", .form = "kept", .policy = kept(2)},
    {.name = "gemm.fp64-kept-finish-16", .form = "kept", .policy = finishing(kept(1))},
    {.name = "gemm.fp64-kept-finish-32", .form = "kept", .policy = finishing(kept(2))},
    {.name = "gemm.fp64-kept-whole-16", .form = "kept", .policy = kept_whole(1)},
    {.name = "gemm.fp64-kept-whole-32", .form = "kept", .policy = kept_whole(2)},
    {.name = "gemm.fp64-block-16x8", .form = "block-16x8", .policy = block_tile_of({16, 8})},
    {.name = "gemm.fp64-block-32x8", .form = "block-32x8", .policy = block_tile_of({32, 8})},
    {.name = "gemm.fp64-block-16x16", .form = "block-16x16", .policy = block_tile_of({16, 16})},
    {.name = "gemm.fp64-block-finish-16x16",
     .form = "block-16x16",
     .policy = finishing(block_tile_of({16, 16}))},
    {.name = "gemm.fp64-warp-32x32", .form = "warp-32x32", .policy = warp_tile_of({32, 32}, 6)},
    {.name = "gemm.fp64-warp-32x64", .form = "warp-32x64", .policy = warp_tile_of({32, 64}, 4)},
    {.name = "gemm.fp64-warp-finish-32x64",
     .form = "warp-32x64",
     .policy = finishing(warp_tile_of({32, 64}, 3))}};

}  // namespace fp64
}  // namespace antiphase::gemms
