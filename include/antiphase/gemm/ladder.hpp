// SPDX-License-Identifier: Apache-2.0
// The steps of the GEMM ladder: each adds one idea to the one before.
#pragma once
#include <antiphase/executor/features.hpp>
#include <antiphase/gemm/policy.hpp>
#include <antiphase/gemm/problem.hpp>
#include <optional>
#include <span>
#include <string>

namespace antiphase {
class executor;
}
namespace antiphase::gemms {

struct step {
  const char* name;
  const char* adds;      // what it adds to the previous step
  gemms::policy policy;  // of naive: the square of outputs only, since it has no shared tile
};

// Textbook kernels: tiles of 32 x 32 x 32, one output per thread, A and B in their order in memory.
constexpr policy tiled_policy{.tile = {32, 32}, .tile_k = 32, .a = {.order = layout::outer_major}};
constexpr policy padded_policy = [] {
  policy p = tiled_policy;
  p.a.padding = p.b.padding = 1;
  return p;
}();
constexpr policy double_buffered_policy = [] {
  policy p = tiled_policy;
  p.stages = 2;
  return p;
}();
constexpr policy textbook_double_policy = [] {
  policy p = double_buffered_policy;
  p.stores_first = true;
  return p;
}();
constexpr policy async_policy(int stages) {
  policy p = tiled_policy;
  p.copy = copy_kind::asynchronous;
  p.stages = stages;
  if (stages > 2) p.shared = shared_kind::dynamic;
  return p;
}
// Tiles of 128 x 128 x 16, 8 x 8 outputs per thread. Threads read neighbours along the outer index, so both
// tiles are k-major; padding avoids bank conflicts when an operand that is contiguous along k is written.
constexpr policy register_tile_policy{.tile = {128, 128},
                                      .tile_k = 16,
                                      .thread = {8, 8},
                                      .stages = 3,
                                      .copy = copy_kind::asynchronous,
                                      .a = {.padding = 4},
                                      .b = {.padding = 4},
                                      .shared = shared_kind::dynamic};
constexpr policy fragments_policy = [] {
  policy p = register_tile_policy;
  p.fragments = 2;
  return p;
}();
// An operand that is contiguous along its outer index is copied to shared memory unchanged, 16 bytes at a
// time. One that is contiguous along k is transposed on the way, 4 bytes at a time: threads multiply fastest
// with neighbours along the outer index, where the values of both operands alternate between the two banks of
// the register file. (16-byte copies and reads along k were slower.)
constexpr operand_policy copied(contiguous along) {
  switch (along) {
    case contiguous::outer: return {.copy_width = 4, .along = contiguous::outer};
    case contiguous::k: return {.padding = 4, .along = contiguous::k};
    case contiguous::neither: break;
  }
  return {.padding = 4};
}
constexpr policy vectors_policy(contiguous a, contiguous b) {
  policy p = fragments_policy;
  p.read_width = 4;
  p.blocks = 2;
  p.a = copied(a);
  p.b = copied(b);
  return p;
}
constexpr policy warp_tile_policy(contiguous a, contiguous b) {
  policy p = vectors_policy(a, b);
  p.tile = {64, 128};
  p.warp = {32, 64};
  // general strides take more registers: 3 or 4 blocks spill
  p.blocks = a == contiguous::neither || b == contiguous::neither ? 2 : 4;
  return p;
}

// All instructions but FFMA keep an FFMA kernel from its roofline. So a thread has 128 sums, which take 6
// reads per 128 multiply-adds instead of 8; a tile has 32 values of k, which halves the barriers; and an
// operand that is contiguous along k is transposed in registers, 16 bytes at a time. With few such tiles
// multiprocessors would idle, so for smaller C tiles are smaller, and the threads of a block divide K into
// more slices. Without slices, an output is one sum in the order of k. With s slices it is s such sums, over
// every tile's first part of k, its second and so on, added up in order. The number of slices depends on the
// size of C only: each number has variants for all operands.
constexpr operand_policy copied_or_transposed(contiguous along) {
  operand_policy o = copied(along);
  if (along == contiguous::k) o.copy_width = 4;
  return o;
}
constexpr policy strict_policy(contiguous a, contiguous b) {
  policy p = vectors_policy(a, b);
  p.a = copied_or_transposed(a);
  p.b = copied_or_transposed(b);
  p.tile = {128, 256};
  p.tile_k = 32;
  p.thread = {8, 16};
  p.warp = {64, 64};
  p.unroll = 8;
  p.blocks = 1;
  p.min_tiles = 100;
  return p;
}
constexpr policy strict_medium_policy(contiguous a, contiguous b) {
  policy p = strict_policy(a, b);
  p.tile = {64, 128};
  p.thread = {8, 8};
  p.warp = {32, 64};
  p.slices = 2;
  p.min_tiles = 66;
  return p;
}
constexpr policy strict_small_policy(contiguous a, contiguous b) {
  policy p = strict_medium_policy(a, b);
  p.tile = {32, 64};
  p.tile_k = 64;
  p.slices = 8;
  p.min_tiles = 0;
  return p;
}

// The same for operands that are contiguous along these indices, but not aligned to 16 bytes as transposing
// in registers requires.
constexpr policy unaligned(policy p, contiguous a, contiguous b) {
  p.a = copied(a);
  p.b = copied(b);
  return p;
}

constexpr step steps[] = {
    {"naive", "one output per thread, straight from global memory", {.tile = {32, 32}, .tile_k = 1}},
    {"tiled", "tiles in shared memory", tiled_policy},
    {"padded", "the textbooks' [T][T+1] padding, which removes no bank conflict here", padded_policy},
    {"textbook-double",
     "2 buffers, but the next tile is stored before this one is used: each warp waits for its load",
     textbook_double_policy},
    {"double-buffered", "the next tile stays in registers while this one is used, and is stored then",
     double_buffered_policy},
    {"async-2", "asynchronous copies instead of registers, 2 stages", async_policy(2)},
    {"async-3", "3 stages, in dynamic shared memory", async_policy(3)},
    {"async-4", "4 stages", async_policy(4)},
    {"register-tile", "8 x 8 outputs per thread, tiles of 128 x 128 x 16", register_tile_policy},
    {"fragments", "registers double-buffered too", fragments_policy},
    {"vectors", "16-byte copies and reads", vectors_policy(contiguous::k, contiguous::outer)},
    {"warp-tile", "four warps of compact 32 x 64 pieces per block, twice as many blocks",
     warp_tile_policy(contiguous::k, contiguous::outer)},
    {"strict",
     "128 sums per thread, operands transposed in registers; small tiles and slices of K for small C",
     strict_policy(contiguous::k, contiguous::outer)},
};

// The features that the step requires.
constexpr device_features needs_of(const step& s) {
  return {.cp_async = s.policy.copy == copy_kind::asynchronous};
}
// Whether a step is a single policy of the tiled kernel that takes any strides: not naive, and no step with
// variants for the layouts of the operands.
constexpr bool is_general_step(const step& s) {
  return s.policy.tile_k > 1 && s.policy.a.along == contiguous::neither &&
         s.policy.b.along == contiguous::neither;
}

// A compiled variant of a step. Of the variants whose requirements the operands meet, the most specialised is
// used, and of several such the one with the largest tiles.
struct instance {
  const char* step;
  gemms::policy policy;
  kernel code;
};
std::span<const instance> instances(target where);

// The step of that name; throws bad_request, with the known names.
const step& find_step(std::string_view name);

// The last step of the ladder that fits the device. Throws bad_request if the problem makes no sense.
const step& select_step(const executor& where, const problem& p);

// A launch: the instance, its grid and its arguments.
struct plan {
  gemms::instance instance;
  extent3 grid;
  problem arguments;
};
// The launch of a step. Throws bad_request if the problem makes no sense. `run` selects a part of the kernel,
// for measuring.
plan prepare(target where, const step& how, const problem& p, parts run = parts::all);

// The same for a given variant that takes the problem, for tests and measurements.
bool takes(const instance& variant, const problem& p);
plan prepare(const instance& variant, const problem& p);

}  // namespace antiphase::gemms
