// SPDX-License-Identifier: Apache-2.0
// Probe kernels: shared memory sized at launch, and constants.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/storage.cuh>
#include <antiphase/executor/shared_bytes.hpp>
#include "tests/device/probes.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

AP_CONSTANT std::uint32_t weights[5] = {3, 1, 4, 1, 5};

// Numbers pass through the dynamic tail of shared memory, each with a weight.
struct tail {
  using params = buffers;
  struct storage {
    std::uint32_t first;
    unsigned char odd;
  };
  static constexpr int threads = 96;
  static constexpr shared_kind shared = shared_kind::dynamic;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    std::uint64_t* word = shared_tail<std::uint64_t, storage>();
    const int count = shared_tail_count<std::uint64_t, storage>();
    if (thread_index() == 0) s.first = p.in[0];
    for (int i = thread_index(); i < count; i += threads) word[i] = p.in[i];
    block_barrier();
    for (int i = thread_index(); i < p.size; i += threads)
      p.out[i] = static_cast<std::uint32_t>(word[count - 1 - i]) * weights[i % 5] + s.first +
                 static_cast<std::uint32_t>(shared_size());
  }
};

std::vector<kernel> storage_kernels() {
  return {with_shared_bytes(kernel_of<tail>("tail"), 8 + 130 * 8),
          with_shared_bytes(kernel_of<tail>("large-tail"), 8 + 7000 * 8 + 7)};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
