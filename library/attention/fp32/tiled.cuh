// SPDX-License-Identifier: Apache-2.0
// Attention in FP32 multiply-adds: one kernel by tiles of keys, with a running softmax.
#pragma once
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/channel/recorder.cuh>
#include <antiphase/channel/staged_copies.cuh>
#include <antiphase/device/exponential.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include "library/attention/fp32/rows.cuh"
#include "library/attention/fp32/scores.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A block has a tile of queries of a head, and walks over tiles of 32 keys. Tiles of K and of V take turns in
// a ring of slots: with two, one is loaded while the other is used.
//   slot 0:  load K0 | scores      | load K1 | scores      | ...
//   slot 1:          | load V0     | P V     | load V1     | ...
// A warp has some rows of Q. A lane computes the scores of its key with all of them; then a row's lanes find
// its largest score and its weights, relative to the largest so far; then a lane adds up its columns of all
// rows. Sums of rows whose largest score grows are rescaled. What a row's result is depends on the tiles'
// boundaries, which are multiples of 32 keys, and on nothing else of the block.

template <tiled_policy P> struct tiled_attention {
  static constexpr int threads = threads_of_block;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  static constexpr bool asynchronous = P.buffers > 1;
  static constexpr int lanes_of_row = warp_size / P.rows;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = forward_arguments;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  struct warp_part {
    alignas(16) float weight[P.rows][keys_of_tile + tile_padding];  // scores at first
    float of_row[P.rows];                                           // the factor of the rows' sums
    std::uint32_t hidden[keys_of_tile];                             // bits of rows that do not see the key
  };
  struct storage {
    alignas(16) float queries[P.tile()][P.depth];
    alignas(16) float slots[P.buffers][keys_of_tile][P.depth + tile_padding];
    warp_part of_warp[warps_of_block];
  };

 private:
  // The tile's queries of a member that are computed, and the keys that some of them sees.
  struct part {
    int top, bottom;
    int first_key, end_key;

    AP_DEV part(const reach& see, int from, int to) : top(from), bottom(to) {
      first_key = see.begin(top) / keys_of_tile * keys_of_tile;
      end_key = see.end(bottom - 1);
    }
    AP_DEV int tiles() const {
      return end_key > first_key ? (end_key - first_key + keys_of_tile - 1) / keys_of_tile : 0;
    }
  };

  // What a lane knows of its row: the lanes `lane / lanes_of_row` share one.
  struct running {
    float largest = minus_infinity, sum = 0;
  };

  // scores
  // ---------------------------------------------------------------------------------------------------------
  // Of the lane's key with the warp's rows, and which of them do not see it.
  template <bool All> AP_DEV static void store_scores(warp_part& mine, const scores& s,
                                                      const float (&product)[P.rows], int first_row,
                                                      int key) {
    std::uint32_t hidden = 0;
    AP_UNROLL
    for (int r = 0; r < P.rows; ++r) {
      const bool hides = !All && s.hides(first_row + r, key);
      hidden |= static_cast<std::uint32_t>(hides) << r;
      mine.weight[r][lane_index()] = hides ? minus_infinity : s.of(product[r], first_row + r, key);
    }
    mine.hidden[lane_index()] = hidden;
  }

  // softmax
  // ---------------------------------------------------------------------------------------------------------
  // The weights of a row's keys in this tile, relative to its largest score so far. Comparisons pass over
  // NaN, which its own weight then puts into the sum.
  AP_DEV static void weigh(warp_part& mine, running& row, float factor) {
    const int r = lane_index() / lanes_of_row, first = lane_index() % lanes_of_row;
    float t[P.rows], largest = row.largest;
    AP_UNROLL
    for (int n = 0; n < P.rows; ++n) {
      t[n] = mine.weight[r][first + n * lanes_of_row];
      largest = t[n] > largest ? t[n] : largest;
    }
    AP_UNROLL
    for (int by = 1; by < lanes_of_row; by *= 2) {
      const float other = shuffle_xor(largest, by);
      largest = other > largest ? other : largest;
    }
    // no score yet: any reference will do, but infinity - infinity
    const float reference = largest == minus_infinity ? 0.0f : largest;
    AP_UNROLL
    for (int n = 0; n < P.rows; ++n)
      mine.weight[r][first + n * lanes_of_row] = t[n] = exp2_accurate((t[n] - reference) * factor);
    // first with what is 16 keys away, then 8, 4, 2, 1: the same sum for any number of rows
    AP_UNROLL
    for (int n = P.rows - 1; n > 0; --n) t[n - (n < 2 ? 1 : n < 4 ? 2 : n < 8 ? 4 : 8)] += t[n];
    float sum = t[0];
    AP_UNROLL
    for (int by = lanes_of_row / 2; by > 0; by /= 2) sum += shuffle_xor(sum, by);
    const float rescale = exp2_accurate((row.largest - reference) * factor);
    row.sum = multiply_add(row.sum, rescale, sum);
    row.largest = largest;
    if (first == 0) mine.of_row[r] = rescale;
  }

  // store
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void store(warp_part& mine, const scores& s, const part& here, const running& row,
                           const output_rows<P.rows, P.depth>& out, int first_row) {
    const int r = lane_index() / lanes_of_row;
    warp_sync();
    if (lane_index() % lanes_of_row == 0) {
      mine.of_row[r] = row.sum;
      const int i = first_row + r;
      if (i >= here.top && i < here.bottom) store_softmax(s, i, row.largest, row.sum);
    }
    warp_sync();
    const problem& p = s.p;
    AP_UNROLL
    for (int n = 0; n < P.rows; ++n) {
      const int i = first_row + n;
      if (i < here.top || i >= here.bottom) continue;
      float* const to = in_global_memory(query_row(p, p.out, s.m, s.head, i));
      const float sum = mine.of_row[n];
      AP_UNROLL
      for (int c = 0; c < out.columns; ++c)
        if (out.column(c) < p.depth) to[out.column(c)] = sum == 0 ? 0.0f : out.sum[n][c] / sum;
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& a) const { run(a); }
  // `recorder`: none, or one that writes a timeline (channel/recorder.cuh). With a no_recorder for none, nvcc
  // 13.0 numbers registers differently, and figures would be of another kernel.
  template <class... Recorder> AP_DEV static void run(const params& a, Recorder&... recorder) {
    wait_for_previous_grid();
    if (none_flagged(a.flags, a.problem)) return;
    for (unsigned number = block_index().x; number < a.tiles; number += grid_extent().x) {
      compute(a, number, recorder...);
      block_barrier();  // the tile's memory is free for the next one
    }
  }

 private:
  template <class... Recorder>
  AP_DEV static void compute(const params& a, unsigned number, Recorder&... recorder) {
    storage& shared_memory = antiphase::shared<storage, shared_kind::dynamic>();
    const problem& p = a.problem;
    const block_item item(number, p.queries, p.heads, P.tile());
    const member m = member_of(p, item.member);
    const int kv_head = item.head / static_cast<int>(p.heads / p.kv_heads), top = item.tile * P.tile();
    if (top >= m.queries) return;
    const scores s(p, m, item.head);
    if (!is_flagged(a.flags, p, m, kv_head)) return;
    const part here(s.see, top, top + P.tile() < m.queries ? top + P.tile() : m.queries);

    const int depth = static_cast<int>(p.depth), first_row = warp_index() * P.rows;
    warp_part& mine = shared_memory.of_warp[warp_index()];
    load_rows<false, P.depth>(shared_memory.queries, query_row(p, p.q, m, item.head, top), p.q.row_stride,
                              m.queries - top, depth);
    running row;
    output_rows<P.rows, P.depth> out;
    out.clear(-0.0f);  // one key of weight 1 gives its V bit for bit, -0 too

    // Unit 2 n is tile n of K, unit 2 n + 1 that of V.
    const auto load = [&](int unit, int slot) {
      const int key = here.first_key + unit / 2 * keys_of_tile;
      const heads<const float>& from = unit % 2 == 0 ? p.k : p.v;
      load_rows<asynchronous, P.depth>(shared_memory.slots[slot], key_row(p, from, m, kv_head, key),
                                       from.row_stride, m.keys - key, depth);
    };
    const auto compute = [&](int unit, int slot) {
      const auto& tile = shared_memory.slots[slot];
      const int key = here.first_key + unit / 2 * keys_of_tile;
      const bool all = s.all_seen(top, P.tile(), key, keys_of_tile);
      if (unit % 2 == 0) {
        float product[P.rows];
        multiply_rows(product, &shared_memory.queries[first_row], tile[lane_index()], depth);
        warp_sync();  // the last tile's weights have been read
        if (all)
          store_scores<true>(mine, s, product, top + first_row, key + lane_index());
        else
          store_scores<false>(mine, s, product, top + first_row, key + lane_index());
        warp_sync();
        weigh(mine, row, s.factor);
        warp_sync();
        out.rescale(mine.of_row);
      } else if (all) {
        out.template add<true>(mine.weight, tile, mine.hidden);
      } else {
        out.template add<false>(mine.weight, tile, mine.hidden);
      }
    };
    const auto nothing = [](int) {};
    if constexpr (sizeof...(recorder) == 0) {
      auto ring = ring_for(nothing);
      pipeline line{ring};
      line.run(2 * here.tiles(), load, compute);
    } else {
      const auto record = [&](auto& by) {
        auto ring = by.ring(ring_for(nothing), 2 * here.tiles());
        pipeline line{ring};
        line.run(2 * here.tiles(), by.load(load), by.compute(compute));
      };
      (record(recorder), ...);
    }
    if (here.tiles() == 0) block_barrier();
    store(mine, s, here, row, out, first_row + top);
  }

  // Loads by threads write shared memory themselves: nothing is left to store.
  template <class Nothing> AP_DEV static auto ring_for(Nothing nothing) {
    if constexpr (asynchronous)
      return async_copies<P.buffers>{};
    else
      return staged_copies<P.buffers, Nothing>{nothing};
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
