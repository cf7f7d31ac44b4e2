// SPDX-License-Identifier: Apache-2.0
// Probe kernels: atomic updates, votes, matches and three-dimensional blocks.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/atomic_update.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/block_vote.cuh>
#include <antiphase/device/index3.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include "tests/device/probes.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

// A single thread, so that each operation's return value and result are known: two words of `out` for each,
// of T.
template <class T, scope S, ordering O> struct updates_alone {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 1;
  AP_DEV void operator()(const params& p) const {
    T* out = reinterpret_cast<T*>(p.out);
    const T value = static_cast<T>(p.in[1] | std::uint64_t{p.in[2]} << 32);
    int next = 0;
    const auto note = [&](T* word, T before) {
      out[next++] = before;
      out[next++] = *word;
    };
    T* word = out + update_results;
    *word = static_cast<T>(p.in[0] | std::uint64_t{p.in[3]} << 32);
    note(word, atomic_and<S, O>(word, value));
    note(word, atomic_or<S, O>(word, static_cast<T>(5)));
    note(word, atomic_xor<S, O>(word, value));
    note(word, atomic_min<S, O>(word, static_cast<T>(-7)));
    note(word, atomic_max<S, O>(word, static_cast<T>(-3)));
    note(word, atomic_min<S, O>(word, static_cast<T>(11)));
    note(word, atomic_max<S, O>(word, static_cast<T>(9)));
    note(word, atomic_exchange<S, O>(word, value));
    note(word, atomic_compare_exchange<S, O>(word, static_cast<T>(1), static_cast<T>(2)));
    note(word, atomic_compare_exchange<S, O>(word, value, static_cast<T>(2)));
  }
};

// All threads of all blocks at once. out: [0] minimum, [1] maximum (signed), [2] and, [3] or, [4] xor of the
// numbers, [5] wrapping increment to 6, [6] wrapping decrement to 0, [8, 9] a 64-bit sum by compare_exchange,
// [10] a sum under a lock, [11] the lock.
struct updates_of_all {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    const std::uint32_t mine = p.in[block_index().x * threads + static_cast<unsigned>(thread_index())];
    atomic_max(p.out, ~mine);  // out starts as zeros
    atomic_min(reinterpret_cast<std::int32_t*>(p.out + 1), static_cast<std::int32_t>(mine));
    atomic_or(p.out + 2, ~mine);
    atomic_or(p.out + 3, mine & 0xFFu);
    atomic_xor(p.out + 4, mine);
    atomic_increment(p.out + 5, 6);
    atomic_decrement(p.out + 6, 6);
    auto* sum = reinterpret_cast<std::uint64_t*>(p.out + 8);
    for (std::uint64_t before = 0, now;
         (now = atomic_compare_exchange(sum, before, before + mine)) != before;)
      before = now;
    if (lane_index() != 0) return;  // a warp's lanes would wait for each other's lock
    poll([&] { return atomic_exchange<scope::device, ordering::acquire>(p.out + 11, 1) == 0; });
    p.out[10] += mine;
    atomic_exchange<scope::device, ordering::release>(p.out + 11, 0);
  }
};

template <int Bytes> struct shuffles_xor {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index();
    const blob<Bytes> mine = blob_of<Bytes>(static_cast<unsigned>(t));
    p.out[t * 2] = digest(shuffle_xor(mine, 11));
    p.out[t * 2 + 1] = digest(shuffle_xor(mine, 1));
  }
};

// The second warp has eight lanes, some of which have returned.
struct votes {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 40;
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index();
    if (!votes_stay(t)) return;
    const unsigned present = t < 32 ? all_lanes : 0xFFu;
    const std::uint32_t mine = p.in[t];
    std::uint32_t* out = p.out + t * vote_results;
    out[0] = warp_ballot(mine % 3 == 0, present);
    out[1] = warp_any(mine % 3 == 0, present);
    out[2] = warp_any(mine == 1, present);
    out[3] = warp_all(mine % 3 == 0, present);
    out[4] = warp_all(mine != 1, present);
    out[5] = warp_match(mine % 4, present);
    out[6] = warp_match(static_cast<std::int64_t>(mine % 3) - 1, present);
    out[7] = warp_match_all(mine / 5000000000u, present);
    out[8] = warp_match_all(mine, present);
    out[9] = static_cast<std::uint32_t>(bit_count(mine) + 100 * bit_count(std::uint64_t{mine} << 32 | 3u));
  }
};

// Each thread's share of a sum, by votes of the block; some threads have returned.
struct block_votes {
  using params = buffers;
  struct storage {
    std::uint32_t word[70];
  };
  static constexpr int threads = 70;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if (!votes_stay(t)) return;
    const std::uint32_t mine = p.in[t];
    std::uint32_t* out = p.out + t * 6;
    s.word[t] = mine;
    out[0] = static_cast<std::uint32_t>(block_barrier_count(mine % 3 == 0));
    out[1] = s.word[0];  // the vote is a barrier too
    out[2] = block_barrier_and(mine != 1);
    out[3] = block_barrier_and(mine % 3 == 0);
    out[4] = block_barrier_or(mine % 3 == 0);
    out[5] = block_barrier_or(mine == 1);
  }
};

struct indices3 {
  using params = buffers;
  struct storage {};
  static constexpr extent3 shape{5, 3, 4};
  static constexpr int threads = static_cast<int>(shape.count());
  AP_DEV void operator()(const params& p) const {
    const extent3 t = thread_index3(shape);
    p.out[thread_index()] = t.x | t.y << 8 | t.z << 16;
  }
};

std::vector<kernel> update_kernels() {
  return {kernel_of<updates_alone<std::uint32_t, scope::block, ordering::relaxed>>("updates-u32"),
          kernel_of<updates_alone<std::int32_t, scope::cluster, ordering::acquire>>("updates-s32"),
          kernel_of<updates_alone<std::uint64_t, scope::device, ordering::release>>("updates-u64"),
          kernel_of<updates_alone<std::int64_t, scope::system, ordering::acquire_release>>("updates-s64"),
          kernel_of<updates_of_all>("updates-of-all"),
          kernel_of<shuffles_xor<3>>("shuffles-xor-3"),
          kernel_of<shuffles_xor<4>>("shuffles-xor-4"),
          kernel_of<shuffles_xor<20>>("shuffles-xor-20"),
          kernel_of<votes>("votes"),
          kernel_of<block_votes>("block-votes"),
          kernel_of<indices3>("indices-3")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
