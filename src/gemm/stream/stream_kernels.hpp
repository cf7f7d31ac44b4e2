// SPDX-License-Identifier: Apache-2.0
// The table of streaming kernels: lists of instances, recording twins and the forms to choose from are made
// of it.
#pragma once
#include "src/gemm/stream/stream_product.hpp"

namespace antiphase::gemms {

struct stream_kernel {
  const char* name;
  // kernels of a form give the same bits, and take as long as the law of that name says (stream_forms.cpp)
  const char* form;
  stream_policy how;
  bool drawn = false;  // in the documentation and in tests: its recording twin is always built
};

// How a tile is computed. Members that are named follow one another without a gap: nvcc 13.0 misplaces those
// behind one.
namespace streams {

constexpr stream_policy ring(extent2 tile, extent2 warps, int slabs, int stages, int blocks) {
  return {
      .tile = tile, .warps = warps, .slabs = slabs, .stages = stages, .blocks = blocks, .shares = slabs > 1};
}
constexpr stream_policy ring_32x8_8 = ring({32, 8}, {1, 1}, 8, 3, 1),
                        ring_32x32_8 = ring({32, 32}, {1, 1}, 8, 3, 1),
                        ring_32x16_4 = ring({32, 16}, {2, 1}, 4, 3, 2),
                        ring_32x32_4 = ring({32, 32}, {2, 1}, 4, 3, 2),
                        ring_128x16 = ring({128, 16}, {4, 1}, 1, 4, 2),
                        ring_64x64 = ring({64, 64}, {2, 2}, 1, 4, 2),
                        ring_32x32 = ring({32, 32}, {2, 2}, 1, 4, 4);

constexpr stream_policy by_copiers(int warps, stream_policy p) {
  p.by = stream_loader::copiers, p.copying_warps = warps;
  return p;
}
constexpr stream_policy finishing(stream_policy p) {
  p.finishes = true;
  return p;
}
constexpr stream_policy in_registers(stream_loader by, extent2 tile, extent2 warps, int slabs, int stages,
                                     int blocks) {
  return {.tile = tile,
          .warps = warps,
          .slabs = slabs,
          .stages = stages,
          .blocks = blocks,
          .shares = false,
          .by = by};
}
constexpr stream_policy kept(int stages) {
  return in_registers(stream_loader::kept, {16, 32}, {1, 1}, 1, stages, kept_blocks(stages));
}
constexpr stream_policy kept_whole(int stages) {
  stream_policy p = kept(stages);
  p.whole = true;
  return p;
}
constexpr stream_policy direct(extent2 tile) {
  return in_registers(stream_loader::direct, tile, {1, 1}, 8, 1, 2);
}
constexpr stream_policy alone(extent2 tile, int blocks) {
  return in_registers(stream_loader::alone, tile, {2, 2}, 1, 1, blocks);
}

// By the copy engine (sm_90a).
constexpr stream_kernel kernels_by_engine[] = {
    {.name = "gemm.stream-32x8-8", .form = "32x8-8", .how = ring_32x8_8, .drawn = true},
    {.name = "gemm.stream-32x32-8", .form = "32x32-8", .how = ring_32x32_8, .drawn = true},
    {.name = "gemm.stream-32x16-4", .form = "32x16-4", .how = ring_32x16_4},
    {.name = "gemm.stream-32x32-4-pair", .form = "32x32-4", .how = ring_32x32_4},
    {.name = "gemm.stream-128x16", .form = "128x16", .how = ring_128x16},
    {.name = "gemm.stream-64x64", .form = "64x64", .how = ring_64x64, .drawn = true},
    {.name = "gemm.stream-32x32", .form = "32x32", .how = ring_32x32}};

// By warps that copy (sm_80).
constexpr stream_kernel kernels_by_copiers[] = {
    {.name = "gemm.stream-async-32x8-8", .form = "32x8-8", .how = by_copiers(8, ring_32x8_8), .drawn = true},
    {.name = "gemm.stream-async-32x32-8",
     .form = "32x32-8",
     .how = by_copiers(8, ring_32x32_8),
     .drawn = true},
    {.name = "gemm.stream-async-32x16-4", .form = "32x16-4", .how = by_copiers(4, ring_32x16_4)},
    {.name = "gemm.stream-async-32x32-4-pair", .form = "32x32-4", .how = by_copiers(2, ring_32x32_4)},
    {.name = "gemm.stream-async-128x16", .form = "128x16", .how = by_copiers(4, ring_128x16)},
    {.name = "gemm.stream-async-64x64", .form = "64x64", .how = by_copiers(2, ring_64x64), .drawn = true},
    {.name = "gemm.stream-async-32x32", .form = "32x32", .how = by_copiers(2, ring_32x32)}};

// The same with epilogues (sm_80). Where a form has none, one of a wider tile takes its place.
constexpr stream_kernel kernels_that_finish[] = {
    {.name = "gemm.stream-finish-32x8-8", .form = "32x8-8", .how = finishing(by_copiers(8, ring_32x8_8))},
    {.name = "gemm.stream-finish-32x32-8", .form = "32x32-8", .how = finishing(by_copiers(8, ring_32x32_8))},
    {.name = "gemm.stream-finish-32x32-4", .form = "32x32-4", .how = finishing(by_copiers(2, ring_32x32_4))},
    {.name = "gemm.stream-finish-32x32", .form = "32x32", .how = finishing(by_copiers(2, ring_32x32))},
    {.name = "gemm.stream-finish-64x64", .form = "64x64", .how = finishing(by_copiers(2, ring_64x64))}};

// From memory to registers (sm_80).
constexpr stream_kernel kernels_in_registers[] = {
    {.name = "gemm.stream-lanes-64x8",
     .form = "lanes-64x8",
     .how = in_registers(stream_loader::lanes, {64, 8}, {4, 1}, 1, 2, 4)},
    {.name = "gemm.stream-kept-16", .form = "kept", .how = kept(1)},
    {.name = "gemm.stream-kept-32", .form = "kept", .how = kept(2)},
    {.name = "gemm.stream-kept-finish-16", .form = "kept", .how = finishing(kept(1))},
    {.name = "gemm.stream-kept-finish-32", .form = "kept", .how = finishing(kept(2))},
    {.name = "gemm.stream-kept-whole-16", .form = "kept", .how = kept_whole(1)},
    {.name = "gemm.stream-kept-whole-32", .form = "kept", .how = kept_whole(2)},
    {.name = "gemm.stream-direct-16x8", .form = "direct-16x8", .how = direct({16, 8})},
    {.name = "gemm.stream-direct-32x8", .form = "direct-32x8", .how = direct({32, 8})},
    {.name = "gemm.stream-direct-16x16", .form = "direct-16x16", .how = direct({16, 16})},
    {.name = "gemm.stream-direct-finish-16x16", .form = "direct-16x16", .how = finishing(direct({16, 16}))},
    {.name = "gemm.stream-alone-32x32", .form = "alone-32x32", .how = alone({32, 32}, 6)},
    {.name = "gemm.stream-alone-32x64", .form = "alone-32x64", .how = alone({32, 64}, 4)},
    {.name = "gemm.stream-alone-finish-32x64", .form = "alone-32x64", .how = finishing(alone({32, 64}, 3))}};

}  // namespace streams
}  // namespace antiphase::gemms
