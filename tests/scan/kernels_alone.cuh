// SPDX-License-Identifier: Apache-2.0
// User kernels that call the scans of warps and blocks.
#include <antiphase/device/kernel.cuh>
#include <antiphase/scan/block_scan.cuh>
#include <antiphase/scan/warp_scan.cuh>

#include "tests/scan/kernels.hpp"
#include "tests/scan/types.hpp"

namespace antiphase::scan_test {
inline namespace AP_TARGET {

template <class Op> AP_DEV Op operator_of(unsigned modulus) {
  if constexpr (std::is_same_v<Op, composed>)
    return Op{modulus};
  else
    return Op{};
}

// One block scans one tile; the total follows the tile. The first thread compares its total with the last
// thread's.
template <class T, class Op, int Threads, int Items, scans::method How> struct block_alone {
  using params = alone_arguments;
  using of_block = block_scan<T, Op, Threads, Items, How>;
  struct storage {
    typename of_block::storage scan;
    scans::shared_values<T, 1> total;
  };
  static constexpr int threads = Threads;
  static constexpr shared_kind shared =
      sizeof(storage) > fixed_shared_limit ? shared_kind::dynamic : shared_kind::fixed;

  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const T* in = static_cast<const T*>(p.in);
    T* out = static_cast<T*>(p.out);
    scans::values<T, Items> mine;
    const int first = thread_index() * Items;
    AP_UNROLL
    for (int i = 0; i < Items; ++i) mine.elements[i] = in[first + i < p.count ? first + i : 0];
    const Op op = operator_of<Op>(p.modulus);
    const T total = p.exclusive ? of_block::exclusive(s.scan, mine.elements, in[p.count], op, p.count)
                                : of_block::inclusive(s.scan, mine.elements, op, p.count);
    AP_UNROLL
    for (int i = 0; i < Items; ++i)
      if (first + i < p.count) out[first + i] = mine.elements[i];
    if (thread_index() == Threads - 1) s.total[0] = total;
    block_barrier();
    if (thread_index() == 0) out[p.count] = s.total[0] == total ? total : in[0];
  }
};

// Two warps scan adjacent ranges: `count` elements each, followed by the total.
template <class T, class Op> struct warps_alone {
  using params = alone_arguments;
  struct storage {};
  static constexpr int threads = 2 * warp_size;

  AP_DEV void operator()(const params& p) const {
    const int lane = lane_index(), first = thread_index() / warp_size * (p.count + 1);
    const T* in = static_cast<const T*>(p.in) + first;
    T* out = static_cast<T*>(p.out) + first;
    const Op op = operator_of<Op>(p.modulus);
    const T mine = in[lane < p.count ? lane : 0], initial = in[p.count];
    const T result = p.exclusive ? warp_exclusive_scan(mine, initial, op, p.count)
                                 : warp_inclusive_scan(mine, op, p.count);
    const T total = warp_reduce(mine, op, p.count);
    if (lane < p.count) out[lane] = result;
    if (lane == warp_size - 1) out[p.count] = total;
  }
};

template <class T, class Op, int Threads, int Items, scans::method How = scans::method::warp_shuffle>
alone_kernel block_of(const char* name) {
  return {name, carried_as<T>, kernel_of<block_alone<T, Op, Threads, Items, How>>(name), Threads * Items, 1};
}
template <class T, class Op> alone_kernel warps_of(const char* name) {
  return {name, carried_as<T>, kernel_of<warps_alone<T, Op>>(name), warp_size, 2};
}

std::vector<alone_kernel> kernels_alone() {
  using scans::method;
  return {block_of<brackets, concatenated, 1, 5>("1 thread"),
          block_of<brackets, concatenated, 31, 3>("31 threads"),
          block_of<brackets, concatenated, 256, 1>("256 threads"),
          block_of<brackets, concatenated, 100, 4, method::double_buffer>("two buffers"),
          block_of<brackets, concatenated, 65, 2, method::two_barriers>("two barriers"),
          block_of<nullable, last_present, 64, 7>("3 bytes"),
          block_of<matrix, times, 96, 2>("32 bytes"),
          block_of<affine, composed, 200, 3>("an operator with a value"),
          warps_of<brackets, concatenated>("warps"),
          warps_of<nullable, last_present>("warps, 3 bytes"),
          warps_of<matrix, times>("warps, 32 bytes"),
          warps_of<affine, composed>("warps, an operator with a value")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::scan_test
