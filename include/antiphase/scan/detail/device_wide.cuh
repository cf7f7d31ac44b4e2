// SPDX-License-Identifier: Apache-2.0
// The kernels of a scan in several passes: totals of tiles, and scans of tiles from the totals before them.
#pragma once
#include <antiphase/device/kernel.cuh>
#include <antiphase/scan/detail/block.cuh>
#include <antiphase/scan/detail/ends.cuh>
#include <antiphase/scan/detail/tile_access.cuh>

namespace antiphase::scans {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// Three launches, and more for the totals if they exceed one tile:
//   tile_totals   reads the array, writes one total per tile
//   tile_scan     scans the totals, in place
//   tile_scan     reads the array again, scans each tile from the total before it, writes the results
// The array is read twice and written once. A thread writes exactly the elements that it has read, so in and
// out may be equal. Blocks loop over any number of tiles with the stride of the grid.

// The elements of one thread, and the totals of its chunks.
template <scannable T, operator_on<T> Op, policy P, class Ends = as_they_are<T>> struct thread_items {
  using shape = tile_shape<T, P>;
  values<T, shape::chunk> item[shape::rounds];
  values<T, shape::rounds> chunk;

  // load: and scan each chunk, as far as it has elements
  AP_DEV void load(const tile_access<T, const typename Ends::in, P>& from) {
    AP_UNROLL
    for (int r = 0; r < shape::rounds; ++r) {
      if constexpr (!Ends::calls) {
        from.load(shape::position(r), item[r]);
      } else {
        values<typename Ends::in, shape::chunk> raw;
        from.load(shape::position(r), raw);
        AP_UNROLL
        for (int e = 0; e < shape::chunk; ++e) item[r].elements[e] = Ends::before(raw.elements[e]);
      }
    }
  }
  // compute
  AP_DEV void scan_chunks(int count, Op op) {
    AP_UNROLL
    for (int r = 0; r < shape::rounds; ++r) {
      AP_UNROLL
      for (int e = 1; e < shape::chunk; ++e)
        item[r].elements[e] = shape::position(r) + e < count
                                  ? T(op(item[r].elements[e - 1], item[r].elements[e]))
                                  : item[r].elements[e - 1];
      chunk.elements[r] = item[r].elements[shape::chunk - 1];
    }
  }
  // The results of a chunk, from the total before it, if any.
  AP_DEV void finish_inclusive(int r, const T* before, int present, Op op) {
    if (before == nullptr) return;
    AP_UNROLL
    for (int e = 0; e < shape::chunk; ++e)
      if (e < present) item[r].elements[e] = op(*before, item[r].elements[e]);
  }
  AP_DEV void finish_exclusive(int r, const T& before, int present, Op op) {
    AP_UNROLL
    for (int e = shape::chunk - 1; e > 0; --e)
      if (e < present) item[r].elements[e] = op(before, item[r].elements[e - 1]);
    item[r].elements[0] = before;
  }
  // store
  AP_DEV void store(const tile_access<T, typename Ends::out, P>& to) const {
    AP_UNROLL
    for (int r = 0; r < shape::rounds; ++r) {
      if constexpr (!Ends::calls) {
        to.store(shape::position(r), item[r]);
      } else {
        values<typename Ends::out, shape::chunk> results;
        AP_UNROLL
        for (int e = 0; e < shape::chunk; ++e)
          if (shape::position(r) + e < to.count) results.elements[e] = Ends::after(item[r].elements[e]);
        to.store(shape::position(r), results);
      }
    }
  }
};

// A tile's line, its index there, and its elements.
template <class T, policy P> struct tile_of_line {
  std::int64_t line, index, first, length;

  template <class In, class Out> AP_DEV tile_of_line(const arguments<T, In, Out>& p, std::int64_t tile) {
    constexpr int size = tile_shape<T, P>::tile;
    const tiling cut{p.over.length, size};
    const std::int64_t across = cut.count();
    line = tile / across;
    index = tile % across;
    first = cut.first(index);
    length = cut.length(index);
  }
  template <class Element> AP_DEV tile_access<T, Element, P> of(Element* array, const lines& over) const {
    return {array + over.first(line), over, first, length};
  }
};

template <class Block> constexpr shared_kind shared_for = sizeof(typename Block::storage) > fixed_shared_limit
                                                              ? shared_kind::dynamic
                                                              : shared_kind::fixed;

template <scannable T, operator_on<T> Op, policy P, class Block = block_scan_of<T, Op, P>,
          class Ends = as_they_are<T>>
requires block_scan<Block, T, Op, tile_shape<T, P>::rounds>
struct tile_totals {
  static constexpr int threads = P.threads;
  static constexpr int blocks_wanted = P.blocks;
  static constexpr shared_kind shared = shared_for<Block>;
  using params = arguments<T, typename Ends::in, typename Ends::out>;
  using storage = typename Block::storage;

  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const std::int64_t tiles = p.tiles(tile_shape<T, P>::tile);
    for (std::int64_t tile = block_index().x; tile < tiles; tile += grid_extent().x) {
      const tile_of_line<T, P> here(p, tile);
      const auto from = here.of(p.in, p.over);
      thread_items<T, Op, P, Ends> mine;
      mine.load(from);
      mine.scan_chunks(from.count, Op{});
      const T total = Block::prefixes(s, mine.chunk, from.count, Op{});
      if (thread_index() == 0) p.totals[tile] = total;
      block_barrier();  // before the storage is used for the next tile
    }
  }
};

template <scannable T, operator_on<T> Op, policy P, class Block = block_scan_of<T, Op, P>,
          class Ends = as_they_are<T>>
requires block_scan<Block, T, Op, tile_shape<T, P>::rounds>
struct tile_scan {
  static constexpr int threads = P.threads;
  static constexpr int blocks_wanted = P.blocks;
  static constexpr shared_kind shared = shared_for<Block>;
  using shape = tile_shape<T, P>;
  using params = arguments<T, typename Ends::in, typename Ends::out>;
  using storage = typename Block::storage;

  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const std::int64_t tiles = p.tiles(shape::tile);
    for (std::int64_t tile = block_index().x; tile < tiles; tile += grid_extent().x) {
      const tile_of_line<T, P> here(p, tile);
      const auto from = here.of(p.in, p.over);
      thread_items<T, Op, P, Ends> mine;
      mine.load(from);
      mine.scan_chunks(from.count, Op{});
      Block::prefixes(s, mine.chunk, from.count, Op{});
      const T* const before_tile = p.totals != nullptr && here.index > 0 ? p.totals + tile - 1 : nullptr;
      finish(p, mine, before_tile, from.count);
      // In place, lanes beyond the end have read an element that another lane writes. Larger blocks have
      // passed a barrier since.
      if constexpr (P.threads > 1 && P.threads <= warp_size) warp_sync();
      mine.store(here.of(p.out, p.over));
      block_barrier();  // before the storage is used for the next tile
    }
  }

 private:
  AP_DEV static void finish(const params& p, thread_items<T, Op, P, Ends>& mine, const T* before_tile,
                            int count) {
    const Op op{};
    const bool exclusive = p.kind == scan_kind::exclusive;
    const bool carries = exclusive || before_tile != nullptr;
    const T carry = before_tile == nullptr ? p.initial
                    : exclusive            ? T(op(p.initial, *before_tile))
                                           : *before_tile;
    AP_UNROLL
    for (int r = 0; r < shape::rounds; ++r) {
      const int position = shape::position(r), present = count - position;
      if (present <= 0) continue;
      const bool first = position == 0;
      const T before = !carries ? mine.chunk.elements[r]
                       : first  ? carry
                                : T(op(carry, mine.chunk.elements[r]));
      if (exclusive)
        mine.finish_exclusive(r, before, present, op);
      else
        mine.finish_inclusive(r, carries || !first ? &before : nullptr, present, op);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
