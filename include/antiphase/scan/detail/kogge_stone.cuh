// SPDX-License-Identifier: Apache-2.0
// The block scan of Kogge and Stone: in step s every thread adds what lies 2^s to its left.
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
//               every thread brings the total of each of its chunks and gets in their place what lies before
//               them in the tile, which for
//               the first chunk of the tile is nothing and has no meaning. Returns the total of the tile, to
//               every thread. A block barrier
//               must follow before the storage is used again.
template <class Block, class T, class Op, int Rounds>
concept block_scan = requires(typename Block::storage& s, values<T, Rounds>& chunk, int count, Op op) {
  { Block::prefixes(s, chunk, count, op) } -> std::same_as<T>;
};

// In place: what is overwritten in a step must have been read by the thread to the right, and must be seen by
// it in the next.
template <scannable T, combines<T> Op, policy P> struct kogge_stone_two_barriers {
  using shape = tile_shape<T, P>;
  struct storage {
    shared_values<T, P.threads> value;
  };

  AP_DEV static T prefixes(storage& s, values<T, 1>& chunk, int count, Op op) {
    const int thread = thread_index(), live = shape::live_threads(count);
    T mine = chunk.at[0];
    s.value[thread] = mine;
    block_barrier();
    for (int by = 1; by < P.threads; by *= 2) {
      if (thread >= by && thread < live) mine = op(s.value[thread - by], mine);
      block_barrier();
      s.value[thread] = mine;
      block_barrier();
    }
    if (thread > 0) chunk.at[0] = s.value[thread - 1];
    return s.value[live - 1];
  }
};

// From one buffer into the other, which change places after each step: threads below the stride copy. What is
// overwritten in a step was read in the one before, and there was a barrier in between.
template <scannable T, combines<T> Op, policy P> struct kogge_stone_double_buffer {
  using shape = tile_shape<T, P>;
  struct storage {
    shared_values<T, P.threads> value[2];
  };

  AP_DEV static T prefixes(storage& s, values<T, 1>& chunk, int count, Op op) {
    const int thread = thread_index(), live = shape::live_threads(count);
    cursor<2> from, to{1, 0};
    s.value[from.index][thread] = chunk.at[0];
    block_barrier();
    for (int by = 1; by < P.threads; by *= 2, ++from, ++to) {
      const T mine = s.value[from.index][thread];
      s.value[to.index][thread] =
          thread >= by && thread < live ? T(op(s.value[from.index][thread - by], mine)) : mine;
      block_barrier();
    }
    if (thread > 0) chunk.at[0] = s.value[from.index][thread - 1];
    return s.value[from.index][live - 1];
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
