// SPDX-License-Identifier: Apache-2.0
// Probe kernels: asynchronous copies of a thread (sm_80).
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/kernel.cuh>
#include "tests/device/probes.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

// Each thread copies `Bytes` by copy(to, source, thread), and another thread reads them.
template <int Bytes, class Copy> struct copies_of_threads {
  using params = buffers;
  static constexpr int threads = 64, words = Bytes / 4;
  struct storage {
    alignas(16) std::uint32_t value[threads * words];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), other = threads - 1 - t;
    Copy::copy(s.value + t * words, p.in + t * words, t);
    copy_async_commit();
    copy_async_wait<0>();
    block_barrier();
    for (int i = 0; i < words; ++i) p.out[other * words + i] = s.value[other * words + i];
  }
};

// Thread t takes t % (Bytes + 1) bytes of its source; the rest of the destination becomes zero.
template <int Bytes> struct part {
  AP_DEV static void copy(std::uint32_t* to, const std::uint32_t* from, int t) {
    copy_async<Bytes>(to, from, t % (Bytes + 1));
  }
};
template <int Bytes> using partial_copies = copies_of_threads<Bytes, part<Bytes>>;

// One thread in three zero-fills its part, with 16 bytes from a source address that is not aligned for a
// copy.
template <int Bytes> struct all_or_zero {
  AP_DEV static void copy(std::uint32_t* to, const std::uint32_t* from, int t) {
    const bool there = t % 3 != 0;
    copy_async_or_zero<Bytes>(to, from + !there, there);
  }
};
template <int Bytes> using copies_or_zeros = copies_of_threads<Bytes, all_or_zero<Bytes>>;

// Four groups, one of them empty: each wait makes at least the groups that it names visible.
struct groups {
  using params = buffers;
  static constexpr int threads = 32;
  struct storage {
    std::uint32_t value[4][threads];
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    for (int g = 0; g < 4; ++g) {
      if (g != 2) copy_async<4>(&s.value[g][t], p.in + g * threads + t, 4);
      copy_async_commit();
    }
    copy_async_wait<3>();
    p.out[t] = s.value[0][t];
    copy_async_wait<1>();
    p.out[threads + t] = s.value[1][t];
    copy_async<4>(&s.value[2][t], p.in + 2 * threads + t, 4);
    copy_async_commit();
    copy_async_wait<1>();
    p.out[3 * threads + t] = s.value[3][t];
    copy_async_wait<0>();
    p.out[2 * threads + t] = s.value[2][t];
  }
};

std::vector<kernel> copy_kernels() {
  return {kernel_of<partial_copies<4>>("copies-4"),
          kernel_of<partial_copies<8>>("copies-8"),
          kernel_of<partial_copies<16>>("copies-16"),
          kernel_of<copies_or_zeros<4>>("copies-or-zeros-4"),
          kernel_of<copies_or_zeros<16>>("copies-or-zeros-16"),
          kernel_of<groups>("copy-groups")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
