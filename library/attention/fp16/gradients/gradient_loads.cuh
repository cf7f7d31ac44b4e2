// SPDX-License-Identifier: Apache-2.0
// The items and the ring of a block of the gradients' kernels, and the thread that fills it.
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/wgmma.cuh>
#include <type_traits>

#include "library/attention/fp16/forward.cuh"
#include "library/attention/fp16/gradients/backward.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// The waits between the parts of a block. A parameter, so that tests can take one wait away.
template <gradient_policy P> struct gradient_waits {
  using ring = channel<mbarrier, P.slots, threads(1), warps(8)>;
  using weights = channel<mbarrier, 2, warps(4), warps(4)>;
  AP_DEV static void second(ring& r, cursor<P.slots> at) { r.wait(at, full); }
  AP_DEV static void read(weights& w, cursor<2> at) { w.wait(at, full); }
  AP_DEV static void last_part() { wgmma_wait<0>(); }
};

template <gradient_policy P, class Waits> struct gradient_loads {
  static constexpr bool of_keys = P.side == side::keys;
  static constexpr int D = P.depth, N = split_rows, chunks = D / 64, Own = P.own_rows();
  using params = gradient_params;
  // The rows of a tile of the other side; where those that are there end.
  AP_DEV static int first_of(int, int tile) { return tile * N; }
  AP_DEV static int end_of(int rows, int) { return rows; }

  // storage
  // ---------------------------------------------------------------------------------------------------------
  // An item: the tile of keys of a member and head of K, or of queries of a member and head of Q.
  struct item {
    std::int32_t member, head, tile;  // member < 0: there are no more
  };
  struct slot {
    parts_chunk<N> columns[chunks];
  };
  struct no_weights {};
  struct weights_ring {
    alignas(16) float p[2][N / 8][warpgroup_size][4];
    typename Waits::weights ring;
  };
  struct own_tile {
    parts_chunk<Own> operand[2][chunks];
  };
  struct storage {
    own_tile own[P.items];
    slot slots[P.slots];
    alignas(16) float numbers[of_keys ? P.slots : 1][N];  // with Q their tops, with dO their D
    std::conditional_t<P.shared, weights_ring, no_weights> weights;
    typename Waits::ring ring;
    channel<mbarrier, P.items, antiphase::threads(1), warps(8)> owned;
    item now[P.items];
  };
  using slot_cursor = cursor<P.slots>;
  using own_cursor = cursor<P.items>;

  AP_DEV static item item_at(const params& p, std::uint32_t i) {
    // By causality the first keys are seen by most queries, and the last queries see most keys.
    const auto heads = static_cast<std::uint32_t>(of_keys ? p.problem.kv_heads : p.problem.heads);
    const auto each = static_cast<std::uint32_t>(p.problem.members) * heads;
    const std::uint32_t rest = i % each;
    const int tile = static_cast<int>(i / each);
    if (tile >= p.tiles) return {-1, 0, 0};
    return {static_cast<int>(rest / heads), static_cast<int>(rest % heads),
            of_keys ? tile : p.tiles - 1 - tile};
  }
  AP_DEV static const split_shape& own_shape(const params& p) { return of_keys ? p.keys : p.queries; }
  AP_DEV static const split_shape& other_shape(const params& p) { return of_keys ? p.queries : p.keys; }

  // Tiles of the other side.
  struct range {
    int begin, end;
    AP_DEV int count() const { return end - begin; }
  };
  // Tiles that meet rows `first` to `first + count - 1`, or as many of these as there are.
  AP_DEV static range range_of(const reach& sees, const member& m, int first, int count) {
    const int rows = of_keys ? m.keys : m.queries, last = (first + count < rows ? first + count : rows) - 1;
    if (first > last) return {0, 0};
    int begin, end;
    if (of_keys) {
      begin = first - sees.high + 1 > 0 ? first - sees.high + 1 : 0;
      end = last - sees.low < m.queries ? last - sees.low + 1 : m.queries;
    } else {
      begin = sees.begin(first), end = sees.end(last);
    }
    return {begin / N, end > begin ? (end + N - 1) / N : begin / N};
  }
  // The heads of the other side whose tiles pass: of Q those that share K, of K one.
  AP_DEV static range heads_of(const params& p, const item& w) {
    if (of_keys) return {w.head * p.group, w.head * p.group + p.group};
    return {w.head / p.group, w.head / p.group + 1};
  }

  // load
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void load_tile(const params& p, storage& s, slot_cursor& at, int operand, int row, int head) {
    s.ring.acquire(at);
    mbarrier& landed = s.ring.barrier[full][at.index];
    AP_UNROLL
    for (int c = 0; c < chunks; ++c)
      tensor_load(s.slots[at.index].columns[c].part, p.other[operand], landed, 64 * c, row, 0, head);
    if constexpr (of_keys)
      bulk_load(s.numbers[at.index], p.numbers + 2 * (head * p.queries.tiles * N + row) + operand * N,
                sizeof s.numbers[0], landed);
    s.ring.commit(at++, full, bytes{sizeof(slot) + (of_keys ? sizeof s.numbers[0] : 0)});
  }
  AP_DEV static void load(const params& p, storage& s) {
    own_cursor own;
    slot_cursor at;
    for (;;) {
      const item w = item_at(p, atomic_add(p.next_item, 1u));
      if (w.member < 0) {
        s.owned.acquire(own);
        s.now[own.index] = w;
        s.owned.commit(own, full);
        return;
      }
      const int first = w.tile * Own, kv_head = of_keys ? w.head : heads_of(p, w).begin;
      if (first >= own_shape(p).rows_of(w.member) || p.flags[w.member * p.problem.kv_heads + kv_head] != 0)
        continue;
      const int row = static_cast<int>(own_shape(p).first_tile(w.member)) * N + first;
      s.owned.acquire(own);
      s.now[own.index] = w;
      AP_UNROLL
      for (int o = 0; o < 2; ++o) {
        AP_UNROLL
        for (int c = 0; c < chunks; ++c)
          tensor_load(s.own[own.index].operand[o][c].part, p.own[o], s.owned.barrier[full][own.index], 64 * c,
                      row, 0, w.head);
      }
      s.owned.commit(own++, full, bytes{sizeof(own_tile)});
      const member m = member_of(p.problem, w.member);
      const range tiles = range_of(reach_of(p.problem, m), m, first, Own);
      const int at_begin = static_cast<int>(other_shape(p).first_tile(w.member)) + tiles.begin;
      const range heads = heads_of(p, w);
      int tile = at_begin, head = heads.begin;
      for (int left = 2 * tiles.count() * (of_keys ? heads.count() : 1); left > 0; --left) {
        const int operand = left % 2;
        load_tile(p, s, at, operand, tile * N, head);
        tile += operand;
        if (of_keys && tile == at_begin + tiles.count()) tile = at_begin, ++head;
      }
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
