// SPDX-License-Identifier: Apache-2.0
// Probe kernels: clusters and overlapping launches (sm_90).
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include "tests/device/probes.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

AP_DEV unsigned linear_block() {
  const extent3 b = block_index(), g = grid_extent();
  return (b.z * g.y + b.y) * g.x + b.x;
}

struct cluster_indices {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 33;
  AP_DEV void operator()(const params& p) const {
    p.out[linear_block() * threads + static_cast<unsigned>(thread_index())] =
        static_cast<unsigned>(cluster_rank() | cluster_extent() << 8);
  }
};

// A block writes its input into the next block's shared memory, and reads that of the block after, which the
// next one has written.
template <int Threads> struct cluster_ring {
  using params = buffers;
  struct storage {
    alignas(16) std::uint32_t value[Threads];
  };
  static constexpr int threads = Threads;
  static constexpr shared_kind shared = Threads % 64 == 0 ? shared_kind::dynamic : shared_kind::fixed;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const int t = thread_index(), next = (cluster_rank() + 1) % cluster_extent(),
              after = (next + 1) % cluster_extent();
    const unsigned at = linear_block() * Threads + static_cast<unsigned>(t);
    cluster_arrive();
    const std::uint32_t mine = p.in[at];
    cluster_wait();
    map_shared(&s, next)->value[Threads - 1 - t] = mine;
    cluster_barrier();
    const std::uint32_t theirs = *map_shared(&s.value[t], after);
    cluster_barrier();
    p.out[at] = theirs + static_cast<unsigned>(after);
  }
};

// Each warp has its own barrier in the program, as roles do. (In a cluster of one block, compute-sanitizer's
// synccheck reports that as an error.)
struct cluster_places {
  using params = buffers;
  struct storage {
    std::uint32_t value[96];
  };
  static constexpr int threads = 96;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    const unsigned at = linear_block() * threads + static_cast<unsigned>(t);
    std::uint32_t* theirs = map_shared(s.value, cluster_extent() - 1 - cluster_rank());
    cluster_barrier();
    theirs[95 - t] = p.in[at];
    if (t < 32) {
      cluster_barrier();
      p.out[at] = s.value[t];
    } else if (t < 64) {
      cluster_arrive();
      p.out[at] = static_cast<unsigned>(t);
      cluster_wait();
      p.out[at] += s.value[t];
    } else {
      cluster_barrier();
      p.out[at] = s.value[t] ^ 1u;
    }
  }
};

// Warps 1 and 3 exit before the others arrive.
struct cluster_leavers {
  using params = buffers;
  struct storage {
    std::uint32_t value[128];
  };
  static constexpr int threads = 128;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    const unsigned at = linear_block() * threads + static_cast<unsigned>(t);
    cluster_barrier();
    map_shared(s.value, cluster_extent() - 1 - cluster_rank())[t ^ 32] = p.in[at];
    cluster_arrive();
    if (t / 32 % 2 == 1) return;
    cluster_wait();
    p.out[at] = s.value[t];
    cluster_barrier();
  }
};

// One link of a chain of launches: each thread continues from the last store of another thread of the launch
// before. Two variants are broken.
enum class linked { right, one_thread_waits, nobody_waits, late };
template <linked F> struct chain_link {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 64;
  static constexpr bool overlaps_previous = true;
  AP_DEV void operator()(const params& p) const {
    start_next_grid();
    const int at = static_cast<int>(linear_block()) * threads + thread_index();
    if constexpr (F == linked::right) wait_for_previous_grid();
    if constexpr (F == linked::one_thread_waits) {
      if (thread_index() == 5) wait_for_previous_grid();
      block_barrier();
    }
    const std::uint32_t mine = p.in[p.size - 1 - at];
    if constexpr (F == linked::late) wait_for_previous_grid();
    p.out[at] = chewed(mine);  // gives the next launch time to start too early
  }
};

// Two blocks write into each other's shared memory, and read their own and the other's. All variants but the
// first are broken.
enum class exchange {
  right,
  no_barrier_before_read,
  block_barrier_only,
  write_after_arrival,
  read_before_wait,
  no_barrier_at_end
};
template <exchange F> struct cluster_exchange {
  using params = buffers;
  struct storage {
    std::uint32_t value[64];
  };
  static constexpr int threads = 64, cluster = 2;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    const unsigned at = linear_block() * threads + static_cast<unsigned>(t);
    storage& theirs = *map_shared(&s, cluster_rank() ^ 1);
    cluster_barrier();
    if constexpr (F != exchange::write_after_arrival) theirs.value[t] = p.in[at];
    if constexpr (F == exchange::block_barrier_only) {
      block_barrier();
    } else if constexpr (F != exchange::no_barrier_before_read) {
      cluster_arrive();
      if constexpr (F == exchange::write_after_arrival) theirs.value[t] = p.in[at];
      if constexpr (F != exchange::read_before_wait) cluster_wait();
    }
    const std::uint32_t mine = s.value[t ^ 63];
    if constexpr (F == exchange::read_before_wait) cluster_wait();
    p.out[at] = mine * 3 + theirs.value[t ^ 1];
    if constexpr (F != exchange::no_barrier_at_end) cluster_barrier();
  }
};

std::vector<kernel> cluster_kernels() {
  return {kernel_of<cluster_indices>("cluster-indices"),
          kernel_of<cluster_ring<97>>("cluster-ring-97"),
          kernel_of<cluster_ring<512>>("cluster-ring-512"),
          kernel_of<cluster_places>("cluster-places"),
          kernel_of<cluster_leavers>("cluster-leavers"),
          kernel_of<chain_link<linked::right>>("chain-link"),
          kernel_of<chain_link<linked::one_thread_waits>>("chain-one-thread-waits"),
          kernel_of<chain_link<linked::nobody_waits>>("chain-nobody-waits"),
          kernel_of<chain_link<linked::late>>("chain-waits-late"),
          kernel_of<cluster_exchange<exchange::right>>("cluster-exchange"),
          kernel_of<cluster_exchange<exchange::no_barrier_before_read>>("exchange-no-barrier-before-read"),
          kernel_of<cluster_exchange<exchange::block_barrier_only>>("exchange-block-barrier-only"),
          kernel_of<cluster_exchange<exchange::write_after_arrival>>("exchange-write-after-arrival"),
          kernel_of<cluster_exchange<exchange::read_before_wait>>("exchange-read-before-wait"),
          kernel_of<cluster_exchange<exchange::no_barrier_at_end>>("exchange-no-barrier-at-end")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
