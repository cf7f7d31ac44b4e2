// SPDX-License-Identifier: Apache-2.0
// How 256 threads share a tile whose outputs they recompute.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/index.cuh>

namespace antiphase::gemms {
inline namespace AP_TARGET {

struct recompute_shape {
  static constexpr int threads = 256, warps = 8, barrier = 1;  // the named barrier at which the threads meet
  static constexpr int rows = 32, columns = 64;                // of a warp, 4 x 2 of them
  static constexpr int depth = 32;
  static constexpr int by_all = 5;  // a list of up to so many has all threads, output by output
  // A list of up to so many is not worth a whole tile of the operands, of which none, one or both have k
  // strided.
  AP_FN static constexpr int list_apart(int strided) {
    return strided == 0 ? 64 : strided == 1 ? 12 : by_all;
  }
  // Lanes that share the sum of an output, of a longer list: as many as there are for each, in one warp.
  AP_FN static constexpr int lanes_of_output(int count) {
    int lanes = warp_size;
    while (lanes > 1 && lanes * count > threads) lanes /= 2;
    return lanes;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
