// SPDX-License-Identifier: Apache-2.0
// FP32-accurate products as three TF32 products, whose operands are split in the kernel: the problem, and the
// values that select a kernel.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>
#include <cstdint>

#include "library/gemm/operands/loader.hpp"
#include "library/gemm/operands/tiled/tiled_problem.hpp"

namespace antiphase::gemms {

// A block computes a tile of C: 128 lines of the long operand times 64 of the short one, in stages of 32 k.
constexpr extent2 tf32_tile{128, 64};
constexpr int tf32_stage_k = 32, tf32_chunk = 64;  // k of a stage; k between promotions of the sum
// The most k that a block sums: the accuracy guaranteed then is no weaker than that of precision fp32
// (docs/use/accuracy.md).
constexpr std::int64_t k_of_tf32_share = 16384;

// Which operands are along k. TMA brings each to shared memory in its own layout, for which a kernel is
// compiled. Kernels with cp.async learn layouts at run time, and so do those that keep the short operand
// (kept_halves > 0), for that one: its lines stay in shared memory, and K is at most 16 * kept_halves.
struct tf32_policy {
  bool long_along_k = true, short_along_k = true;
  gemms::loader loader = loader::tma;
  int kept_halves = 0;  // of a stage
  // 8, 32 or 64: a block adds up K in pieces, as blocks that share a tile do, of so many lines of the short
  // operand at most; 0: other kernels
  int columns = 0;

  constexpr bool operator==(const tf32_policy&) const = default;
  // fewer where slots hold a short operand across k once more, along k, or where 64 k are kept
  constexpr int stages() const { return kept_halves > 2 || !short_along_k ? 5 : 6; }
};
constexpr bool valid(const tf32_policy& p) {
  if (p.columns > 0 && (p.loader != loader::tma || !p.short_along_k || p.kept_halves > 0)) return false;
  return p.loader == loader::tma
             ? p.kept_halves == 0 || (p.short_along_k && p.kept_halves * tf32_stage_k / 2 <= tf32_chunk)
             : p.long_along_k && p.short_along_k && p.kept_halves == 0;
}

struct tf32_instance {
  tf32_policy policy;
  kernel code;
};

// The lines along which C is contiguous, so that whole rows of a tile can be stored at once.
enum class neighbours : unsigned char { none, along_short, along_long };

struct tf32_problem {
  // of.k_of_part: k of each block that shares a tile, a multiple of tf32_chunk; of.partial holds floats
  tiled_problem tiled;
  float floor;  // smaller results are certified only if the lines' least elements are large enough
  // null, or a counter of the outputs that are computed again because they are not certified
  std::uint64_t* recomputed;
  // If the short operand is kept:
  neighbours in_c;
  bool tma_stores;     // rows of C begin at multiples of 16 bytes, so that TMA can store them
  tensor_map out_map;  // of C in that case, in boxes of 64 rows of 32 floats
  // rows of tiles that a block takes of one column of tiles before it goes on to another column
  std::uint32_t rows_of_band;
  divider bands;        // per member
  std::uint32_t units;  // bands, in all columns and members
  int chunks_of_piece;  // of kernels that add up K in pieces
};

}  // namespace antiphase::gemms
