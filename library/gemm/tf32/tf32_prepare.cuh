// SPDX-License-Identifier: Apache-2.0
// Preparation of a slot's 32 k of the short operand for Tensor Cores (sm_90a).
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/tf32/load/tf32_lines.cuh"
#include "library/gemm/tf32/load/tf32_operand.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Tensor Cores take 11 bits of an element. The preparing threads write the rest of each, `lo`, next to it,
// and, where the operand is not along k as wgmma needs it, also the elements themselves along k. Threads that
// copy operands prepare them as well.
template <tf32_policy P> struct tf32_preparation {
  static constexpr bool by_tma = P.loader == loader::tma, turns = !by_tma || !P.short_along_k;
  static constexpr int warps = by_tma ? 3 : 4, threads = warps * warp_size;
  using slot = tf32_slot<P>;

  // Barrier of the preparing threads.
  AP_DEV static void meet() {
    constexpr int preparing_barrier = 2;  // named
    named_barrier_sync(preparing_barrier, threads);
  }
  // A thread's share of each stage: pieces of four k of a line, from piece `first` on.
  struct share_of_line {
    int line, first;
  };
  struct reader {
    bool along_k = P.short_along_k;
    int start = 0, shift[4] = {};  // cp.async: place of the line's first element; shifts of rows across k
    reader() = default;
    AP_DEV reader(const line_operand& o, const float* data, const share_of_line& mine) : along_k(o.along_k) {
      const row_shifts shifts(o, data);
      start = shifted_panel<tf32_tile.n>::place(along_k, mine.line, 4 * mine.first) +
              (along_k ? shifts.of(mine.line) : 0);
      AP_UNROLL
      for (int k = 0; k < 4; ++k) shift[k] = along_k ? 0 : shifts.of(k);
    }
    // Element k of the thread's.
    AP_DEV float read(const slot& s, const share_of_line& mine, int k) const {
      if constexpr (by_tma) return s.b[tf32_place::across_k(mine.line, 4 * mine.first + k)];
      return s.b[start + shift[k % 4] + shifted_panel<tf32_tile.n>::place(along_k, 0, k)];
    }
  };
  // watch: collects what the certificate needs of the line. k: of the stage's first element.
  template <int Pieces> AP_DEV static void prepare(slot& s, const share_of_line& mine, int k,
                                                   line_watch& watch, const reader& from = {}) {
    const bool counts = ballot(watch.counts()) != 0;
    pack<float, 4> x[Pieces];  // all reads precede the first write, so that none waits for it
    AP_UNROLL
    for (int n = 0; n < Pieces; ++n) {
      if constexpr (turns) {
        AP_UNROLL
        for (int i = 0; i < 4; ++i) x[n].element[i] = from.read(s, mine, 4 * n + i);
      } else {
        x[n] = load_pack<4>(s.b + tf32_place::along_k(mine.line, 4 * (mine.first + n)));
      }
    }
    if constexpr (!by_tma) meet();  // before hi overwrites what was read
    AP_UNROLL
    for (int n = 0; n < Pieces; ++n) {
      const int at = tf32_place::along_k(mine.line, 4 * (mine.first + n));
      if constexpr (turns) store_pack<4>(s.hi() + at, x[n]);
      AP_UNROLL
      for (float& value : x[n].element) {
        watch.see(value);
        value = tf32_lower(value);
      }
      store_pack<4>(s.lo + at, x[n]);
    }
    if (!counts) return;
    // Rare, so small code matters, not speed.
    AP_ROLLED
    for (int n = 0; n < Pieces; ++n) {
      const int at = 4 * (mine.first + n);
      const pack<float, 4> four = load_pack<4>(s.hi() + tf32_place::along_k(mine.line, at));
      watch.nonzeros.add(line_nonzeros::of(bits_of_nonzeros(four), k + at));
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
