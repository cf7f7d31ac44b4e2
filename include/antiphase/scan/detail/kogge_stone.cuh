// SPDX-License-Identifier: Apache-2.0
// The block scan of Kogge and Stone: in step s each thread adds the value 2^s to its left.
#pragma once
#include <antiphase/core/cursor.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/scan/detail/tile_shape.cuh>
#include <antiphase/scan/warp_scan.cuh>

namespace antiphase::scans {
inline namespace AP_TARGET {

// A block scan, here and in block.cuh, is a type:
//   storage     its shared memory
//   prefixes(storage, chunk, count, op)
//               replaces the total of each of a thread's chunks by the total of all before it in the tile
//               (unspecified for the first chunk). Returns the total of the tile to every thread. A block
//               barrier must follow before the storage is used again.
template <class Block, class T, class Op, int Rounds>
concept block_scan = requires(typename Block::storage& s, values<T, Rounds>& chunk, int count, Op op) {
  { Block::prefixes(s, chunk, count, op) } -> std::same_as<T>;
};

// In place: a value must have been read by the thread to the right before it is overwritten, and the new one
// must be visible to it in the next step.
template <scannable T, combines<T> Op, policy P> struct kogge_stone_two_barriers {
  using shape = tile_shape<T, P>;
  struct storage {
    shared_values<T, P.threads> value;
  };

  AP_DEV static T prefixes(storage& s, values<T, 1>& chunk, int count, Op op) {
    const int thread = thread_index(), live = shape::live_threads(count);
    T mine = chunk.elements[0];
    s.value[thread] = mine;
    block_barrier();
    for (int by = 1; by < P.threads; by *= 2) {
      if (thread >= by && thread < live) mine = op(s.value[thread - by], mine);
      block_barrier();
      s.value[thread] = mine;
      block_barrier();
    }
    if (thread > 0) chunk.elements[0] = s.value[thread - 1];
    return s.value[live - 1];
  }
};

// Between two buffers that are exchanged after each step; threads below the stride copy. What a step
// overwrites was read in the previous one, with a barrier in between.
template <scannable T, combines<T> Op, policy P> struct kogge_stone_double_buffer {
  using shape = tile_shape<T, P>;
  struct storage {
    shared_values<T, P.threads> value[2];
  };

  AP_DEV static T prefixes(storage& s, values<T, 1>& chunk, int count, Op op) {
    const int thread = thread_index(), live = shape::live_threads(count);
    cursor<2> from, to{1, 0};
    s.value[from.index][thread] = chunk.elements[0];
    block_barrier();
    for (int by = 1; by < P.threads; by *= 2, ++from, ++to) {
      const T mine = s.value[from.index][thread];
      s.value[to.index][thread] =
          thread >= by && thread < live ? T(op(s.value[from.index][thread - by], mine)) : mine;
      block_barrier();
    }
    if (thread > 0) chunk.elements[0] = s.value[from.index][thread - 1];
    return s.value[from.index][live - 1];
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
