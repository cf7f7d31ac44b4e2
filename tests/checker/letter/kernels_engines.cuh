// SPDX-License-Identifier: Apache-2.0
// Clusters, proxy fences and copies in flight. PTX ISA: barrier.cluster, proxies, cp.async.bulk.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/fences.cuh>
#include <antiphase/device/mbarrier_arrivals.cuh>
#include <antiphase/device/storage.cuh>
#include <antiphase/executor/shared_bytes.hpp>

#include "tests/checker/letter/pairs.cuh"
#include "tests/support/landed.cuh"

namespace antiphase::letter {
inline namespace AP_TARGET {

// barrier.cluster.arrive.relaxed releases none of the thread's writes.
template <bool Releases> struct neighbour {
  using params = letter::params;
  struct storage {
    std::uint32_t word[32];
  };
  static constexpr int threads = 32, cluster = 2;
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    cluster_barrier();  // the other block has started
    map_shared(s.word, cluster_rank() ^ 1)[t] = p.in[t];
    if constexpr (Releases)
      cluster_arrive();
    else
      cluster_arrive_silent();
    cluster_wait();
    p.out[cluster_rank() * threads + t] = s.word[t];
  }
};

// The fence between ordinary writes and TMA.
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

// Loads what this block has written to global memory. A load without a wait may land after the block has
// ended.
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
    test::first_thread_prepares(s.landed);
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

// Bytes are expected before the arrival, which counts for two parties; each block signals the other's
// mbarrier after writing a word.
enum class arrival { whole, expects_too_much, one_for_two, before_the_write, three_for_two };
template <arrival F> struct arrivals {
  using params = letter::params;
  struct storage {
    alignas(16) std::uint32_t word[32];
    std::uint32_t from_the_other;
    mbarrier landed, told;
  };
  static constexpr int threads = 32, cluster = 2;
  AP_DEV void operator()(const params& p) const {
    storage& s = shared<storage, shared_kind::fixed>();
    const int t = thread_index(), other = cluster_rank() ^ 1;
    if (t == 0) {
      s.landed.init(2);
      s.told.init(1);
      fence_mbarrier_init();
    }
    cluster_barrier();
    if (t == 0) {
      expect(s.landed, bytes{F == arrival::expects_too_much ? 256 : 128});
      bulk_load(s.word, p.in, sizeof s.word, s.landed);
      arrive_many(s.landed, F == arrival::one_for_two ? 1 : F == arrival::three_for_two ? 3 : 2);
      if constexpr (F == arrival::before_the_write) arrive_remote(s.told, other);
      *map_shared(&s.from_the_other, other) = p.in[cluster_rank()];
      if constexpr (F != arrival::before_the_write) arrive_remote(s.told, other);
    }
    s.landed.wait(0);
    wait_remote(s.told, 0);
    p.out[cluster_rank() * threads + t] = s.word[31 - t] + s.from_the_other;
    cluster_barrier();  // no block ends while the other may still write to it
  }
};
inline bool is_sum(const std::vector<std::uint32_t>& out) {
  for (int i = 0; i < 64; ++i)
    if (out[static_cast<std::size_t>(i)] != input(31 - i % 32) + input(i < 32 ? 1 : 0)) return false;
  return true;
}

// Shared memory sized at launch ends at the launch's size.
template <int TooFar> struct behind_storage {
  using params = letter::params;
  struct storage {
    std::uint32_t sum;
  };
  static constexpr int threads = 32;
  static constexpr shared_kind shared = shared_kind::dynamic;
  AP_DEV void operator()(const params& p) const {
    std::uint32_t* word = shared_tail<std::uint32_t, storage>();
    const int t = thread_index(), count = shared_tail_count<std::uint32_t, storage>() + TooFar;
    for (int i = t; i < count; i += threads) word[i] = p.in[i];
    block_barrier();
    p.out[t] = word[count - 1 - t];
  }
};

mutant in_tail(mutant m) {
  m.code = with_shared_bytes(m.code, 4 + 4 * 75);
  return m;
}

std::vector<mutant> engines() {
  using enum finding_kind;
  return {
      right<neighbour<true>>("cluster-arrive", {.blocks = 2}),
      wrong<neighbour<false>>("cluster-arrive-silent", "arrives without release", race,
                              "a cluster barrier, or", {.blocks = 2}),
      right<stored<fence_of::shared>>("store-fence-shared"),
      right<stored<fence_of::all>>("store-fence-all"),
      wrong<stored<fence_of::mbarriers>>("store-fence-mbarriers", "a fence for barriers alone",
                                         missing_proxy_fence, "fence_async by", {.in_every_schedule = true}),
      wrong<stored<fence_of::global>>("store-fence-global", "a fence for global memory alone",
                                      missing_proxy_fence, "fence_async by", {.in_every_schedule = true}),
      right<loaded<fence_of::global, true>>("load-fence-global"),
      right<loaded<fence_of::all, true>>("load-fence-all"),
      wrong<loaded<fence_of::shared, true>>("load-fence-shared", "a fence for shared memory alone",
                                            missing_proxy_fence, "fence_async_global by",
                                            {.in_every_schedule = true}),
      wrong<loaded<fence_of::global, false>>("load-in-flight-at-the-end", "no thread waits for the copy",
                                             never_waited_for, "a wait for the end of the mbarrier's phase",
                                             {.in_every_schedule = true}),
      in_tail(right<behind_storage<0>>("tail")),
      in_tail(wrong<behind_storage<1>>("tail-too-far", "one word past the tail", outside_memory, "",
                                       {.in_every_schedule = true})),
      right<arrivals<arrival::whole>>("arrivals", {.blocks = 2, .right = is_sum}),
      wrong<arrivals<arrival::expects_too_much>>("expect-too-much", "expects twice the bytes", deadlock,
                                                 "128 bytes missing", {.blocks = 2}),
      wrong<arrivals<arrival::one_for_two>>("arrive-one-for-two", "one party arrives for two", deadlock,
                                            "1 of 2 arrivals", {.blocks = 2}),
      wrong<arrivals<arrival::three_for_two>>("arrive-three-for-two", "three arrivals at an mbarrier of two",
                                              barrier_misuse, "3 arrivals at an mbarrier that misses 2",
                                              {.blocks = 2, .in_every_schedule = true}),
      wrong<arrivals<arrival::before_the_write>>("arrive-before-the-write",
                                                 "tells the other block before it writes", race,
                                                 "a cluster barrier, or", {.blocks = 2}),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::letter
