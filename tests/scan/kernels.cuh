// SPDX-License-Identifier: Apache-2.0
// The tests' kernels: every step with many block sizes and with composite element types.
#include <antiphase/scan/detail/device_wide.cuh>

#include "tests/scan/kernels.hpp"
#include "tests/scan/types.hpp"

namespace antiphase::scan_test {
inline namespace AP_TARGET {

template <class T, class Op, scans::policy P> test_kernels made(const char* step) {
  return {step,
          carried_as<T>,
          P,
          {kernel_of<scans::tile_totals<T, Op, P>>("totals"), kernel_of<scans::tile_scan<T, Op, P>>("scan"),
           P.tile(sizeof(T))}};
}

constexpr scans::policy with_threads(scans::policy p, int threads) {
  p.threads = threads;
  p.blocks = 1;
  return p;
}

template <class T, class Op, int... Threads> void add(std::vector<test_kernels>& list) {
  using namespace scans;
  (list.push_back(made<T, Op, with_threads(two_barriers_policy, Threads)>("two-barriers")), ...);
  (list.push_back(made<T, Op, with_threads(double_buffer_policy, Threads)>("double-buffer")), ...);
  (list.push_back(made<T, Op, with_threads(warp_shuffle_policy, Threads)>("warp-shuffle")), ...);
  (list.push_back(made<T, Op, with_threads(items_policy, Threads)>("items")), ...);
}

std::vector<test_kernels> kernels() {
  std::vector<test_kernels> list;
  add<brackets, concatenated, 1, 2, 3, 31, 32, 33, 64, 100, 255, 256, 257, 1000, 1023, 1024>(list);
  add<nullable, last_present, 1, 33, 256, 1000>(list);
  add<matrix, times, 1, 32, 255, 1024>(list);  // Kogge-Stone in two buffers of 32 KiB: dynamic shared memory
  // Chunks of several elements under the other methods.
  using scans::method, scans::policy;
  list.push_back(
      made<brackets, concatenated, policy{.method = method::two_barriers, .threads = 96, .bytes = 16}>(
          "two-barriers"));
  list.push_back(
      made<nullable, last_present, policy{.method = method::double_buffer, .threads = 65, .bytes = 16}>(
          "double-buffer"));
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scan_test
