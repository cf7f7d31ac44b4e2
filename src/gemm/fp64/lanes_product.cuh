// SPDX-License-Identifier: Apache-2.0
// Products on FP64 Tensor Cores whose lanes read their operands straight into registers, without a ring
// (sm_80).
#pragma once
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/registers.cuh>
#include "src/gemm/fp64/fp64_tile.cuh"
#include "src/gemm/fp64/register_feed.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
//   by 16 k: load the block after the next, convert, multiply (FP64 Tensor Cores) | store
// All warps load and compute, without a barrier. A lane takes the same k and lines as in a ring product
// (ring_layout.cuh).
template <fp64_policy P> struct lanes_product {
  static_assert(valid(P) && P.kind == kernel_kind::lanes && P.slabs == 1 && !P.shares);
  static constexpr int threads = P.computing_warps() * warp_size;
  static constexpr int blocks_wanted = P.blocks;
  static constexpr bool overlaps_previous = true;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = tiled_problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  struct storage {};
  using tiles = fp64_tiles<P>;
  using seat = fp64_seat<P>;
  using sums = fp64_sums<P>;

 private:
  // load
  // ---------------------------------------------------------------------------------------------------------
  // known: of operands whose member's address follows from its number; else a table in memory, which earlier
  // work may write, holds it.
  AP_DEV static void find_operands(const params& p, fp64_work& w, bool known) {
    if ((p.of_long.member == nullptr) == known) w.of_long = p.of_long.of_member(w.member);
    if ((p.of_short.member == nullptr) == known) w.of_short = p.of_short.of_member(w.member);
  }
  struct lane_operands {
    using long_lines = lane_lines<sums::rows, 2, P.held>;
    using short_lines = lane_lines<sums::columns, sums::two, P.held>;
    long_lines a;
    short_lines b;

    AP_DEV void place(const params& p, const fp64_work& w, const seat& t, bool known) {
      if ((p.of_long.member == nullptr) == known)
        a.place(p.of_long, w.of_long, w.top, w.long_left, t.top, w.k, t.g);
      if ((p.of_short.member == nullptr) == known)
        b.place(p.of_short, w.of_short, w.left, w.short_left, t.left, w.k, t.g);
    }
    AP_DEV std::uint32_t digest() const {
      std::uint32_t all = 0;
      AP_UNROLL
      for (int l = 0; l < long_lines::count; ++l)
        all ^= static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(a.line[l]));
      AP_UNROLL
      for (int l = 0; l < short_lines::count; ++l)
        all ^= static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(b.line[l]));
      return all ^ static_cast<std::uint32_t>(a.apart ^ b.apart);
    }
    AP_DEV void load(int slot, int at, int k) {
      a.load(slot, at, k);
      b.load(slot, at, k);
    }
  };

  // compute
  // ---------------------------------------------------------------------------------------------------------
  // Includes the wait for earlier work: addresses are computed before it.
  AP_DEV static void compute(const params& p, fp64_work& w, const seat& t, sums& sum) {
    lane_operands o;
    find_operands(p, w, true);
    o.place(p, w, t, true);
    // first: the lane's first k
    const int k = as_many(w.k_end - w.k), first = t.slab * slab_k + k_of_lane(0, t.q);
    const int halves = 2 * ceil_div(k, slab_k);
    compute_first(o.digest() ^ static_cast<std::uint32_t>(first ^ halves));
    wait_for_previous_grid(p);
    start_next_grid();
    find_operands(p, w, false);
    o.place(p, w, t, false);
    if (halves == 0) return;
    const auto at = [&](int half) { return first + half / 2 * slab_k + half % 2 * (slab_k / 2); };
    AP_UNROLL
    for (int n = 0; n < P.held; ++n) o.load(n, at(n), k);
    AP_ROLLED
    for (int half = 0; half < halves; half += P.held) {
      AP_UNROLL
      for (int n = 0; n < P.held; ++n) {
        AP_UNROLL
        for (int i = 0; i < sums::down; ++i)
          multiply_half(o.a.x[n][2 * i], o.a.x[n][2 * i + 1], o.b.x[n], sum.value[i]);
        if (half + n + P.held < halves) o.load(n, at(half + n + P.held), k);
      }
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    using out = fp64_store<P>;
    fp64_work w = tiles::at(p, block_index().x, 0);
    const seat t = seat::mine();
    sums sum = {};
    compute(p, w, t, sum);
    const out to(p, w, out::place_of(0, t.lane));
    to.template store<sums::down, sums::across>([&](int n) { return sum.at(n); });
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
