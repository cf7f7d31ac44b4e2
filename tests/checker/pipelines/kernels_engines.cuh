// SPDX-License-Identifier: Apache-2.0
// TMA, clusters and Tensor Core operations of warpgroups: rings with roles, multicast, reductions, epilogues.
#include <antiphase/core/channel.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/bulk_reduce.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/fences.cuh>
#include <antiphase/device/mbarrier_arrivals.cuh>
#include <antiphase/device/multicast.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/tensor_store.cuh>
#include <antiphase/device/wgmma.cuh>

#include "tests/checker/pipelines/family.cuh"
#include "tests/support/landed.cuh"

namespace antiphase::pipelines {
inline namespace AP_TARGET {

// One warp loads, two compute, two stages.
template <int F> struct load_ring : of_threads<96> {
  static constexpr int faults = 7;
  struct storage {
    alignas(128) word tile[2][64];
    mbarrier full[2], empty[2];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), warp = warp_index();
    if (t == 0) {
      for (int i = 0; i < 2; ++i) {
        s.full[i].init(1);
        s.empty[i].init(F == 4 ? 1 : 2);
      }
      fence_mbarrier_init();
    }
    block_barrier();
    if (warp == 0) {
      if (lane_index() != 0) return;
      for (unsigned i = 0; i < 6; ++i) {
        s.empty[i % 2].wait(F == 2 ? i / 2 & 1 : (i / 2 & 1) ^ 1);
        s.full[i % 2].arrive(bytes{F == 5 ? 128 : F == 6 ? 512 : 256});
        bulk_load(s.tile[i % 2], p.in + 64 * i, 256, s.full[i % 2]);
      }
    } else {
      for (unsigned i = 0; i < 6; ++i) {
        if constexpr (F != 1) s.full[i % 2].wait(F == 7 ? (i / 2 & 1) ^ 1 : i / 2 & 1);
        if constexpr (F == 3) s.empty[i % 2].arrive(by_warp{});
        p.out[64 * i + static_cast<unsigned>(t) - 32] = s.tile[i % 2][t - 32] + 1;
        if constexpr (F != 3) s.empty[i % 2].arrive(by_warp{});
      }
    }
  }
};

// Epilogue: results leave through shared memory, one tile after the other.
template <int F> struct store_epilogue : of_threads<64> {
  static constexpr int faults = 6;
  struct storage {
    alignas(128) word tile[64];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (int i = 0; i < 3; ++i) {
      if (t == 0 && F != 1) bulk_wait_read<0>();
      if constexpr (F != 2) named_barrier_sync(1, 64);
      s.tile[t] = p.in[i * 64 + t];
      if constexpr (F != 3) fence_async();
      if constexpr (F != 4) named_barrier_sync(2, 64);
      if (t == 0) {
        bulk_store(p.out + i * 64, s.tile, 256);
        if constexpr (F != 5) bulk_commit();
      }
    }
    if (t == 0 && F != 6) bulk_wait_read<0>();
  }
};

// Two store buffers: a wait for all but one.
template <int F> struct store_ring : of_threads<32> {
  static constexpr int faults = 3;
  struct storage {
    alignas(128) word tile[2][32];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (int i = 0; i < 5; ++i) {
      if (t == 0) bulk_wait_read<(F == 1 ? 2 : 1)>();
      if constexpr (F != 2) warp_sync();
      s.tile[i % 2][t] = p.in[i * 32 + t];
      fence_async();
      if constexpr (F != 3) warp_sync();
      if (t == 0) {
        bulk_store(p.out + i * 32, s.tile[i % 2], 128);
        bulk_commit();
      }
    }
    if (t == 0) bulk_wait<0>();
  }
};

// Load, change in place, store: a channel of three events.
template <int F> struct three_events : of_threads<96> {
  static constexpr int faults = 5, tiles = 5;
  struct storage {
    alignas(128) word tile[2][32];
    channel<mbarrier, 2, 1, F == 4 ? 2 : 1, 1> ring;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), warp = warp_index(), lane = lane_index();
    if (t == 0) {
      s.ring.init();
      fence_mbarrier_init();
    }
    if constexpr (F != 5) block_barrier();
    cursor<2> at;
    for (int i = 0; i < tiles; ++i, ++at) {
      word* const tile = s.tile[at.index];
      if (warp == 0) {
        if (lane != 0) continue;
        s.ring.acquire(at);
        bulk_load(tile, p.in + 32 * i, 128, s.ring.barrier[0][at.index]);
        s.ring.commit(at, 0, bytes{128});
      } else if (warp == 1) {
        s.ring.wait(at, 0);
        tile[lane] *= 3;
        if constexpr (F != 1) fence_async();
        s.ring.commit(at, 1, by_warp{});
      } else if (lane == 0) {
        if constexpr (F == 3)
          s.ring.wait(at, 0);
        else
          s.ring.wait(at, 1);
        bulk_store(p.out + 32 * i, tile, 128);
        bulk_commit();
        if constexpr (F != 2) bulk_wait_read<0>();
        s.ring.release(at);
      }
    }
    if (warp == 2 && lane == 0) bulk_wait<0>();
  }
};

// Each block reads its neighbour's sum.
template <int F> struct cluster_sum : of_threads<32> {
  static constexpr int faults = 4, cluster = 2;
  struct storage {
    word part[32];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), rank = cluster_rank();
    s.part[t] = p.in[rank * 32 + t];
    if constexpr (F == 1) {
      block_barrier();
    } else if constexpr (F == 2) {
      cluster_arrive_silent();
      cluster_wait();
    } else {
      cluster_barrier();
    }
    p.out[rank * 32 + t] = s.part[t] + map_shared(s.part, rank ^ 1)[31 - t];
    if constexpr (F == 4) {
      cluster_arrive();  // no wait
    } else if constexpr (F != 3) {
      cluster_barrier();
    }
  }
};

// Halos through the neighbour's shared memory, in steps.
template <int F> struct halo : of_threads<32> {
  static constexpr int faults = 4, cluster = 4;
  struct storage {
    word inner[32], from_left;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), rank = cluster_rank();
    s.inner[t] = p.in[rank * 32 + t];
    if constexpr (F != 4) cluster_barrier();  // all have started
    for (int step = 0; step < 3; ++step) {
      if constexpr (F == 4) block_barrier();
      if (t == 31) *map_shared(&s.from_left, (rank + 1) % 4) = s.inner[31];
      if constexpr (F == 1)
        block_barrier();
      else
        cluster_barrier();
      const word left = t == 0 ? s.from_left : s.inner[t - 1];
      if constexpr (F == 2)
        block_barrier();
      else if constexpr (F != 3)
        cluster_barrier();
      s.inner[t] += left;
      warp_sync();
    }
    p.out[rank * 32 + t] = s.inner[t];
  }
};

// Each of two blocks loads a half for both; slots are released by arrivals at both producers.
template <int F> struct multicast_ring : of_threads<64> {
  static constexpr int faults = 6, cluster = 2;
  struct storage {
    alignas(128) word tile[2][64];
    mbarrier full[2], empty[2];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), lane = lane_index(), warp = warp_index(), rank = cluster_rank();
    if (t == 0) {
      for (int i = 0; i < 2; ++i) {
        s.full[i].init(1);
        s.empty[i].init(F == 3 ? 1 : 2);
      }
      fence_mbarrier_init();
    }
    if constexpr (F == 2)
      block_barrier();
    else
      cluster_barrier();
    if (warp == 0 && lane == 0) {
      for (unsigned i = 0; i < 5; ++i) {
        if constexpr (F != 4) wait_remote(s.empty[i % 2], (i / 2 & 1) ^ 1);
        s.full[i % 2].arrive(bytes{F == 1 ? 128 : 256});
        bulk_load_multicast(s.tile[i % 2] + 32 * rank, p.in + 64 * i + 32 * static_cast<unsigned>(rank), 128,
                            s.full[i % 2], 3);
      }
    } else if (warp == 1) {
      for (unsigned i = 0; i < 5; ++i) {
        s.full[i % 2].wait(i / 2 & 1);
        if (F == 6 && lane < 2) arrive_remote(s.empty[i % 2], lane);
        for (int j = lane; j < 64; j += 32)
          p.out[rank * 512 + static_cast<int>(i) * 64 + j] = s.tile[i % 2][63 - j];
        warp_sync();
        if (F != 6 && lane < 2) arrive_remote(s.empty[i % 2], lane);
      }
    }
    if constexpr (F != 5) cluster_barrier();
  }
};

// Two blocks add their tiles to one by bulk reductions.
template <int F> struct reduced : of_threads<32> {
  static constexpr int faults = 4;
  struct storage {
    alignas(128) word tile[32];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (int i = 0; i < 2; ++i) {
      s.tile[t] = p.in[(2 * static_cast<int>(block_index().x) + i) * 32 + t];
      if constexpr (F != 1) fence_async();
      if constexpr (F != 2) warp_sync();
      if (t == 0) {
        if constexpr (F == 4)
          bulk_store(p.out, s.tile, 128);
        else
          bulk_reduce<bulk_update::add>(p.out, s.tile, 128);
        bulk_commit();
        if constexpr (F != 3) bulk_wait_read<0>();
      }
      warp_sync();
    }
    if (t == 0) bulk_wait<0>();
  }
};

// A box of a matrix is loaded, transposed and stored.
template <int F> struct transposed_box : of_threads<64> {
  static constexpr int faults = 6;
  struct storage {
    alignas(128) word box[64];
    alignas(128) word other[64];
    mbarrier landed;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if (t == 0) {
      s.landed.init(1);
      if constexpr (F != 6) fence_mbarrier_init();
    }
    block_barrier();
    for (unsigned i = 0; i < 2; ++i) {
      const int x = 8 * static_cast<int>(i);
      if (t == 0) {
        if constexpr (F == 1)
          s.landed.arrive();
        else
          s.landed.arrive(bytes{256});
        tensor_load(s.box, p.source, s.landed, x, 8);
      }
      if constexpr (F != 2) s.landed.wait(F == 3 ? 0 : i);
      s.other[t % 8 * 8 + t / 8] = s.box[t];
      if constexpr (F != 4) fence_async();
      block_barrier();
      if (t == 0) {
        tensor_store(p.target, s.other, 8, x);
        bulk_commit();
        if constexpr (F != 5) bulk_wait_read<0>();
      }
      block_barrier();
    }
    if (t == 0) bulk_wait<0>();
  }
};

// Q once, K and V in separate rings.
template <int F> struct attention_ring : of_threads<64> {
  static constexpr int faults = 5, stages = 2;
  struct storage {
    alignas(128) word q[32];
    alignas(128) word k[stages][32];
    alignas(128) word v[stages][32];
    mbarrier has_q, full_k[stages], full_v[stages], empty_k[stages], empty_v[stages];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int lane = lane_index(), warp = warp_index();
    if (thread_index() == 0) {
      s.has_q.init(1);
      for (int i = 0; i < stages; ++i) {
        s.full_k[i].init(1);
        s.full_v[i].init(1);
        s.empty_k[i].init(1);
        s.empty_v[i].init(1);
      }
      fence_mbarrier_init();
    }
    block_barrier();
    if (warp == 0) {
      if (lane != 0) return;
      s.has_q.arrive(bytes{128});
      bulk_load(s.q, p.in, 128, s.has_q);
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned at = i % stages, parity = (i / stages & 1) ^ 1;
        s.empty_k[at].wait(parity);
        s.full_k[at].arrive(bytes{128});
        bulk_load(s.k[at], p.in + 32 + 64 * i, 128, s.full_k[at]);
        if constexpr (F != 3) s.empty_v[at].wait(parity);
        s.full_v[at].arrive(bytes{128});
        bulk_load(s.v[at], p.in + 64 + 64 * i, 128, F == 4 ? s.full_k[at] : s.full_v[at]);
      }
    } else {
      if constexpr (F != 1) s.has_q.wait(0);
      word sum = 0;
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned at = i % stages, parity = i / stages & 1;
        s.full_k[at].wait(parity);
        const word score = s.q[lane] * s.k[at][31 - lane];
        s.empty_k[at].arrive(by_warp{});
        if constexpr (F == 5) s.empty_v[at].arrive(by_warp{});
        if constexpr (F != 2) s.full_v[at].wait(parity);
        sum += score ^ s.v[at][lane];
        if constexpr (F != 5) s.empty_v[at].arrive(by_warp{});
      }
      p.out[lane] = sum;
    }
  }
};

// Operands written by threads, one product of a warpgroup.
constexpr int operand_words = 512;
AP_DEV matrix_descriptor operand_at(const word* start) { return describe(start, 128, 256, swizzle::none); }
template <int F> struct product : of_threads<128> {
  static constexpr int faults = 7;
  struct storage {
    alignas(128) word a[operand_words];
    alignas(128) word b[operand_words];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (int i = t; i < operand_words; i += threads)
      s.a[i] = p.in[i] & 0x3BFF3BFFu, s.b[i] = p.in[512 + i] & 0x3BFF3BFFu;
    if constexpr (F != 1) fence_async();
    if constexpr (F != 2) block_barrier();
    float sum[32] = {};
    if constexpr (F == 7) {
      if (t % 32 < 16) wgmma_fence();
    } else if constexpr (F != 3) {
      wgmma_fence();
    }
    wgmma<major::k, major::k>(sum, operand_at(s.a), operand_at(s.b), true);
    if constexpr (F != 6) wgmma_commit();
    if constexpr (F == 5) s.b[t] = 0;
    if constexpr (F == 4) sum[0] += 1;
    wgmma_wait<0>();
    p.out[t] = static_cast<word>(sum[0]);
  }
};

// A ring of operands; a slot is released when the product after its own has been started.
template <int F> struct product_ring : of_threads<256> {
  static constexpr int faults = 5, tiles = 4;
  static constexpr shared_kind shared = shared_kind::fixed;
  struct storage {
    alignas(128) word a[2][operand_words];
    mbarrier full[2], empty[2];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), warp = warp_index();
    if (t == 0) {
      for (int i = 0; i < 2; ++i) {
        s.full[i].init(1);
        s.empty[i].init(4);
      }
      fence_mbarrier_init();
    }
    block_barrier();
    if (warp < 4) {
      if (t != 0) return;
      for (unsigned i = 0; i < tiles; ++i) {
        s.empty[i % 2].wait((i / 2 & 1) ^ 1);
        s.full[i % 2].arrive(bytes{4 * operand_words});
        bulk_load(s.a[i % 2], p.in + i % 2 * operand_words, 4 * operand_words, s.full[i % 2]);
      }
    } else {
      float sum[32] = {};
      for (unsigned i = 0; i < tiles; ++i) {
        if constexpr (F != 1) s.full[i % 2].wait(i / 2 & 1);
        if (i == 0) wgmma_fence();
        wgmma<major::k, major::k>(sum, operand_at(s.a[i % 2]), operand_at(s.a[i % 2]), i > 0);
        wgmma_commit();
        if constexpr (F == 2) s.empty[i % 2].arrive(by_warp{});
        if constexpr (F == 3)
          wgmma_wait<2>();
        else
          wgmma_wait<1>();
        if constexpr (F == 4) s.empty[i % 2].arrive(by_warp{});
        if constexpr (F != 2 && F != 4)
          if (i > 0) s.empty[(i - 1) % 2].arrive(by_warp{});
      }
      if constexpr (F != 5) wgmma_wait<0>();
      p.out[t] = static_cast<word>(sum[3]);
    }
  }
};

// Data that the kernel wrote to global memory is loaded back by TMA.
template <int F> struct round_trip : of_threads<32> {
  static constexpr int faults = 4;
  struct storage {
    alignas(128) word tile[32];
    mbarrier landed;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    test::first_thread_prepares(s.landed);
    p.out[t] = p.in[t];
    if constexpr (F == 1)
      fence_async();
    else if constexpr (F != 2)
      fence_async_global();
    if constexpr (F != 3) warp_sync();
    if (t == 0) {
      s.landed.arrive(bytes{128});
      bulk_load(s.tile, p.out, 128, s.landed);
    }
    if constexpr (F == 3) warp_sync();
    if constexpr (F == 4) {
      if (t == 0) s.landed.wait(0);
      p.out[32 + t] = s.tile[31 - t];
    } else {
      s.landed.wait(0);
      p.out[32 + t] = s.tile[31 - t];
    }
  }
};

// A tile is loaded into shared memory that ordinary writes used before.
template <int F> struct reused : of_threads<64> {
  static constexpr int faults = 3;
  struct storage {
    alignas(128) word tile[64];
    mbarrier landed;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    test::first_thread_prepares(s.landed);
    s.tile[t] = p.in[t];
    block_barrier();
    const word mine = s.tile[63 - t];
    if constexpr (F != 1) fence_async();
    if constexpr (F != 2) block_barrier();
    if (t == 0) {
      s.landed.arrive(bytes{256});
      bulk_load(s.tile, p.in + 64, 256, s.landed);
    }
    s.landed.wait(0);
    p.out[t] = mine + s.tile[t];
    if (F == 3 && t == 1) s.landed.arrive(), s.landed.wait(0), p.out[64] = s.tile[1], s.landed.arrive();
  }
};

// A tile stored by TMA is passed to another block.
template <int F> struct handed_over : of_threads<32> {
  static constexpr int faults = 5;
  static constexpr residency blocks = residency::in_order;
  struct storage {
    alignas(128) word tile[32];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if (block_index().x == 0) {
      s.tile[t] = p.in[t];
      fence_async();
      warp_sync();
      if (t == 0) {
        bulk_store(p.out, s.tile, 128);
        bulk_commit();
        if constexpr (F == 1) store_release(&p.flag[0], 1);
        if constexpr (F == 2)
          bulk_wait_read<0>();
        else if constexpr (F == 3)
          bulk_wait<1>();
        else
          bulk_wait<0>();
        if constexpr (F == 4)
          store_relaxed(&p.flag[0], 1);
        else if constexpr (F != 1)
          store_release(&p.flag[0], 1);
        bulk_wait<0>();
      }
    } else {
      if (t == 0) poll([&] { return load_acquire(&p.flag[0]) != 0; });
      if constexpr (F != 5) warp_sync();
      p.out[32 + t] = p.out[31 - t];
    }
  }
};

// The result is gathered in the operands' shared memory.
template <int F> struct in_operands_place : of_threads<128> {
  static constexpr int faults = 2;
  struct storage {
    alignas(128) word a[operand_words];
    alignas(128) word b[operand_words];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (int i = t; i < operand_words; i += threads)
      s.a[i] = p.in[i] & 0x3BFF3BFFu, s.b[i] = p.in[512 + i] & 0x3BFF3BFFu;
    fence_async();
    block_barrier();
    float sum[32] = {};
    for (int i = 0; i < 2; ++i) {
      if (i == 0 || F != 2) wgmma_fence();
      if constexpr (F == 2)
        if (i == 1) sum[5] *= 2;
      wgmma<major::k, major::k>(sum, operand_at(s.a), operand_at(s.b), true);
      wgmma_commit();
      wgmma_wait<(F == 1 ? 1 : 0)>();
    }
    block_barrier();
    s.b[t] = static_cast<word>(sum[1]);
    if constexpr (F == 1) wgmma_wait<0>();
    block_barrier();
    p.out[t] = s.b[127 - t];
  }
};

// A block signals its neighbour's mbarrier after writing a word. A block may end once all of the neighbour's
// signals have arrived.
template <int F> struct told_remotely : of_threads<32> {
  static constexpr int faults = 3, cluster = 2;
  struct storage {
    word word_of_other[32];
    mbarrier told;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), rank = cluster_rank();
    if (t == 0) {
      s.told.init(F == 1 ? 1 : 32);
      fence_mbarrier_init();
    }
    if constexpr (F == 2) {
      warp_sync();
    } else {
      cluster_barrier();
    }
    map_shared(s.word_of_other, rank ^ 1)[t] = p.in[rank * 32 + t];
    if (F != 1 || t == 0) arrive_remote(s.told, rank ^ 1);
    if constexpr (F != 3) wait_remote(s.told, 0);
    p.out[rank * 32 + t] = s.word_of_other[31 - t];
  }
};

// Blocks of a cluster know that the others have started through arrivals that release nothing.
template <int F> struct begun_silently : of_threads<32> {
  static constexpr int faults = 2, cluster = 2;
  struct storage {
    word mine[32];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), rank = cluster_rank();
    if constexpr (F != 1) cluster_arrive_silent();
    const word x = p.in[t + 32 * rank];
    if constexpr (F != 1) cluster_wait();
    map_shared(s.mine, rank ^ 1)[t] = x;
    if constexpr (F == 2) {
      cluster_arrive_silent();
      cluster_wait();
    } else {
      cluster_barrier();
    }
    p.out[rank * 32 + t] = s.mine[31 - t];
  }
};

// mbarriers become visible to the cluster by their fence and arrivals that release nothing (PTX ISA,
// fence.mbarrier_init).
template <int F> struct announced : of_threads<32> {
  static constexpr int faults = 3, cluster = 2;
  struct storage {
    alignas(128) word tile[32];
    word ordinary;
    mbarrier landed, done;
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), rank = cluster_rank();
    if (t == 0) {
      s.ordinary = 7;
      s.landed.init(1);
      if constexpr (F != 2) s.done.init(2);
      if constexpr (F != 1) fence_mbarrier_init();
    }
    cluster_arrive_silent();
    if (F == 2 && t == 0) {
      s.done.init(2);
      fence_mbarrier_init();
    }
    cluster_wait();
    warp_sync();
    if (t == 0) {
      s.landed.arrive(bytes{128});
      bulk_load_multicast(s.tile + 16 * rank, p.in + 16 * rank, 64, s.landed, 3);
    }
    s.landed.wait(0);
    p.out[rank * 32 + t] = s.tile[31 - t] + (F == 3 ? *map_shared(&s.ordinary, rank ^ 1) : 0);
    if (t < 2) arrive_remote(s.done, t);
    wait_remote(s.done, 0);
    cluster_barrier();
  }
};

std::vector<mutant> engines() {
  using enum finding_kind;
  std::vector<mutant> list;
  add_family<load_ring>(list, "load-ring",
                        {.right =
                             [](const std::vector<word>& out) {
                               for (int i = 0; i < 384; ++i)
                                 if (out[static_cast<std::size_t>(i)] != input(i) + 1) return false;
                               return true;
                             }},
                        {{"full is not waited for", read_before_landing},
                         {"empty with the parity of full", deadlock},
                         {"empty before it is read", overwritten_in_use},
                         {"empty by one warp of two", barrier_misuse},
                         {"expects half", deadlock},
                         {"expects twice", deadlock},
                         {"full with the parity of empty", read_before_landing}});
  add_family<store_epilogue>(list, "store-epilogue", {},
                             {{"overwritten before it is read", overwritten_in_use},
                              {"threads do not wait for the one that waits", overwritten_in_use},
                              {"no proxy fence", missing_proxy_fence},
                              {"no barrier before the store", race},
                              {"never committed", never_waited_for},
                              {"never waited for", never_waited_for}});
  add_family<store_ring>(list, "store-ring", {},
                         {{"a group too many", overwritten_in_use},
                          {"lanes do not wait", overwritten_in_use},
                          {"stored at once", race}});
  add_family<three_events>(list, "three-events", {},
                           {{"no proxy fence", missing_proxy_fence},
                            {"released before it is read", overwritten_in_use},
                            {"stored before it is changed", race},
                            {"two parties, one arrives", deadlock},
                            {"used before it is initialised", barrier_misuse}});
  add_family<cluster_sum>(list, "cluster-sum", {.blocks = 2},
                          {{"a barrier of the block", race},
                           {"arrives silently", race},
                           {"ends before it is read", outside_memory},
                           {"arrives, and ends", outside_memory}});
  add_family<halo>(list, "halo", {.blocks = 4},
                   {{"a barrier of the block", race},
                    {"the next step in one's own time", race},
                    {"no second barrier", race},
                    {"no thread waits for the others to begin", outside_memory}});
  add_family<multicast_ring>(list, "multicast-ring", {.blocks = 2},
                             {{"expects one half", read_before_landing},
                              {"the other block's mbarriers are not initialised", barrier_misuse},
                              {"empty by one block", barrier_misuse},
                              {"empty is not waited for", barrier_misuse},
                              {"ends before the other is done", outside_memory},
                              {"empty before it is read", overwritten_in_use}});
  add_family<reduced>(list, "reduced", {.blocks = 2},
                      {{"no proxy fence", missing_proxy_fence},
                       {"no sync", race},
                       {"overwritten before it is read", overwritten_in_use},
                       {"stored, not added", overwritten_in_use}});
  add_family<transposed_box>(list, "transposed-box", {},
                             {{"expects nothing", read_before_landing},
                              {"no wait", read_before_landing},
                              {"the parity stays", read_before_landing},
                              {"no proxy fence", missing_proxy_fence},
                              {"overwritten before it is read", overwritten_in_use},
                              {"no fence of the mbarrier", missing_proxy_fence}});
  add_family<attention_ring>(list, "attention-ring", {},
                             {{"Q is not waited for", read_before_landing},
                              {"V is not waited for", read_before_landing},
                              {"V is overwritten", overwritten_in_use},
                              {"V counts for K", deadlock},
                              {"V empty before it is read", overwritten_in_use}});
  add_family<product>(list, "product", {},
                      {{"no proxy fence", missing_proxy_fence},
                       {"no barrier", race},
                       {"no fence of registers", barrier_misuse},
                       {"the sum is touched in flight", barrier_misuse},
                       {"B is overwritten in flight", overwritten_in_use},
                       {"not committed", never_waited_for},
                       {"half of the lanes fence", deadlock}});
  add_family<product_ring>(list, "product-ring", {},
                           {{"full is not waited for", read_before_landing},
                            {"empty at once", overwritten_in_use},
                            {"a group too many", overwritten_in_use},
                            {"empty while it is read", overwritten_in_use},
                            {"the last is not waited for", never_waited_for}});
  add_family<round_trip>(list, "round-trip", {},
                         {{"a fence of shared memory", missing_proxy_fence},
                          {"no fence", missing_proxy_fence},
                          {"no sync before the load", race},
                          {"one thread waits", read_before_landing}});
  add_family<reused>(list, "reused", {},
                     {{"no proxy fence", missing_proxy_fence},
                      {"no barrier", overwritten_in_use},
                      {"a phase of its own", deadlock}});
  add_family<handed_over>(list, "handed-over", {.blocks = 2},
                          {{"told at once", read_before_landing},
                           {"waits until it is read", read_before_landing},
                           {"waits for all but one", read_before_landing},
                           {"a relaxed flag", read_before_landing},
                           {"one lane waits", read_before_landing}});
  add_family<in_operands_place>(
      list, "in-operands-place", {},
      {{"its own product may read", overwritten_in_use}, {"touched, and no fence", barrier_misuse}});
  add_family<told_remotely>(
      list, "told-remotely", {.blocks = 2},
      {{"one lane arrives", race}, {"the other has not begun", outside_memory}, {"nobody waits", race}});
  add_family<begun_silently>(list, "begun-silently", {.blocks = 2},
                             {{"no barrier before it", outside_memory}, {"arrives silently after it", race}});
  add_family<announced>(list, "announced", {.blocks = 2},
                        {{"without their fence", race},
                         {"initialised after the arrival", race},
                         {"more than mbarriers", race}});
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::pipelines
