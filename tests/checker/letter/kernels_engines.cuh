// SPDX-License-Identifier: Apache-2.0
// Clusters, proxy fences and copies in flight. PTX ISA: barrier.cluster, proxies, cp.async.bulk.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/fences.cuh>

#include "tests/checker/letter/pairs.cuh"

namespace antiphase::letter {
inline namespace AP_TARGET {

// barrier.cluster.arrive.relaxed tells the others nothing of what the thread did.
template <bool Releases> struct neighbour {
  using params = letter::params;
  struct storage {
    std::uint32_t word[32];
  };
  static constexpr int threads = 32, cluster = 2;
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    cluster_barrier();  // the other block has begun
    map_shared(s.word, cluster_rank() ^ 1)[t] = p.in[t];
    if constexpr (Releases)
      cluster_arrive();
    else
      cluster_arrive_silent();
    cluster_wait();
    p.out[cluster_rank() * threads + t] = s.word[t];
  }
};

// Which fence stands between ordinary writes and the copy engine.
enum class fence_of { shared, mbarriers, global, all };
template <fence_of F> AP_DEV void fence_before_copy() {
  if constexpr (F == fence_of::shared)
    fence_async();
  else if constexpr (F == fence_of::mbarriers)
    fence_mbarrier_init();
  else if constexpr (F == fence_of::global)
    fence_async_global();
  else
    fence_async_all();
}
template <fence_of F> struct stored {
  using params = letter::params;
  struct storage {
    alignas(16) std::uint32_t word[64];
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    s.word[thread_index()] = p.in[thread_index()];
    fence_before_copy<F>();
    block_barrier();
    if (thread_index() != 0) return;
    bulk_store(p.out, s.word, sizeof s.word);
    bulk_commit();
    bulk_wait<0>();
  }
};

// Loads what this block has written to global memory. One that is not waited for may land in a block that has ended.
template <fence_of F, bool Waits> struct loaded {
  using params = letter::params;
  struct storage {
    alignas(16) std::uint32_t word[64];
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
    p.out[t] = p.in[t];
    fence_before_copy<F>();
    block_barrier();
    if (t == 0) {
      s.landed.arrive(bytes{sizeof s.word});
      bulk_load(s.word, p.out, sizeof s.word, s.landed);
    }
    if constexpr (!Waits) return;
    s.landed.wait(0);
    p.out[128 + t] = s.word[63 - t];
  }
};

std::vector<mutant> engines() {
  using enum finding_kind;
  return {
      right<neighbour<true>>("cluster-arrive", {.blocks = 2}),
      wrong<neighbour<false>>("cluster-arrive-silent", "arrives without release", race, "a cluster barrier, or", {.blocks = 2}),
      right<stored<fence_of::shared>>("store-fence-shared"),
      right<stored<fence_of::all>>("store-fence-all"),
      wrong<stored<fence_of::mbarriers>>("store-fence-mbarriers", "a fence for barriers alone", missing_proxy_fence, "fence_async by",
                                         {.in_every_schedule = true}),
      wrong<stored<fence_of::global>>("store-fence-global", "a fence for global memory alone", missing_proxy_fence, "fence_async by",
                                      {.in_every_schedule = true}),
      right<loaded<fence_of::global, true>>("load-fence-global"),
      right<loaded<fence_of::all, true>>("load-fence-all"),
      wrong<loaded<fence_of::shared, true>>("load-fence-shared", "a fence for shared memory alone", missing_proxy_fence,
                                            "fence_async_global by", {.in_every_schedule = true}),
      wrong<loaded<fence_of::global, false>>("load-in-flight-at-the-end", "nobody waits for the copy", never_waited_for,
                                             "a wait for the end of the mbarrier's phase", {.in_every_schedule = true}),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::letter
