// SPDX-License-Identifier: Apache-2.0
// A kernel that occupies multiprocessors.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/kernel.cuh>

#include "tests/scan/holder.hpp"

namespace antiphase::scan_test {
inline namespace AP_TARGET {

// Blocks with almost all shared memory of a multiprocessor spin until the flag is set, for some ten seconds
// at most.
struct holder {
  using params = holder_arguments;
  struct storage {
    unsigned char all[200 << 10];
  };
  static constexpr int threads = 32;
  static constexpr shared_kind shared = shared_kind::dynamic;

  AP_DEV void operator()(const params& p) const {
    int polls = 0;
    poll([&] { return load_acquire(p.let_go) != 0 || ++polls == 1 << 23; });
  }
};
kernel holder_kernel() { return kernel_of<holder>("holder"); }

}  // namespace AP_TARGET
}  // namespace antiphase::scan_test
