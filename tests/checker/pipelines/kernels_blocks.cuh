// SPDX-License-Identifier: Apache-2.0
// Threads, warps and blocks: scans, look-back, semaphores, named barriers, asynchronous copies, mbarriers of
// threads.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/atomic_update.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/fences.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/mbarrier_arrivals.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/scan/warp_scan.cuh>

#include "tests/checker/pipelines/family.cuh"

namespace antiphase::pipelines {
inline namespace AP_TARGET {

// Sums of the warps, and from them the sums before each thread; tiles in turn in the same shared memory.
template <int F> struct scan_of_warps : of_threads<128> {
  static constexpr int faults = 3;
  struct storage {
    word total[4];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), warp = warp_index();
    for (int tile = 0; tile < 3; ++tile) {
      word mine = p.in[tile * threads + t];
      for (int by = 1; by < warp_size; by *= 2) {
        const word other = shuffle_up(mine, by);
        if (lane_index() >= by) mine += other;
      }
      if (lane_index() == 31) s.total[warp] = mine;
      if constexpr (F != 1) block_barrier();
      for (int w = 0; w < (F == 3 ? 4 : warp); ++w) mine += s.total[w] * (w < warp ? 1u : 0u);
      if constexpr (F != 2) block_barrier();
      p.out[tile * threads + t] = F == 3 && warp > 0 ? s.total[4 - warp] : mine;
      if constexpr (F == 3)
        if (lane_index() == 31) s.total[warp] = 0;
    }
  }
};

// Decoupled look-back: a block publishes its sum, then adds those before it.
template <int F> struct look_back : of_threads<64> {
  static constexpr int faults = 5;
  static constexpr residency blocks = residency::in_order;
  struct storage {
    word part[64], before;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), b = static_cast<int>(block_index().x);
    s.part[t] = p.in[b * threads + t];
    block_barrier();
    for (int half = 32; half > 0; half /= 2) {
      if (t < half) s.part[t] += s.part[t + half];
      block_barrier();
    }
    if (t == 0) {
      word before = 0;
      if (b > 0) {
        if constexpr (F == 1)
          poll([&] { return load_relaxed(&p.flag[b - 1]) != 0; });
        else if constexpr (F != 2)
          poll([&] { return load_acquire(&p.flag[b - 1]) != 0; });
        before = p.out[b - 1];
      }
      s.before = before;
      if constexpr (F == 3) store_relaxed(&p.flag[b], 1);
      p.out[b] = before + s.part[0];
      if constexpr (F == 4)
        store_relaxed(&p.flag[b], 1);
      else if constexpr (F != 3)
        store_release(&p.flag[b], 1);
    }
    if constexpr (F != 5) block_barrier();
    p.out[64 + b * threads + t] = s.before + p.in[b * threads + t];
  }
};

// The last of the blocks that adds its part reduces them all.
template <int F> struct last_block : of_threads<64> {
  static constexpr int faults = 5;
  struct storage {
    word last;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), b = static_cast<int>(block_index().x);
    p.out[64 + b * threads + t] = p.in[b * threads + t];
    if constexpr (F != 1) device_fence();
    if constexpr (F != 2) block_barrier();
    if (t == 0) {
      s.last = atomic_add(&p.flag[0], 1u) == 3;
      if constexpr (F != 3) device_fence();
    }
    if constexpr (F != 4) block_barrier();
    if (s.last == 0) return;
    word sum = 0;
    for (int i = 0; i < 4; ++i) sum += p.out[64 + i * threads + t];
    p.out[t] = sum;
    if constexpr (F == 5) p.out[64 + b * threads + (t ^ 1)] = sum;  // another thread still adds it
  }
};

// Blocks add to one tile in turn (split-K with a semaphore).
template <int F> struct semaphore : of_threads<64> {
  static constexpr int faults = 4;
  static constexpr residency blocks = residency::in_order;
  struct storage {};
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index();
    const word b = block_index().x;
    if constexpr (F == 1) {
      if (t == 0) poll([&] { return load_acquire(&p.flag[0]) == b; });
    } else if constexpr (F == 2) {
      if (t == 0) poll([&] { return load_relaxed(&p.flag[0]) == b; });
      block_barrier();
    } else {
      if (t == 0) poll([&] { return load_acquire(&p.flag[0]) == b; });
      block_barrier();
    }
    p.out[t] += p.in[b * threads + static_cast<word>(t)];
    if constexpr (F != 3) block_barrier();
    if (t == 0) {
      if constexpr (F == 4)
        store_relaxed(&p.flag[0], b + 1);
      else
        store_release(&p.flag[0], b + 1);
    }
  }
};

// A grid-wide barrier, twice.
template <int F> struct grid_barrier : of_threads<64> {
  static constexpr int faults = 4;
  static constexpr residency blocks = residency::together;
  struct storage {};
  AP_DEV static void meet(word* counter, word until) {
    if constexpr (F != 1) block_barrier();
    if (thread_index() == 0) {
      if constexpr (F != 2) device_fence();
      atomic_add(counter, 1u);
      poll([&] { return load_acquire(counter) >= until; });
    }
    if constexpr (F != 3) block_barrier();
  }
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index(), b = static_cast<int>(block_index().x), n = 3 * threads;
    p.out[b * threads + t] = p.in[b * threads + t];
    meet(&p.flag[0], 3);
    const word neighbour = p.out[(b * threads + t + threads) % n];
    meet(F == 4 ? &p.flag[1] : &p.flag[0], F == 4 ? 2 : 6);
    p.out[b * threads + t] = neighbour;
  }
};

// Tiles are drawn from a counter; the number passes to the block through shared memory.
template <int F> struct scheduler : of_threads<64> {
  static constexpr int faults = 3;
  struct storage {
    word tile;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (;;) {
      if (t == 0) {
        if constexpr (F == 3) {
          s.tile = p.flag[0];
          p.flag[0] = s.tile + 1;
        } else {
          s.tile = atomic_add(&p.flag[0], 1u);
        }
      }
      if constexpr (F != 1) block_barrier();
      const word tile = s.tile;
      if constexpr (F != 2) block_barrier();
      if (tile >= 5) return;
      p.out[tile * threads + static_cast<word>(t)] = 2 * p.in[tile * threads + static_cast<word>(t)];
    }
  }
};

// A histogram in shared memory.
template <int F> struct histogram : of_threads<64> {
  static constexpr int faults = 4;
  struct storage {
    word bin[64];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    s.bin[t] = 0;
    if constexpr (F != 1) block_barrier();
    for (int i = t; i < 512; i += threads) {
      const word bin = p.in[i] % 64;
      if constexpr (F == 3)
        s.bin[bin] += 1;
      else
        atomic_add<scope::block>(&s.bin[bin], 1u);
    }
    if constexpr (F != 2) block_barrier();
    if constexpr (F == 4)
      p.out[t] += s.bin[t];
    else
      atomic_add(&p.out[t], s.bin[t]);
  }
};

// Lanes exchange through shared memory.
template <int F> struct lanes_exchange : of_threads<32> {
  static constexpr int faults = 3;
  struct storage {
    word words[32];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (int i = 0; i < 3; ++i) {
      s.words[t] = p.in[i * 32 + t];
      if constexpr (F == 3) {
        warp_any(true);  // orders nothing
      } else if constexpr (F != 1) {
        warp_sync();
      }
      const word mine = s.words[31 - t];
      if constexpr (F != 2) warp_sync();
      p.out[i * 32 + t] = mine;
    }
  }
};

// Three stages of cp.async, as in Ampere's multistage products.
template <int F> struct multistage : of_threads<64> {
  static constexpr int faults = 5, stages = 3, tiles = 6;
  struct storage {
    alignas(16) word tile[stages][64];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    const auto load = [&](int i) { copy_async<4>(&s.tile[i % stages][t], &p.in[i * 64 + t], 4); };
    for (int i = 0; i < stages - 1; ++i) {
      load(i);
      copy_async_commit();
    }
    for (int i = 0; i < tiles; ++i) {
      copy_async_wait<(F == 1 ? stages - 1 : stages - 2)>();
      if constexpr (F != 2) block_barrier();
      const int next = i + stages - 1;
      if (next < tiles) load(F == 3 ? next + 1 : next);
      if (F != 4 || next < tiles) copy_async_commit();
      p.out[i * 64 + t] = s.tile[i % stages][63 - t];
    }
    if constexpr (F == 5) s.tile[0][t] = 0, copy_async<4>(&s.tile[0][t], &p.in[t], 4);
    copy_async_wait<0>();
    if constexpr (F == 5) p.out[t] = s.tile[0][t ^ 1];
  }
};

// The next tile is prefetched to registers while this one is used.
template <int F> struct prefetched : of_threads<64> {
  static constexpr int faults = 2;
  struct storage {
    word tile[64];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    word next = p.in[t];
    for (int i = 0; i < 4; ++i) {
      s.tile[t] = next;
      if constexpr (F != 1) block_barrier();
      if (i < 3) next = p.in[(i + 1) * 64 + t];
      p.out[i * 64 + t] = s.tile[(t + 7) % 64];
      if constexpr (F != 2) block_barrier();
    }
  }
};

// Producer and consumer warps with named barriers: full 1 and 2, empty 3 and 4.
template <int F> struct named_ring : of_threads<64> {
  static constexpr int faults = 5, tiles = 5;
  struct storage {
    word tile[2][32];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int lane = lane_index();
    constexpr int all = F == 1 ? 96 : 64;
    if (warp_index() == 0) {
      for (int i = 0; i < tiles; ++i) {
        if (i >= 2 && F != 2) named_barrier_sync(3 + i % 2, 64);
        if constexpr (F == 3) named_barrier_arrive(1 + i % 2, all);
        s.tile[i % 2][lane] = p.in[i * 32 + lane];
        if constexpr (F != 3) named_barrier_arrive(F == 4 ? 1 : 1 + i % 2, all);
      }
    } else {
      for (int i = 0; i < tiles; ++i) {
        named_barrier_sync(1 + i % 2, all);
        if (F == 5 && i + 2 < tiles) named_barrier_arrive(3 + i % 2, 64);
        p.out[i * 32 + lane] = s.tile[i % 2][31 - lane];
        if (F != 2 && F != 5 && i + 2 < tiles) named_barrier_arrive(3 + i % 2, 64);
      }
    }
  }
};

// Two warpgroups take turns (FlashAttention's ping-pong) in shared memory.
template <int F> struct ping_pong : of_threads<64> {
  static constexpr int faults = 4;
  struct storage {
    word shared_tile[32];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int lane = lane_index(), who = warp_index();
    if (who == 1 && F != 1) named_barrier_arrive(1, 64);  // warp 0 starts
    for (int i = 0; i < 3; ++i) {
      if constexpr (F != 2) named_barrier_sync(1 + who, 64);
      s.shared_tile[lane] = p.in[(2 * i + who) * 32 + lane];
      if constexpr (F == 3) {
        if (i < 2 || who == 0) named_barrier_arrive(2 - who, 64);
        warp_sync();
      } else {
        warp_sync();
      }
      p.out[(2 * i + who) * 32 + lane] = s.shared_tile[31 - lane];
      if (F != 3 && F != 2 && (i < 2 || who == 0)) named_barrier_arrive(F == 4 ? 1 + who : 2 - who, 64);
    }
  }
};

// A split arrival at an mbarrier: arrive, do something else, wait.
template <int F> struct split_arrival : of_threads<64> {
  static constexpr int faults = 5;
  struct storage {
    word tile[64];
    mbarrier all;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if (t == 0) s.all.init(F == 1 ? 63 : 64);
    if constexpr (F != 2) block_barrier();
    for (unsigned i = 0; i < 3; ++i) {
      if constexpr (F == 3) s.all.arrive();
      s.tile[t] = p.in[i * 64 + static_cast<unsigned>(t)];
      if constexpr (F != 3) s.all.arrive();
      s.all.wait(F == 4 ? (i & 1) ^ 1 : i & 1);
      p.out[i * 64 + static_cast<unsigned>(t)] = s.tile[63 - t];
      if constexpr (F != 5) block_barrier();
    }
  }
};

// cp.async whose completion arrives at an mbarrier.
template <int F> struct copies_arrive : of_threads<64> {
  static constexpr int faults = 5;
  struct storage {
    alignas(16) word tile[2][32 * 4];
    mbarrier full[2], empty[2];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), lane = lane_index();
    if (t == 0)
      for (int i = 0; i < 2; ++i) s.full[i].init(F == 1 ? 1 : 32), s.empty[i].init(1);
    block_barrier();
    if (warp_index() == 0) {
      for (unsigned i = 0; i < 5; ++i) {
        mbarrier& full = s.full[i % 2];
        if constexpr (F != 2) s.empty[i % 2].wait((i / 2 & 1) ^ 1);
        copy_async<16>(&s.tile[i % 2][4 * lane], &p.in[i * 128 + 4 * static_cast<unsigned>(lane)], 16);
        if constexpr (F == 3)
          full.arrive();
        else if constexpr (F == 4) {
          copy_async_track(full);
          if (lane == 0) full.arrive();
        } else
          copy_async_arrive(full);
      }
      copy_async_commit();
      copy_async_wait<0>();
    } else {
      for (unsigned i = 0; i < 5; ++i) {
        s.full[i % 2].wait(i / 2 & 1);
        if constexpr (F == 5) {
          if (lane == 0) s.empty[i % 2].arrive();
        }
        for (int j = lane; j < 128; j += 32)
          p.out[i * 128 + static_cast<unsigned>(j)] = s.tile[i % 2][127 - j];
        if constexpr (F != 5) s.empty[i % 2].arrive(by_warp{});
      }
    }
  }
};

// Tensor Core operations of a warp on a tile that cp.async loads, two buffers.
template <int F> struct fragments : of_threads<64> {
  static constexpr int faults = 4;
  struct storage {
    alignas(16) word tile[2][16 * 8];  // 16 rows of 16 f16
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), lane = lane_index();
    const auto load = [&](int i) {
      if (t < 32) copy_async<16>(&s.tile[i % 2][4 * t], &p.in[i * 128 + 4 * t], 16);
      copy_async_commit();
    };
    load(0);
    for (int i = 0; i < 4; ++i) {
      if (i < 3 && F != 3) load(i + 1);
      if (i < 3 && F != 1 && F != 3)
        copy_async_wait<1>();
      else if (F != 1)
        copy_async_wait<0>();
      if constexpr (F != 2) block_barrier();
      if (i < 3 && F == 3) load(i + 2);
      std::uint32_t a[4];
      if (F == 4 && lane >= 16) return;  // the whole warp takes part
      ldmatrix(a, &s.tile[i % 2][lane % 16 * 8 + lane / 16 * 4]);
      p.out[(i * 2 + t / 32) * 32 + lane] = a[0] ^ a[3];
      block_barrier();
    }
    copy_async_wait<0>();
  }
};

// The warp index comes from a shuffle: the whole warp must take part, or the GPU hangs.
template <int F> struct which_warp : of_threads<64> {
  static constexpr int faults = 5;
  struct storage {};
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index(), lane = lane_index();
    int warp = 0;
    if constexpr (F == 0) {
      warp = warp_index();
      if (lane == 0) p.out[warp] = p.in[warp];
    } else if constexpr (F == 1) {  // a leader alone
      if (lane == 0) warp = warp_index(), p.out[warp] = p.in[warp];
    } else if constexpr (F == 2) {  // both arms of a branch
      if (t % 2 == 0)
        warp = warp_index();
      else
        warp = warp_index();
      p.out[t] = static_cast<word>(warp);
    } else if constexpr (F == 3) {  // after a barrier at which the others wait
      if (lane < 16) warp = warp_index();
      block_barrier();
      p.out[t] = static_cast<word>(warp);
    } else {
      if (lane >= 16) return;
      if constexpr (F == 5) block_barrier();  // the others have returned by now, in every schedule
      warp = warp_index();
      p.out[t] = static_cast<word>(warp);
    }
  }
};

// A uniform value comes from a shuffle, too.
template <int F> struct broadcast : of_threads<64> {
  static constexpr int faults = 2;
  struct storage {};
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index();
    word x = p.in[t];
    if constexpr (F == 0) {
      x = uniform(x);
    } else if constexpr (F == 1) {
      if (lane_index() < 8) x = uniform(x);
      block_barrier();
    } else {
      if (lane_index() < 8)
        x = uniform(x);
      else
        x = uniform(x + 1);
    }
    p.out[t] = x;
  }
};

// Registers move from one warpgroup to the other (setmaxnreg).
template <int F> struct registers_move : of_threads<256> {
  static constexpr int faults = 4;
  struct storage {};
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index(), warp = warp_index();
    if (warp / 4 == 0) {
      if constexpr (F == 1) {
        if (lane_index() == 0) release_registers<40>();
      } else if constexpr (F == 2) {
        if (warp == 0) release_registers<40>();
      } else if constexpr (F == 3) {
        if (warp == 3)
          release_registers<56>();
        else
          release_registers<40>();
      } else {
        release_registers<40>();
      }
      if (t == 0) p.out[0] = p.in[0];
    } else {
      if (F != 4 || warp != 7) request_registers<232>();
      p.out[t] = p.in[t];
    }
  }
};

// Overlapping kernels of one stream.
template <int F> struct overlapping : of_threads<64> {
  static constexpr int faults = 2;
  static constexpr bool overlaps_previous = true;
  struct storage {};
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index();
    const word mine = p.in[t];
    start_next_grid();
    if constexpr (F == 2) p.out[t] += mine;
    if constexpr (F != 1) wait_for_previous_grid();
    if constexpr (F != 2) p.out[t] += mine;
  }
};

// A lock around two words that belong together.
template <int F> struct locked : of_threads<32> {
  static constexpr int faults = 3;
  struct storage {};
  AP_DEV void operator()(const params& p) const {
    if (thread_index() != 0) return;
    for (int i = 0; i < 2; ++i) {
      if constexpr (F == 1)
        poll([&] { return load_acquire(&p.flag[0]) == 0; }), store_relaxed(&p.flag[0], 1);
      else if constexpr (F == 2)
        while (atomic_compare_exchange(&p.flag[0], 0u, 1u) != 0) {
        }
      else
        while (atomic_compare_exchange<scope::device, ordering::acquire>(&p.flag[0], 0u, 1u) != 0) {
        }
      p.out[0] += 1;
      p.out[1] += p.out[0];
      if constexpr (F == 3)
        store_relaxed(&p.flag[0], 0);
      else
        store_release(&p.flag[0], 0);
    }
  }
};

// A queue of one producer block and one consumer block: head and tail.
template <int F> struct queue : of_threads<32> {
  static constexpr int faults = 4;
  static constexpr residency blocks = residency::together;
  struct storage {};
  AP_DEV void operator()(const params& p) const {
    const int lane = lane_index();
    word* const slot = p.out + 512;
    for (word i = 0; i < 4; ++i) {
      word* const at = slot + i % 2 * 32 + lane;
      if (block_index().x == 0) {
        if (lane == 0 && i >= 2 && F != 1) poll([&] { return load_acquire(&p.flag[1]) >= i - 1; });
        warp_sync();
        *at = p.in[i * 32 + static_cast<word>(lane)];
        if constexpr (F != 2) warp_sync();
        if (lane == 0) store_release(&p.flag[0], i + 1);
      } else {
        if (lane == 0) poll([&] { return load_acquire(&p.flag[0]) >= i + 1; });
        if constexpr (F != 3) warp_sync();
        p.out[i * 32 + static_cast<word>(lane)] = *at;
        warp_sync();
        if (lane == 0) {
          if constexpr (F == 4)
            atomic_add(&p.flag[1], 1u);
          else
            store_release(&p.flag[1], i + 1);
        }
      }
    }
  }
};

// Sum and state in one word: a relaxed store publishes them together.
template <int F> struct packed_look_back : of_threads<32> {
  static constexpr int faults = 3;
  static constexpr residency blocks = residency::in_order;
  struct storage {};
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index(), b = static_cast<int>(block_index().x);
    auto* const slots = reinterpret_cast<std::uint64_t*>(p.flag);
    const word mine = p.in[b * threads + t] & 0xFFFF;
    const word sum = scans::warp_scan(mine, 32, [](word x, word y) { return x + y; });
    std::uint64_t before = 0;
    if (t == 31) {
      if (b > 0)
        poll([&] {
          before = load_relaxed(&slots[b - 1]);
          return before >> 32 != 0;
        });
      before &= ~0u;
      if constexpr (F == 1)  // the state and the sum are two words
        store_relaxed(&p.flag[2 * b + 1], 1), store_relaxed(&p.flag[2 * b], static_cast<word>(before) + sum);
      else if constexpr (F == 2)
        slots[b] = std::uint64_t{1} << 32 | (before + sum);
      else
        store_relaxed(&slots[b], std::uint64_t{1} << 32 | (before + sum));
    }
    const word first = F == 3 ? static_cast<word>(before) : shuffle(static_cast<word>(before), 31);
    p.out[b * threads + t] = first + sum;
  }
};

// Every thread waits only for its own copies.
template <int F> struct own_copies : of_threads<64> {
  static constexpr int faults = 3;
  struct storage {
    alignas(16) word tile[64];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    copy_async<4>(&s.tile[t], &p.in[t], 4);
    copy_async_commit();
    if constexpr (F == 1) {
      if (t == 0) copy_async_wait<0>();
      block_barrier();
    } else if constexpr (F == 2) {
      block_barrier();
      copy_async_wait<0>();
    } else if constexpr (F == 3) {
      copy_async_wait<0>();
      warp_sync();
    } else {
      copy_async_wait<0>();
      block_barrier();
    }
    p.out[t] = s.tile[63 - t];
    copy_async_wait<0>();
  }
};

// One named barrier for two pairs of warps at the same time.
template <int F> struct pairs_of_warps : of_threads<128> {
  static constexpr int faults = 3;
  struct storage {
    word tile[128];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), pair = warp_index() / 2;
    for (int i = 0; i < 2; ++i) {
      s.tile[t] = p.in[i * 128 + t];
      named_barrier_sync(F == 1 ? 1 : 1 + pair, F == 2 && pair == 1 ? 32 : 64);
      p.out[i * 128 + t] = s.tile[t ^ 63];
      if constexpr (F == 3)
        warp_sync();
      else
        named_barrier_sync(3 + pair, 64);
    }
  }
};

// Some lanes exchange words, by a mask.
template <int F> struct lanes_of_mask : of_threads<32> {
  static constexpr int faults = 3;
  struct storage {
    word words[32];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    s.words[t] = p.in[t];
    if (t < 16) {
      warp_sync(F == 1 ? 0xFFu << (t / 8 * 8) : F == 3 ? all_lanes : 0xFFFFu);
      p.out[t] = s.words[F == 2 ? 31 - t : 15 - t];
    }
    if constexpr (F == 3) block_barrier();
  }
};

// A leader arrives for its warp.
template <int F> struct leaders_arrive : of_threads<96> {
  static constexpr int faults = 3;
  struct storage {
    word tile[2][64];
    mbarrier full[2], empty[2];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), lane = lane_index();
    if (t == 0)
      for (int i = 0; i < 2; ++i) s.full[i].init(2), s.empty[i].init(1);
    block_barrier();
    for (unsigned i = 0; i < 4; ++i) {
      mbarrier &full = s.full[i % 2], &empty = s.empty[i % 2];
      if (t < 64) {
        empty.wait((i / 2 & 1) ^ 1);
        s.tile[i % 2][t] = p.in[i * 64 + static_cast<unsigned>(t)];
        if constexpr (F != 1) warp_sync();
        if (lane == 0) full.arrive();
      } else {
        if constexpr (F == 3) {
          if (lane == 0) full.wait(i / 2 & 1);
        } else {
          full.wait(i / 2 & 1);
        }
        for (int j = lane; j < 64; j += 32) p.out[i * 64 + static_cast<unsigned>(j)] = s.tile[i % 2][63 - j];
        if constexpr (F != 2) warp_sync();
        if (lane == 0) empty.arrive();
      }
    }
  }
};

// A word in shared memory ends the loop of the block; a reduction by atomics.
template <int F> struct converged : of_threads<64> {
  static constexpr int faults = 4;
  struct storage {
    word changed, sum;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    word left = p.in[t] % 5;
    for (int i = 0; i < 8; ++i) {
      if (t == 0) s.changed = 0, s.sum = 0;
      if constexpr (F != 1) block_barrier();
      if (left > 0) {
        --left;
        if constexpr (F == 4)
          s.changed = 1;  // all write the same value: a race nevertheless
        else
          store_relaxed<scope::block>(&s.changed, 1);
        atomic_add<scope::block>(&s.sum, 1u);
      }
      if constexpr (F != 2) block_barrier();
      const word more = s.changed, sum = s.sum;
      if constexpr (F != 3) block_barrier();
      if (t == 0) p.out[i] = sum;
      if (more == 0) break;
    }
  }
};

// An mbarrier whose memory is reused later.
template <int F> struct second_life : of_threads<32> {
  static constexpr int faults = 3;
  struct storage {
    mbarrier all;
    word tile[32];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (int i = 0; i < 2; ++i) {
      if (t == 0) s.all.init(32);
      if constexpr (F != 1) warp_sync();
      s.tile[t] = p.in[i * 32 + t];
      s.all.arrive();
      s.all.wait(0);
      p.out[i * 32 + t] = s.tile[31 - t];
      if constexpr (F != 2) warp_sync();
      if (F != 3 && t == 0) invalidate(s.all);
    }
  }
};

// Partial sums wait in memory for their owner (stream-K).
template <int F> struct stream_k : of_threads<64> {
  static constexpr int faults = 4;
  static constexpr residency blocks = residency::together;
  struct storage {};
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index(), b = static_cast<int>(block_index().x);
    if (b > 0) {
      p.out[512 + b * 64 + t] = p.in[b * 64 + t];
      if constexpr (F != 1) block_barrier();
      if (t == 0) {
        if constexpr (F == 2)
          atomic_add<scope::device>(&p.flag[0], 1u);
        else
          atomic_exchange<scope::device, ordering::release>(&p.flag[b], 1u);
      }
    } else {
      word sum = p.in[t];
      for (int other = 1; other < 3; ++other) {
        if (t == 0)
          poll([&] {
            return F == 2   ? load_acquire(&p.flag[0]) >= 2
                   : F == 4 ? load_acquire<scope::block>(&p.flag[other]) != 0
                            : load_acquire(&p.flag[other]) != 0;
          });
        if constexpr (F != 3) block_barrier();
        sum += p.out[512 + other * 64 + t];
      }
      p.out[t] = sum;
    }
  }
};

std::vector<mutant> blocks() {
  using enum finding_kind;
  std::vector<mutant> list;
  add_family<scan_of_warps>(list, "scan-of-warps",
                            {.right =
                                 [](const std::vector<word>& out) {
                                   word sum = 0;
                                   for (int i = 0; i < 384; ++i) {
                                     sum = (i % 128 == 0 ? 0 : sum) + input(i);
                                     if (out[static_cast<std::size_t>(i)] != sum) return false;
                                   }
                                   return true;
                                 }},
                            {{"totals are read at once", race},
                             {"totals of the next tile come too early", overwritten_in_use},
                             {"totals are reset after the barrier", race}});
  add_family<look_back>(list, "look-back", {.blocks = 4},
                        {{"polled by relaxed loads", race},
                         {"not polled", race},
                         {"published before it is written", race},
                         {"published by a relaxed store", race},
                         {"what came before is read at once", race}});
  add_family<last_block>(list, "last-block", {.blocks = 4},
                         {{"no fence before the count", race},
                          {"no barrier before the count", race},
                          {"no fence after the count", race},
                          {"no barrier after the count", race},
                          {"overwritten while others add", overwritten_in_use}});
  add_family<semaphore>(list, "semaphore", {.blocks = 4},
                        {{"one thread waits", race},
                         {"a relaxed wait", race},
                         {"no barrier before the next one's turn", race},
                         {"a relaxed hand-over", race}});
  add_family<grid_barrier>(list, "grid-barrier", {.blocks = 3},
                           {{"threads have not come", race},
                            {"no fence", race},
                            {"threads go on", race},
                            {"one block too few", overwritten_in_use}});
  add_family<scheduler>(list, "scheduler", {.blocks = 2},
                        {{"the tile is read at once", race},
                         {"the next tile comes too early", overwritten_in_use},
                         {"the counter is not atomic", race}});
  add_family<histogram>(list, "histogram", {.blocks = 2},
                        {{"bins are not cleared yet", race},
                         {"bins are not complete", race},
                         {"counts are not atomic", race},
                         {"totals are not atomic", race}});
  add_family<lanes_exchange>(list, "lanes-exchange", {},
                             {{"read at once", race},
                              {"overwritten at once", overwritten_in_use},
                              {"a vote in place of a sync", race}});
  add_family<multistage>(list, "multistage", {},
                         {{"a group too many in flight", read_before_landing},
                          {"no barrier", read_before_landing},
                          {"loads into the wrong stage", read_before_landing},
                          {"no empty groups at the end", read_before_landing},
                          {"no barrier after the last wait", read_before_landing}});
  add_family<prefetched>(list, "prefetched", {},
                         {{"read at once", race}, {"overwritten at once", overwritten_in_use}});
  add_family<named_ring>(list, "named-ring", {},
                         {{"a warp too many", deadlock},
                          {"no thread waits for empty", overwritten_in_use},
                          {"full before it is written", race},
                          {"one barrier for both stages", deadlock},
                          {"empty before it is read", overwritten_in_use}});
  add_family<ping_pong>(list, "ping-pong", {},
                        {{"nobody begins", deadlock},
                         {"no turns", race},
                         {"the turn is given too early", overwritten_in_use},
                         {"the turn is given to oneself", deadlock}});
  add_family<split_arrival>(list, "split-arrival", {},
                            {{"one arrival too few", overwritten_in_use},
                             {"used before it is initialised", barrier_misuse},
                             {"arrives before it writes", race},
                             {"the wrong parity", race},
                             {"overwritten at once", overwritten_in_use}});
  add_family<copies_arrive>(list, "copies-arrive", {},
                            {{"initialised for one", barrier_misuse},
                             {"empty is not waited for", overwritten_in_use},
                             {"arrives before the copies", read_before_landing},
                             {"tracked, and one arrival for 32", deadlock},
                             {"empty before it is read", overwritten_in_use}});
  add_family<fragments>(list, "fragments", {},
                        {{"no wait", read_before_landing},
                         {"no barrier", read_before_landing},
                         {"loads into the tile in use", overwritten_in_use},
                         {"half a warp", deadlock}});
  add_family<which_warp>(list, "which-warp", {},
                         {{"in the leader's branch", divergent_barrier},
                          {"in both arms", divergent_barrier},
                          {"before a barrier", deadlock},
                          {"without lanes that return", divergent_barrier},
                          {"without lanes that have returned", divergent_barrier}});
  add_family<broadcast>(list, "broadcast", {},
                        {{"in a branch", deadlock}, {"in both arms", divergent_barrier}});
  add_family<registers_move>(list, "registers-move", {},
                             {{"one lane", divergent_barrier},
                              {"one warp", barrier_misuse},
                              {"different numbers", barrier_misuse},
                              {"three warps take", barrier_misuse}});
  add_family<overlapping>(list, "overlapping", {.launches = 3},
                          {{"nobody waits", race}, {"written before the wait", race}});
  add_family<locked>(list, "locked", {.blocks = 3},
                     {{"test and set apart", race}, {"acquires nothing", race}, {"releases nothing", race}});
  add_family<queue>(list, "queue", {.blocks = 2},
                    {{"no thread waits for empty", overwritten_in_use},
                     {"full before all have written", race},
                     {"one lane waits", race},
                     {"empty by a relaxed count", overwritten_in_use}});
  add_family<packed_look_back>(
      list, "packed-look-back",
      {.blocks = 4,
       .right =
           [](const std::vector<word>& out) {
             word sum = 0;
             for (int i = 0; i < 128; ++i)
               if (out[static_cast<std::size_t>(i)] != (sum += input(i) & 0xFFFF)) return false;
             return true;
           }},
      {{"two words", wrong_result}, {"an ordinary store", race}, {"one lane knows", wrong_result}});
  add_family<own_copies>(list, "own-copies", {},
                         {{"one thread waits", read_before_landing},
                          {"the barrier before the wait", read_before_landing},
                          {"a sync of the warp", read_before_landing}});
  add_family<pairs_of_warps>(list, "pairs-of-warps", {},
                             {{"one barrier for both pairs", race},
                              {"a warp too few", race},
                              {"overwritten at once", overwritten_in_use}});
  add_family<lanes_of_mask>(list, "lanes-of-mask", {},
                            {{"two masks", race},
                             {"a lane outside of the mask", race},
                             {"a mask with lanes that do not come", deadlock}});
  add_family<leaders_arrive>(list, "leaders-arrive", {},
                             {{"full without a sync", race},
                              {"empty without a sync", overwritten_in_use},
                              {"the leader waits", race}});
  add_family<converged>(list, "converged", {},
                        {{"cleared late", race},
                         {"looked at early", race},
                         {"cleared early", overwritten_in_use},
                         {"not atomic", race}});
  add_family<second_life>(list, "second-life", {},
                          {{"used before it is initialised", barrier_misuse},
                           {"initialised while others wait", race},
                           {"initialised while it is valid", barrier_misuse}});
  add_family<stream_k>(list, "stream-k", {.blocks = 3},
                       {{"told before all have written", race},
                        {"a relaxed count", race},
                        {"one thread waits", race},
                        {"a wait of block scope", race}});
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::pipelines
