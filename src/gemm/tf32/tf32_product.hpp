// SPDX-License-Identifier: Apache-2.0
// Products of three TF32 products, whose operands are split on their way: what is asked, and the values that
// select a kernel.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>
#include <cstdint>

#include "src/gemm/operands/loader.hpp"
#include "src/gemm/operands/tiled_problem.hpp"

namespace antiphase::gemms {

// A block computes a tile of C: 128 lines of the long operand times 64 of the short one, in stages of 32 k.
constexpr extent2 tf32_tile{128, 64};
constexpr int tf32_stage_k = 32, tf32_chunk = 64;  // k of a stage; k until the sum is promoted

// Which operands lie along k in shared memory, where the copy engine brings each as it lies. Threads find out
// about that, and whoever keeps the short operand: K is at most so many times 16 then, and lines of the short
// operand stay in shared memory.
struct tf32_policy {
  bool long_along_k = true, short_along_k = true;
  loader by = loader::tma;
  int kept_halves = 0;  // of a stage

  constexpr bool operator==(const tf32_policy&) const = default;
  // a short operand across k is there twice more
  constexpr int stages() const { return kept_halves > 2 || !short_along_k ? 5 : 6; }
};
constexpr bool valid(const tf32_policy& p) {
  return p.by == loader::tma
             ? p.kept_halves == 0 || (p.short_along_k && p.kept_halves * tf32_stage_k / 2 <= tf32_chunk)
             : p.long_along_k && p.short_along_k && p.kept_halves == 0;
}

struct tf32_instance {
  tf32_policy how;
  kernel code;
};

// Along which lines the elements of C are neighbours, so that whole rows of a tile can be stored at once.
enum class neighbours : unsigned char { none, along_short, along_long };

struct tf32_problem {
  // k_of_part: of each block that shares a tile, a multiple of tf32_chunk; partial: floats
  tiled_problem of;
  float floor;  // what a result has to reach for certain
  // null, or the count of outputs that were computed again for want of a certificate
  std::uint64_t* recomputed;
  // Of a kept operand:
  neighbours in_c;
  bool tma_stores;     // rows of C begin at multiples of 16 bytes, so that the copy engine takes them
  tensor_map out_map;  // of C then, in boxes of 64 rows of 32 floats
  // of tiles, that a block takes of a column of them before it goes on to another one
  std::uint32_t rows_of_band;
  divider bands;        // of a member
  std::uint32_t units;  // bands of columns, of the whole batch
};

}  // namespace antiphase::gemms
