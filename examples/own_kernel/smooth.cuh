// SPDX-License-Identifier: Apache-2.0
// A double-buffered kernel: cp.async copies the next tile to shared memory while this one is summed.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/kernel.cuh>

#include "smooth.hpp"

namespace example {
inline namespace AP_TARGET {

using namespace antiphase;

template <last_barrier B> struct smooth {
  using params = smooth_params;
  struct storage {
    int value[2][tile + 2];  // two tiles, each with a neighbour at either end
  };
  static constexpr int threads = tile;

  AP_DEV static void load(int* to, const params& p, int first, int i) {
    const int at = first + i - 1;
    const bool inside = at >= 0 && at < p.size;
    copy_async<4>(&to[i], inside ? &p.source[at] : p.source, inside ? 4 : 0);
  }
  AP_DEV static void load_tile(int* to, const params& p, int first) {
    load(to, p, first, thread_index());
    if (thread_index() < 2) load(to, p, first, tile + thread_index());
  }

  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), tiles = (p.size + tile - 1) / tile;
    load_tile(s.value[0], p, 0);
    copy_async_commit();
    for (int i = 0; i < tiles; ++i) {
      if (i + 1 < tiles) load_tile(s.value[(i + 1) % 2], p, (i + 1) * tile);
      copy_async_commit();
      copy_async_wait<1>();  // this thread's copies of tile i have landed
      block_barrier();       // and those of all threads
      const int* v = s.value[i % 2];
      if (i * tile + t < p.size) p.target[i * tile + t] = v[t] + v[t + 1] + v[t + 2];
      // the next iteration copies to the buffer that other threads may still be reading
      if constexpr (B == last_barrier::kept) block_barrier();
    }
  }
};

kernel smooth_kernel(last_barrier b) {
  return b == last_barrier::kept
             ? kernel_of<smooth<last_barrier::kept>>("smooth")
             : kernel_of<smooth<last_barrier::forgotten>>("smooth without its last barrier");
}

}  // namespace AP_TARGET
}  // namespace example
