// SPDX-License-Identifier: Apache-2.0
// Probe kernels of mbarriers and bulk copies (sm_90).
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/kernel.cuh>
#include "tests/device/probes.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

// Warp 0 fills a buffer, warps 1 and 2 read it; a warp arrives as one party.
struct hand_over {
  using params = buffers;
  struct storage {
    mbarrier full, empty;
    std::uint32_t value[32];
  };
  static constexpr int threads = 96, rounds = 7;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int warp = warp_index(), lane = lane_index();
    if (thread_index() == 0) {
      s.full.init(warps(1));
      s.empty.init(warps(2));
    }
    block_barrier();
    for (int round = 0; round < rounds; ++round) {
      const auto parity = static_cast<unsigned>(round % 2);
      if (warp == 0) {
        s.empty.wait(parity ^ 1);  // the first wait passes immediately
        s.value[lane] = p.in[round * 32 + lane];
        s.full.arrive(by_warp{});
      } else {
        if (warp == 1)
          s.full.wait(parity);
        else
          poll([&] { return s.full.ended(parity); });
        p.out[(round * 2 + warp - 1) * 32 + lane] = s.value[(lane + warp) % 32];
        s.empty.arrive(by_warp{});
      }
    }
  }
};

// A row by bulk copies, changed in shared memory in between. Half of its bytes are announced before their
// copy, half after.
struct bulk_row {
  using params = buffers;
  static constexpr int threads = 64, words = 1024;
  struct storage {
    alignas(16) std::uint32_t value[words];
    mbarrier landed;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if (thread_index() == 0) {
      s.landed.init(2);
      fence_mbarrier_init();
    }
    block_barrier();
    const std::uint32_t half = sizeof s.value / 2;
    const std::uint32_t* row = p.in + block_index().x * words;
    if (thread_index() == 0) {
      s.landed.arrive(bytes{static_cast<int>(half)});
      bulk_load(s.value, row, half, s.landed);
      bulk_load(s.value + words / 2, row + words / 2, half, s.landed);
      s.landed.arrive(bytes{static_cast<int>(half)});
    }
    s.landed.wait(0);
    for (int i = thread_index(); i < words; i += threads)
      s.value[i] = s.value[i] * 2 + static_cast<unsigned>(i);
    fence_async();
    block_barrier();
    if (thread_index() != 0) return;
    for (int part = 0; part < 4; ++part) {
      bulk_store(p.out + block_index().x * words + part * words / 4, s.value + part * words / 4,
                 sizeof s.value / 4);
      bulk_commit();
    }
    bulk_wait_read<2>();  // the first two parts may be overwritten now
    for (int i = 0; i < words / 2; ++i) s.value[i] = 0;
    bulk_wait<0>();
  }
};

std::vector<kernel> bulk_kernels() {
  return {kernel_of<hand_over>("hand-over"), kernel_of<bulk_row>("bulk-row")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
