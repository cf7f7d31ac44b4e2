// SPDX-License-Identifier: Apache-2.0
// Probe kernels: arrivals at mbarriers, fences by state space, and further bulk copies of rows.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk_reduce.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/fences.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/mbarrier_arrivals.cuh>
#include <antiphase/device/multicast.cuh>
#include "tests/device/probes.hpp"
#include "tests/device/reductions.hpp"
#include "tests/support/landed.cuh"

namespace antiphase::probe {
inline namespace AP_TARGET {

// Each block loads its numbers, and gets one from each other block of its cluster; the senders arrive at its
// mbarrier.
struct arrivals {
  using params = buffers;
  struct storage {
    alignas(16) std::uint32_t value[64];
    std::uint32_t source[16];
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
      *map_shared(&s.source[cluster_rank()], t) = p.in[first + static_cast<unsigned>(t)];
      arrive_remote(s.told, t);
    }
    s.landed.wait(0);
    wait_remote(s.told, 0);
    std::uint32_t sum = s.value[63 - t];
    for (int i = 0; i < extent; ++i) sum = sum * 3 + s.source[i];
    p.out[first + static_cast<unsigned>(t)] = sum;
    cluster_barrier();
  }
};

// Numbers that the block has written to global memory are bulk-loaded, changed, and bulk-stored from shared
// memory.
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
    test::first_thread_prepares(s.landed);
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

// Two rounds: half of the threads arrive by cp.async.mbarrier.arrive, the other half arrive themselves, and
// the mbarrier also waits for these threads' copies. compute-sanitizer's synccheck reports "Missing wait" for
// the second half, 32 threads: it counts cp.async.mbarrier.arrive as an arrival, after which the thread
// arrives again without a wait. That instruction raises the pending count before it lowers it again (PTX
// ISA), so the phase still lacks the thread's own arrival; nor does PTX require a wait between two arrivals
// of a thread. All threads wait for a phase before they arrive in the next.
struct copies_arrive {
  using params = buffers;
  struct storage {
    std::uint32_t value[2][64];
    mbarrier landed;
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if (t == 0) s.landed.init(threads);
    block_barrier();
    for (int round = 0; round < 2; ++round) {
      copy_async<4>(&s.value[round][t], p.in + 64 * round + t, 4);
      if (t % 2 == 0) {
        copy_async_arrive(s.landed);
      } else {
        copy_async_track(s.landed);
        s.landed.arrive();
      }
      s.landed.wait(static_cast<unsigned>(round));
      p.out[64 * round + t] = s.value[round][63 - t];
    }
  }
};

// The first block of a cluster loads a row for all.
struct row_for_all {
  using params = buffers;
  struct storage {
    alignas(16) std::uint32_t value[64];
    mbarrier landed;
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), rank = cluster_rank();
    const unsigned first = (block_index().y * grid_extent().x + block_index().x) * threads;
    if (t == 0) {
      s.landed.init(1);
      fence_mbarrier_init();
      s.landed.arrive(bytes{sizeof s.value});
    }
    cluster_barrier();
    if (t == 0 && rank == 0)
      bulk_load_multicast(s.value, p.in + first, sizeof s.value, s.landed, (1u << cluster_extent()) - 1);
    s.landed.wait(0);
    p.out[first + static_cast<unsigned>(t)] = s.value[63 - t] + static_cast<unsigned>(rank);
  }
};

// Bulk stores write numbers of each kind to a zeroed output, then bulk reductions update them.
struct reductions {
  using params = buffers;
  struct storage {
    alignas(16) std::uint32_t word[reduction_kinds][reduction_words];
  };
  static constexpr int threads = 32;
  template <int Which> AP_DEV static void reduce(storage& s, const params& p) {
    const int t = thread_index();
    each_reduction([&](int kind, auto r) {
      using number = typename decltype(r)::type;
      constexpr int count = reduction_words * 4 / static_cast<int>(sizeof(number));
      if (t < count) reinterpret_cast<number*>(s.word[kind])[t] = reduced_number<number>(Which, t);
    });
    fence_async();
    block_barrier();
    if (t == 0) {
      each_reduction([&](int kind, auto r) {
        using number = typename decltype(r)::type;
        std::uint32_t* const to = p.out + reduction_words * kind;
        if constexpr (Which == 0)
          bulk_reduce<bulk_update::bit_or>(to, s.word[kind], sizeof s.word[0]);
        else
          bulk_reduce<decltype(r)::update>(reinterpret_cast<number*>(to),
                                           reinterpret_cast<const number*>(s.word[kind]), sizeof s.word[0]);
      });
      bulk_commit();
      bulk_wait<0>();
    }
    block_barrier();
  }
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    reduce<0>(s, p);
    reduce<1>(s, p);
  }
};

std::vector<kernel> arrival_kernels() {
  return {kernel_of<arrivals>("arrivals"), kernel_of<there_and_back>("there-and-back"),
          kernel_of<copies_arrive>("copies-arrive"), kernel_of<row_for_all>("row-for-all"),
          kernel_of<reductions>("reductions")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
