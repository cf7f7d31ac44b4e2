// SPDX-License-Identifier: Apache-2.0
// FP32-accurate gradients of attention of short sequences on Tensor Cores in one kernel, whose blocks split
// what they multiply (wgmma, sm_90a).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/mbarrier.cuh>
#include <antiphase/device/wgmma.cuh>

#include "library/attention/fp16/block_split.cuh"
#include "library/attention/fp16/gradients/gradient_split.cuh"
#include "library/attention/fp16/gradients/gradient_tile.cuh"
#include "library/attention/fp16/gradients/short_gradients.hpp"
#include "library/attention/fp32/warp_gradients.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A block has 64 keys of a head and computes their dK and dV from tiles of 64 queries, or 64 queries and
// computes their dQ from tiles of 64 keys; where there are no more than 64 keys, blocks of keys compute dQ as
// well. What is owned is loaded once, and then for each tile of the others:
//   load K and V, or Q, dO and O, into registers | write parts | scores, dP, dS, and their products
// Rows are divided evenly: columns of a tile share its scale, and where a tile has one row, each column's
// largest element is its only one, of any size. The mathematics, parts and scales are those of backward.cuh,
// and so is what parts do not hold (contract_pass), checked for each pair of tiles; a block with any such
// pair computes its results in FP32, a warp for each row.
template <short_policy P> struct short_gradient_kernel {
  static constexpr int columns = P.columns, N = split_rows, threads = warpgroup_size,
                       warps = threads / warp_size;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  static constexpr int blocks_wanted = 2;
  static_assert((columns == 32 || columns == 64) && P.groups == 1);
  using params = short_gradient_params;
  using splits = block_split<columns, threads>;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  enum operand { of_k, of_v, of_q, of_g };  // g: dO, divided by the softmax's sum of each row
  struct slot {
    parts_chunk<N> columns[splits::chunks];
  };
  struct storage {
    slot slots[4];
    alignas(16) float tops[N], ds[N];  // of the tile of queries
    typename splits::column_sizes sizes[4];
    query_numbers again[N];
  };

 private:
  using rows_in_registers = typename splits::rows;
  struct slot_number {
    int index;
  };
  // As gradient_tile asks for them.
  template <side Side> struct loads {
    static constexpr bool of_keys = Side == side::keys;
    static constexpr int N = split_rows, chunks = splits::chunks, Own = split_rows;
    using params = short_gradient_params;
    using storage = typename short_gradient_kernel::storage;
    using slot_cursor = slot_number;
    struct item {
      std::int32_t member, head, tile;
    };
    AP_DEV static int first_of(int rows, int tile) { return even_tiles(rows).first(tile); }
    AP_DEV static int end_of(int rows, int tile) { return even_tiles(rows).end(tile); }
  };
  template <side Side> using tile =
      gradient_tile<gradient_policy{.side = Side, .depth = columns, .held = 0, .biased = P.biased},
                    loads<Side>>;
  template <side Side> using item = typename loads<Side>::item;
  template <side Side> using rows = typename tile<Side>::rows;
  using outputs = accumulator<columns>;

  // A tile of two operands as it lies in shared memory.
  struct tile_pair {
    float scale[2];
    bool fit;  // columns of either are within most_between_columns, and D within most_product
  };

  // split
  // ---------------------------------------------------------------------------------------------------------
  struct tile_size {
    float scale;
    bool near;
  };
  AP_DEV static tile_size size_of(const typename splits::column_sizes& sizes) {
    range_of_scales scales;
    AP_UNROLL
    for (int n = 0; n < columns / warp_size; ++n) {
      const int c = lane_index() + n * warp_size;
      float of_column = 0;
      AP_UNROLL
      for (int i = 0; i < splits::sets; ++i) of_column = larger_magnitude(of_column, sizes.of_set[i][c]);
      scales.add(scale_for(of_column));
    }
    scales.share();
    return {scales.largest, scales.is_near()};
  }
  // Loads a tile of K and V or of Q and dO, with the queries' numbers, and writes its parts once all threads
  // are done with what was there. One piece of code for both: it is a third of the kernel's.
  AP_DEV static tile_pair take(const params& all, storage& s, const member& m, bool keys, int head,
                               int tile_number) {
    const problem& p = all.problem;
    const even_tiles tiles(keys ? m.keys : m.queries);
    const int first = tiles.first(tile_number), left = tiles.end(tile_number) - first;
    const auto row_in = [&](const heads<const float>& of) {
      return keys ? key_row(p, of, m, head, first) : query_row(p, of, m, head, first);
    };
    const heads<const float>&of_x = keys ? p.k : p.q, &of_y = keys ? p.v : all.results.out;
    rows_in_registers x, y;
    splits::load(x, row_in(of_x), of_x.row_stride, left, p, keys ? all.k_in_vectors : all.q_in_vectors);
    splits::load(y, row_in(of_y), of_y.row_stride, left, p,
                 keys ? all.v_in_vectors : all.gradient_in_vectors);
    const auto row_of = [](int i) { return rows_in_registers::first_row() + i * rows_in_registers::step; };
    float top[rows_in_registers::count], d[rows_in_registers::count];
    if (!keys) {
      const heads<const float> of_out = read_only(p.out);
      rows_in_registers out;
      splits::load(out, row_in(of_out), of_out.row_stride, left, p, all.out_in_vectors);
      AP_UNROLL
      for (int i = 0; i < rows_in_registers::count; ++i) {
        stored_softmax of{minus_infinity, 0};
        if (row_of(i) < left) of = softmax_of_query(p, m, head, first + row_of(i));
        top[i] = of.top == minus_infinity ? INFINITY : of.top;
        d[i] = divide_gradient<rows_in_registers::lanes>(y.row[i], out.row[i], of.sum);
      }
    }
    const int slot = keys ? of_k : of_q;
    splits::share(s.sizes[slot], x);
    splits::share(s.sizes[slot + 1], y);
    block_barrier();
    const tile_size size_of_x = size_of(s.sizes[slot]), size_of_y = size_of(s.sizes[slot + 1]);
    splits::write(s.slots[slot].columns, x, size_of_x.scale, !keys && scale_of(p) < 0 ? -1.f : 1.f, near_lo);
    splits::write(s.slots[slot + 1].columns, y, size_of_y.scale, 1, near_lo);
    if (!keys && rows_in_registers::lane() == 0) {
      AP_UNROLL
      for (int i = 0; i < rows_in_registers::count; ++i) s.tops[row_of(i)] = top[i], s.ds[row_of(i)] = d[i];
    }
    fence_async();
    block_barrier();
    bool fit = size_of_x.near && size_of_y.near;
    // D is of all V, of which a block of keys multiplies its own alone.
    if (!keys) {
      const float d_of_two = larger_magnitude(fabsf(s.ds[lane_index()]), s.ds[lane_index() + warp_size]);
      fit = fit && largest_of_warp(d_of_two) < most_product;
    }
    return {{size_of_x.scale, size_of_y.scale}, fit};
  }
  // True if parts of these tiles keep the contract.
  AP_DEV static bool fits(const params& all, const member& m, const tile_pair& keys,
                          const tile_pair& queries) {
    const problem& p = all.problem;
    constexpr float up = 1 << part_exponent;
    const int depth = static_cast<int>(p.depth);
    const float v = up * keys.scale[1], g = up * queries.scale[1],
                product = static_cast<float>(depth) * v * g,
                logits = bound_of_logits(scale_of(p), depth, up * keys.scale[0], up * queries.scale[0]);
    return keys.fit && queries.fit && logits <= all.most_logit && sums_are_finite(v, m.keys) &&
           sums_are_finite(g, m.queries) &&
           (v == 0 || g == 0 || (g >= least_gradient && product >= least_product && product < most_product));
  }

  // multiply
  // ---------------------------------------------------------------------------------------------------------
  // Adds what a pair of tiles makes of dK and dV, or of dQ.
  template <side Side> AP_DEV static void add(const params& all, storage& s, const rows<Side>& r,
                                              const item<Side>& w, int head, int other_tile, int other_first,
                                              const tile_pair& keys, const tile_pair& queries,
                                              outputs& slopes, [[maybe_unused]] outputs& weights) {
    using math = tile<Side>;
    constexpr bool of_keys = Side == side::keys;
    constexpr slot_number first{of_keys ? of_q : of_k}, second{of_keys ? of_g : of_v};
    const typename math::own_chunk(&own0)[splits::chunks] = s.slots[of_keys ? of_k : of_q].columns,
                   (&own1)[splits::chunks] = s.slots[of_keys ? of_v : of_g].columns;
    typename math::scores x, y;
    typename math::tile_pairs pairs;
    halves<N> parts;
    outputs part;
    if constexpr (P.biased)
      pairs.load(all.problem, member_of(all.problem, w.member), head, r.first,
                 other_first + math::scores::column());
    wgmma_fence();
    math::multiply_rows(x, s, own0, typename math::template own_parts<0>{}, first, 0);
    wgmma_commit();
    math::multiply_rows(y, s, own1, typename math::template own_parts<1>{}, second, 0);
    wgmma_commit();
    wgmma_wait<1>();
    x.pin();
    math::weigh(
        all, x, r, s.tops, w.member, head, other_first,
        power_of_two(exponent_of(keys.scale[0]) + exponent_of(queries.scale[0]) + all.to_score.exponent,
                     all.to_score.mantissa),
        pairs);
    const float of_values = (of_keys ? queries : keys).scale[1] * math::down;
    if constexpr (of_keys) {
      split<near_lo>(parts, x);
      wgmma_fence();
      math::multiply_columns(part, parts, s, second);
      wgmma_commit();
    }
    wgmma_wait<0>();
    y.pin();
    if constexpr (of_keys) part.pin(), weights.add_rows(part, of_values, of_values);
    float back[2];
    math::differentiate(y, x, r, s.ds, keys.scale[1] * queries.scale[1], back);
    if constexpr (P.biased && !of_keys) math::store_slopes(all, y, r, w, other_tile, back);
    split<near_lo>(parts, y);
    wgmma_fence();
    math::multiply_columns(part, parts, s, first);
    wgmma_commit();
    wgmma_wait<0>();
    part.pin();
    const float of_other = (of_keys ? queries : keys).scale[0] * math::down;
    slopes.add_rows(part, back[0] * of_other, back[1] * of_other);
  }
  // Their rows see the keys up to `end`.
  AP_DEV static rows<side::queries> query_rows(const storage& s, reach sees, int first, int end) {
    sees.keys = end;
    rows<side::queries> r{first + accumulator<N>::row(), sees, {}, {}};
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int row = accumulator<N>::row() + 8 * h;
      r.top[h] = s.tops[row], r.d[h] = s.ds[row];
    }
    return r;
  }

  // blocks
  // ---------------------------------------------------------------------------------------------------------
  // The tile that a block owns, and the steps of its walk: a tile of the other side each, of each head of Q
  // in turn.
  struct job {
    bool owns_keys, stores_queries;
    member m;
    int own, head, kv_head, heads, begin, end;  // own: tile; head: the first of `heads`; begin, end: tiles
    reach sees;

    AP_DEV job(const params& all, int block) {
      const problem& p = all.problem;
      owns_keys = block < all.key_blocks;
      const int number = owns_keys ? block : block - all.key_blocks,
                of_side = static_cast<int>(owns_keys ? p.kv_heads : p.heads),
                lines = static_cast<int>(p.members) * of_side, mine = number % lines % of_side,
                group = static_cast<int>(p.heads) / static_cast<int>(p.kv_heads);
      m = member_of(p, number % lines / of_side);
      const bool has_all_keys = m.keys <= N;  // whatever other members have
      stores_queries = !owns_keys || has_all_keys;
      own = owns_keys ? number / lines : all.query_tiles - 1 - number / lines;
      heads = owns_keys ? group : 1;
      head = mine * heads;
      kv_head = head / group;
      sees = reach_of(p, m);
      const even_tiles mine_of(owns_keys ? m.keys : m.queries), others(owns_keys ? m.queries : m.keys);
      const int first = mine_of.first(own), last = mine_of.end(own) - 1;
      if (!owns_keys) {
        const int seen = sees.end(last);
        begin = others.of(sees.begin(first)), end = seen > 0 ? others.of(seen - 1) + 1 : 0;
        if (end <= begin) begin = 0, end = 1;  // of zeros
      } else {
        begin = has_all_keys || first - sees.high + 1 <= 0 ? 0 : others.of(first - sees.high + 1);
        const int queries = has_all_keys || last - sees.low >= m.queries ? m.queries : last - sees.low + 1;
        end = queries > others.first(begin) ? others.of(queries - 1) + 1 : begin;
      }
    }
    AP_DEV bool is_there() const {
      return owns_keys ? own == 0 || own * N < m.keys : m.keys > N && own * N < m.queries;
    }
    AP_DEV int steps() const { return heads * (end - begin); }
    AP_DEV int head_of(int step) const { return head + step / (end - begin); }
    AP_DEV int tile_of(int step) const { return begin + step % (end - begin); }
    AP_DEV int query_tile(int step) const { return owns_keys ? tile_of(step) : own; }
    AP_DEV int key_tile(int step) const { return owns_keys ? own : tile_of(step); }
  };
  // By parts, unless they do not keep the contract: then it returns false.
  AP_DEV static bool compute(const params& all, storage& s, const job& b) {
    const even_tiles key_tiles(b.m.keys), query_tiles(b.m.queries);
    const rows<side::keys> of_keys{key_tiles.first(b.own) + accumulator<N>::row(), b.sees, {}, {}};
    const item<side::keys> own_keys{b.m.index, b.kv_head, b.own};
    outputs slopes_of_k = {}, weights = {}, slopes_of_q = {};
    tile_pair keys, queries;
    // Step -1, before the first one if there is any, takes what is owned.
    AP_ROLLED
    for (int step = b.steps() > 0 ? -1 : 0; step < b.steps(); ++step) {
      const bool is_own = step < 0;
      const bool takes_keys = is_own == b.owns_keys;
      (takes_keys ? keys : queries) = take(all, s, b.m, takes_keys,
                                           takes_keys ? b.kv_head
                                           : is_own   ? b.head
                                                      : b.head_of(step),
                                           is_own ? b.own : b.tile_of(step));
      if (is_own) continue;
      if (!fits(all, b.m, keys, queries)) return false;
      const int head = b.head_of(step), query_tile = b.query_tile(step), key_tile = b.key_tile(step);
      if (b.owns_keys) {
        if (b.m.keys > 0)
          add<side::keys>(all, s, of_keys, own_keys, head, query_tile, query_tiles.first(query_tile), keys,
                          queries, slopes_of_k, weights);
        slopes_of_q = {};
      }
      if (!b.stores_queries) continue;
      const rows<side::queries> of_queries =
          query_rows(s, b.sees, query_tiles.first(query_tile), key_tiles.end(key_tile));
      const item<side::queries> own_queries{b.m.index, head, query_tile};
      if (b.m.keys > 0)
        add<side::queries>(all, s, of_queries, own_queries, head, key_tile, key_tiles.first(key_tile), keys,
                           queries, slopes_of_q, slopes_of_q);
      if (b.owns_keys || step == b.steps() - 1)
        tile<side::queries>::store(all, slopes_of_q, of_queries, all.results.q, own_queries,
                                   scale_of(all.problem));
    }
    if (b.owns_keys) {
      tile<side::keys>::store(all, slopes_of_k, of_keys, all.results.k, own_keys,
                              fabsf(scale_of(all.problem)));
      tile<side::keys>::store(all, weights, of_keys, all.results.v, own_keys, 1);
    }
    return true;
  }
  // In FP32, a warp for each row. Apart: the code of what is rare is not among the other.
  AP_DEV_APART static void compute_again(const params& all, storage& s) {
    const job b(all, static_cast<int>(block_index().x));
    const int steps = b.owns_keys ? b.steps() : 1;
    const even_tiles key_tiles(b.m.keys), query_tiles(b.m.queries);
    AP_ROLLED
    for (int step = 0; step < steps; ++step) {
      const scores alone(all.problem, b.m, b.head_of(step));
      const warp_gradients<columns> by_warps(alone, all.results, all.bias_gradient);
      const int first = query_tiles.first(b.query_tile(step)), end = query_tiles.end(b.query_tile(step));
      block_barrier();  // results are written by other warps again, and the queries' numbers have been read
      AP_ROLLED
      for (int i = first + warp_index(); i < end; i += warps) {
        const query_numbers numbers = by_warps.numbers_of(i);
        if (lane_index() == 0) s.again[i - first] = numbers;
        if (b.stores_queries) by_warps.store_query(i, numbers);
      }
      if (!b.owns_keys) return;
      block_barrier();
      AP_ROLLED
      for (int j = key_tiles.first(b.own) + warp_index(); j < key_tiles.end(b.own); j += warps)
        by_warps.add_to_key(j, first, end, s.again, step == 0, step == steps - 1);
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& all) const {
    storage& s = antiphase::shared<storage, shared>();
    wait_for_previous_grid();
    start_next_grid();
    const job b(all, static_cast<int>(block_index().x));
    if (b.is_there() && !compute(all, s, b)) compute_again(all, s);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
