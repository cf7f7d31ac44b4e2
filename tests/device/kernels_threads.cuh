// SPDX-License-Identifier: Apache-2.0
// Probe kernels: indices, barriers, warp operations and shared storage.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/warp.cuh>
#include "tests/device/probes.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

AP_DEV unsigned linear_block() {
  const extent3 b = block_index(), g = grid_extent();
  return (b.z * g.y + b.y) * g.x + b.x;
}

template <int Threads> struct indices {
  using params = buffers;
  struct storage {};
  static constexpr int threads = Threads;
  AP_DEV void operator()(const params& p) const {
    const extent3 b = block_index(), g = grid_extent();
    const auto t = static_cast<unsigned>(thread_index());
    std::uint32_t* out = p.out + (linear_block() * Threads + t) * 3;
    out[0] = b.x | b.y << 8 | b.z << 16;
    out[1] = g.x | g.y << 8 | g.z << 16;
    out[2] = t | static_cast<unsigned>(lane_index()) << 12 |
             static_cast<unsigned>(Threads % 32 == 0 ? warp_index() : thread_index() / 32) << 20;
  }
};

// Three rounds through shared memory; without either barrier of a round some thread would read the wrong
// round.
template <int Threads> struct reverse {
  using params = buffers;
  struct storage {
    std::uint32_t value[Threads];
  };
  static constexpr int threads = Threads;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    const unsigned at = linear_block() * Threads + static_cast<unsigned>(t);
    std::uint32_t mine = p.in[at];
    for (unsigned round = 0; round < 3; ++round) {
      s.value[t] = mine + round;
      block_barrier();
      mine = s.value[Threads - 1 - t] * 3;
      block_barrier();
    }
    p.out[at] = mine;
  }
};

// A shared-memory size that needs opting in.
struct reverse_60k {
  using params = buffers;
  struct storage {
    std::uint32_t value[15 * 1024];
  };
  static constexpr int threads = 256;
  static constexpr shared_kind shared = shared_kind::dynamic;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    for (int i = thread_index(); i < p.size; i += threads) s.value[i] = p.in[i];
    block_barrier();
    for (int i = thread_index(); i < p.size; i += threads) p.out[i] = s.value[p.size - 1 - i];
  }
};

// Two pairs of warps, each with its own barrier, at different speeds.
struct named_pairs {
  using params = buffers;
  struct storage {
    std::uint32_t value[4][32];
  };
  static constexpr int threads = 128;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int warp = warp_index(), lane = lane_index(), pair = warp / 2;
    std::uint32_t mine = p.in[thread_index()];
    for (unsigned round = 0; round < 3u + 4u * static_cast<unsigned>(pair); ++round) {
      s.value[warp][lane] = mine;
      named_barrier_sync(1 + pair, 64);
      mine = s.value[warp ^ 1][31 - lane] + round;
      named_barrier_sync(1 + pair, 64);
    }
    p.out[thread_index()] = mine;
  }
};

// Warp 0 fills, warp 1 reads; each signals the other by an arrival without a wait.
struct named_hand_over {
  using params = buffers;
  struct storage {
    std::uint32_t value[32];
  };
  static constexpr int threads = 64, rounds = 6;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int lane = lane_index();
    for (int round = 0; round < rounds; ++round) {
      if (warp_index() == 0) {
        if (round > 0) named_barrier_sync(15, 64);
        s.value[lane] = p.in[round * 32 + lane];
        named_barrier_arrive(3, 64);
      } else {
        named_barrier_sync(3, 64);
        p.out[round * 32 + lane] = s.value[31 - lane];
        if (round + 1 < rounds) named_barrier_arrive(15, 64);
      }
    }
  }
};

template <int Bytes> struct shuffles {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index(), lane = lane_index();
    const blob<Bytes> mine = blob_of<Bytes>(static_cast<unsigned>(t));
    p.out[t * 4] = digest(shuffle(mine, lane * 5 + 3));  // wraps around beyond lane 31
    p.out[t * 4 + 1] = digest(shuffle_up(mine, 3));
    p.out[t * 4 + 2] = digest(shuffle_down(mine, 5));
    p.out[t * 4 + 3] = digest(uniform(mine));
  }
};

// Even and odd lanes under separate masks, and a quarter of each warp by itself.
struct partial_masks {
  using params = buffers;
  struct storage {
    std::uint32_t value[64];
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), lane = lane_index();
    const std::uint32_t mine = p.in[t];
    std::uint32_t* out = p.out + t * 4;
    const unsigned half = lane % 2 == 0 ? 0x55555555u : 0xAAAAAAAAu;
    if (lane % 2 == 0) {
      out[0] = shuffle(mine, lane ^ 2, half);
      out[1] = ballot(mine % 3 == 0, half);
    } else {
      out[0] = shuffle(mine, (lane + 4) % 32, half);
      out[1] = ballot(mine % 5 == 0, half);
    }
    if (lane >= 8 && lane < 16) {
      s.value[t] = mine;
      warp_sync(0x0000FF00u);
      out[2] = s.value[t ^ 7];
    }
    out[3] = ballot(mine % 2 == 0);
  }
};

// A last warp of eight lanes.
struct partial_warp {
  using params = buffers;
  struct storage {};
  static constexpr int threads = 40;
  AP_DEV void operator()(const params& p) const {
    const int t = thread_index(), lane = lane_index();
    const unsigned present = t < 32 ? all_lanes : 0xFFu;
    p.out[t * 2] = shuffle(p.in[t], (lane + 3) % (t < 32 ? 32 : 8), present);
    p.out[t * 2 + 1] = ballot(p.in[t] % 3 == 0, present);
  }
};

// Some lanes of each warp return, and half a warp; the others continue without them.
struct threads_return {
  using params = buffers;
  struct storage {
    std::uint32_t value[96];
  };
  static constexpr int threads = 96;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    if (!stays(t)) return;
    s.value[t] = p.in[t];
    block_barrier();
    p.out[t * 3] = stays(threads - 1 - t) ? s.value[threads - 1 - t] : 0;
    p.out[t * 3 + 1] = ballot(p.in[t] % 2 == 0);
    warp_sync();
    p.out[t * 3 + 2] = shuffle(p.in[t], staying_lane(t / 32));
  }
};

std::vector<kernel> thread_kernels() {
  return {kernel_of<indices<1>>("indices-1"),
          kernel_of<indices<31>>("indices-31"),
          kernel_of<indices<33>>("indices-33"),
          kernel_of<indices<1024>>("indices-1024"),
          kernel_of<reverse<1>>("reverse-1"),
          kernel_of<reverse<31>>("reverse-31"),
          kernel_of<reverse<33>>("reverse-33"),
          kernel_of<reverse<1024>>("reverse-1024"),
          kernel_of<reverse_60k>("reverse-60k"),
          kernel_of<named_pairs>("named-pairs"),
          kernel_of<named_hand_over>("named-hand-over"),
          kernel_of<shuffles<1>>("shuffles-1"),
          kernel_of<shuffles<2>>("shuffles-2"),
          kernel_of<shuffles<3>>("shuffles-3"),
          kernel_of<shuffles<4>>("shuffles-4"),
          kernel_of<shuffles<8>>("shuffles-8"),
          kernel_of<shuffles<15>>("shuffles-15"),
          kernel_of<shuffles<16>>("shuffles-16"),
          kernel_of<shuffles<17>>("shuffles-17"),
          kernel_of<shuffles<32>>("shuffles-32"),
          kernel_of<shuffles<40>>("shuffles-40"),
          kernel_of<partial_masks>("partial-masks"),
          kernel_of<partial_warp>("partial-warp"),
          kernel_of<threads_return>("threads-return")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
