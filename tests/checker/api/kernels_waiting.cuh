// SPDX-License-Identifier: Apache-2.0
// The kernels of waiting.hpp. For the checker only: the loops use compiler builtins.
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/warp.cuh>
#include "tests/checker/api/waiting.hpp"

namespace antiphase::test {
inline namespace AP_TARGET {

template <loop_of L, setting S> struct waits {
  using params = waiting_params;
  struct storage {};
  static constexpr int threads = 64;

  static void wait(std::uint32_t* words) {
    std::uint32_t* const last = words + waiting_words - 1;
    if constexpr (L == loop_of::loads) {
      while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != 0) {
      }
    } else if constexpr (L == loop_of::volatile_loads) {
      while (*const_cast<volatile std::uint32_t*>(last) != 0) {
      }
    } else if constexpr (L == loop_of::updates) {
      while (__atomic_fetch_or(last, 0, __ATOMIC_ACQ_REL) != 0) {
      }
    } else if constexpr (L == loop_of::exchanges) {
      while (__atomic_exchange_n(last, 1, __ATOMIC_ACQ_REL) != 0) {
      }
      __atomic_store_n(last, 0, __ATOMIC_RELEASE);
    } else if constexpr (L == loop_of::compare_exchanges) {
      for (std::uint32_t free = 0;
           !__atomic_compare_exchange_n(last, &free, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);)
        free = 0;
      __atomic_store_n(last, 0, __ATOMIC_RELEASE);
    } else if constexpr (L == loop_of::plain_loads) {
      while (*last != 0) asm volatile("" ::: "memory");
    } else if constexpr (L == loop_of::plain_bytes) {
      while (*reinterpret_cast<unsigned char*>(last) != 0) asm volatile("" ::: "memory");
    } else if constexpr (L == loop_of::votes) {
      while (ballot(load_acquire(last) != 0, 7u) != 0) {
      }
    } else {
      for (std::uint32_t left = 1; left != 0;) {
        left = 0;
        for (int i = 0; i < waiting_words; ++i) left += load_relaxed(words + i);
      }
    }
  }
  void operator()(const params& p) const {
    if (thread_index() < 3) {
      wait(p.words);
      atomic_add(p.words + waiting_words, 1u);
    } else if (thread_index() == 40 && S == setting::done) {
      for (int i = 0; i < waiting_words; ++i) {
        warp_sync(1u << 8);  // the others may go first
        store_release(p.words + i, 0u);
      }
    }
  }
};

template <setting S> kernel waiting_kernel(loop_of l) {
  switch (l) {
    case loop_of::loads: return kernel_of<waits<loop_of::loads, S>>("loads");
    case loop_of::volatile_loads: return kernel_of<waits<loop_of::volatile_loads, S>>("volatile loads");
    case loop_of::updates: return kernel_of<waits<loop_of::updates, S>>("updates");
    case loop_of::exchanges: return kernel_of<waits<loop_of::exchanges, S>>("exchanges");
    case loop_of::compare_exchanges:
      return kernel_of<waits<loop_of::compare_exchanges, S>>("compare-exchanges");
    case loop_of::plain_loads: return kernel_of<waits<loop_of::plain_loads, S>>("plain loads");
    case loop_of::plain_bytes: return kernel_of<waits<loop_of::plain_bytes, S>>("plain bytes");
    case loop_of::votes: return kernel_of<waits<loop_of::votes, S>>("votes");
    case loop_of::loads_of_many: break;
  }
  return kernel_of<waits<loop_of::loads_of_many, S>>("loads of many");
}
kernel waiting_kernel(loop_of l, setting s) {
  return s == setting::done ? waiting_kernel<setting::done>(l) : waiting_kernel<setting::forgotten>(l);
}

}  // namespace AP_TARGET
}  // namespace antiphase::test
