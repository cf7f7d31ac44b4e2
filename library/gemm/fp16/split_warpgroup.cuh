// SPDX-License-Identifier: Apache-2.0
// The three products of a warpgroup from tiles of split operands in shared memory, and the reduction of
// split-K over a cluster's blocks.
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/warp.cuh>
#include <antiphase/device/wgmma.cuh>
#include "library/gemm/fp16/split_product.hpp"
#include "library/split_multiply.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// a line: hi[16] lo[16] hi[16] lo[16], in 128-byte swizzle
using split_part = f16[split_tile][2 * split_step];
constexpr int split_row_bytes = sizeof(f16[2 * split_step]);
constexpr int sums_of_a_thread = 64;  // for the 64 x 128 outputs of its warpgroup
using split_sums = float[sums_of_a_thread];

// The parts of 64 or more lines, 16 k at each step; `line` is the first.
AP_DEV auto parts_of(const f16 (*line)[2 * split_step]) {
  return [line](auto part, int step) {
    return describe(&line[0][32 * step + 16 * part], 16, 8 * sizeof(line[0]), swizzle::bytes_128);
  };
}
AP_DEV void multiply_main(split_sums& sum, const f16 (*a)[2 * split_step], const split_part& b, bool fresh) {
  antiphase::multiply_main<major::k, major::k>(sum, split_step / 16, parts_of(a), parts_of(b), !fresh);
}
AP_DEV void multiply_mixed(split_sums& sum, const f16 (*a)[2 * split_step], const split_part& b) {
  antiphase::multiply_mixed<major::k, major::k>(sum, split_step / 16, parts_of(a), parts_of(b), true);
}

// Split-K over the blocks of a cluster that shares a tile: each block computes a part of K, and then adds up
// its share of the columns.
template <int Blocks> struct shared_tile {
  // of a block: sums of a thread, columns
  static constexpr int share = sums_of_a_thread / Blocks, width = split_tile / Blocks;
  // Each of two blocks keeps its own sums in registers, which leaves room for one more stage. With more
  // blocks, selecting them from registers takes longer than the way through memory (measured).
  static constexpr bool keeps_own = Blocks == 2;
  using exchange = float[keeps_own ? 1 : Blocks][share][2 * warpgroup_size];  // by block of the cluster

  // The first of `chunks` that the block with this number computes.
  AP_DEV static int first_chunk(int block, int chunks) {
    const int part = ceil_div(chunks, Blocks) * block;
    return part < chunks ? part : chunks;
  }
  // Adds up the sums of all blocks, in their order, for this block's share. `member`: of the computing
  // threads.
  AP_DEV static void add_parts(exchange& parts, int member, const split_sums& part, float (&sum)[share]) {
    if constexpr (keeps_own) {
      const bool second = cluster_rank() == 1;
      float* const there = map_shared(&parts[0][0][member], second ? 0 : 1);
      AP_UNROLL
      for (int i = 0; i < share; ++i) there[i * 2 * warpgroup_size] = second ? part[i] : part[share + i];
      cluster_barrier();
      warp_sync();
      AP_UNROLL
      for (int i = 0; i < share; ++i) sum[i] = (second ? part[share + i] : part[i]) + parts[0][i][member];
    } else {
      AP_UNROLL
      for (int to = 0; to < Blocks; ++to) {
        float* const there = map_shared(&parts[cluster_rank()][0][member], to);
        AP_UNROLL
        for (int i = 0; i < share; ++i) there[i * 2 * warpgroup_size] = part[to * share + i];
      }
      cluster_barrier();
      warp_sync();
      AP_UNROLL
      for (int i = 0; i < share; ++i) sum[i] = parts[0][i][member];
      AP_UNROLL
      for (int from = 1; from < Blocks; ++from) {
        AP_UNROLL
        for (int i = 0; i < share; ++i) sum[i] += parts[from][i][member];
      }
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
