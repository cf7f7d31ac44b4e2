// SPDX-License-Identifier: Apache-2.0
// Probe kernels of arrivals at mbarriers and of fences by state space.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/fences.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/mbarrier_arrivals.cuh>
#include "tests/device/probes.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

// Each block loads its numbers, and gets one from each other block of its cluster, which say so at its mbarrier.
struct arrivals {
  using params = buffers;
  struct storage {
    alignas(16) std::uint32_t value[64];
    std::uint32_t from[16];
    mbarrier landed, told;
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), extent = cluster_extent();
    const unsigned first = (block_index().y * grid_extent().x + block_index().x) * threads;
    if (t == 0) {
      s.landed.init(4);
      s.told.init(extent);
      fence_mbarrier_init();
    }
    cluster_barrier();
    if (t == 0) {
      expect(s.landed, bytes{sizeof s.value});
      bulk_load(s.value, p.in + first, sizeof s.value, s.landed);
      arrive_many(s.landed, 3);
      s.landed.arrive();
    }
    if (t < extent) {
      *map_shared(&s.from[cluster_rank()], t) = p.in[first + static_cast<unsigned>(t)];
      arrive_remote(s.told, t);
    }
    s.landed.wait(0);
    wait_remote(s.told, 0);
    std::uint32_t sum = s.value[63 - t];
    for (int i = 0; i < extent; ++i) sum = sum * 3 + s.from[i];
    p.out[first + static_cast<unsigned>(t)] = sum;
    cluster_barrier();
  }
};

// Numbers that the block has written to global memory come back by bulk load, and are stored from where they were changed.
struct there_and_back {
  using params = buffers;
  struct storage {
    alignas(16) std::uint32_t value[64];
    mbarrier landed;
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if (t == 0) {
      s.landed.init(1);
      fence_mbarrier_init();
    }
    p.out[63 - t] = p.in[t];
    fence_async_global();
    fence_acquire_release<scope::block>();
    block_barrier();
    if (t == 0) {
      s.landed.arrive(bytes{sizeof s.value});
      bulk_load(s.value, p.out, sizeof s.value, s.landed);
    }
    s.landed.wait(0);
    s.value[t] = s.value[t] * 5 + 1;
    fence_async_all();
    block_barrier();
    if (t != 0) return;
    bulk_store(p.out, s.value, sizeof s.value);
    bulk_commit();
    bulk_wait<0>();
  }
};

std::vector<kernel> arrival_kernels() { return {kernel_of<arrivals>("arrivals"), kernel_of<there_and_back>("there-and-back")}; }

}  // namespace AP_TARGET
}  // namespace antiphase::probe
