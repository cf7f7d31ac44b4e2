// SPDX-License-Identifier: Apache-2.0
// The elements of a tile that a thread holds.
#pragma once
#include <antiphase/device/warp.cuh>
#include <antiphase/scan/detail/policy.hpp>
#include <antiphase/scan/operators.hpp>

namespace antiphase::scans {
inline namespace AP_TARGET {

// N elements in registers or in shared memory. T may have any constructors or none: nothing is constructed.
template <scannable T, int N> union values {
  T elements[N];
  AP_DEV values() {}
};
template <scannable T, int N> struct shared_values {
  alignas(T) unsigned char bytes[N * sizeof(T)];
  AP_DEV T& operator[](int i) { return reinterpret_cast<T*>(bytes)[i]; }
};

// Element e of a thread's chunk r is element position(r) + e of the tile. The chunks of a round are in lane
// order, rounds follow each other within a warp, warps within the block. If a tile has only `count` elements,
// the last lanes of a round and the last warps of the block are without elements.
template <class T, policy P> struct tile_shape {
  static_assert(valid(P));
  static constexpr int chunk = P.chunk(sizeof(T));
  static constexpr int rounds = P.rounds(sizeof(T));
  static constexpr int tile = P.tile(sizeof(T));
  static constexpr int warps = (P.threads + warp_size - 1) / warp_size;
  static constexpr int warp_tile = warp_size * rounds * chunk;

  AP_DEV static int lanes(int warp) {
    return P.threads % warp_size == 0 || warp + 1 < warps ? warp_size : P.threads % warp_size;
  }
  AP_DEV static int position(int warp, int round, int lane) {
    return warp * warp_tile + (round * lanes(warp) + lane) * chunk;
  }
  AP_DEV static int position(int round) { return position(thread_index() / warp_size, round, lane_index()); }

  // The number of lanes of a round, threads of a block in a single round, and warps that have elements.
  AP_DEV static int live_lanes(int warp, int round, int count) {
    const int left = count - position(warp, round, 0), most = lanes(warp);
    return left <= 0 ? 0 : left >= most * chunk ? most : (left + chunk - 1) / chunk;
  }
  AP_DEV static int live_threads(int count) { return (count + chunk - 1) / chunk; }
  AP_DEV static int live_warps(int count) { return (count + warp_tile - 1) / warp_tile; }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
