// SPDX-License-Identifier: Apache-2.0
// Products of three TF32 products, whose operands are split on their way: what is asked, and the values that select a kernel.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

#include "src/gemm/stream/stream_product.hpp"

namespace antiphase::gemms {

// A block computes a tile of C: 128 lines of the long operand times 64 of the short one, in stages of 32 k.
constexpr extent2 narrow_tile{128, 64};
constexpr int narrow_step = 32, narrow_chunk = 64;  // k of a stage; k until the sum is promoted

// Which operands lie along k in shared memory, where the copy engine brings each as it lies. Threads find out about that.
struct narrow_policy {
  bool long_along_k = true, short_along_k = true;
  stream_loader by = stream_loader::engine;

  constexpr bool operator==(const narrow_policy&) const = default;
  constexpr int stages() const { return short_along_k ? 6 : 5; }  // a short operand across k is there twice more
};
constexpr bool valid(const narrow_policy& p) { return p.by == stream_loader::engine || (p.long_along_k && p.short_along_k); }

struct narrow_instance {
  narrow_policy how;
  kernel code;
};

struct narrow_problem {
  stream_problem of;          // k_of_part: of each block that shares a tile, a multiple of narrow_chunk; partial: floats
  float floor;                // what a result has to reach for certain
  std::uint64_t* recomputed;  // null, or the count of outputs that were computed again for want of a certificate
};

}  // namespace antiphase::gemms
