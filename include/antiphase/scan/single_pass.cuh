// The scan that reads and writes the array once: tiles stream through a ring in shared memory, blocks tell each other their tiles' totals.
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/scan/byte_sums.cuh>
#include <antiphase/scan/look_ahead.cuh>
#include <antiphase/scan/ring_policy.hpp>
#include <antiphase/scan/single_pass.hpp>

namespace antiphase::prefix {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
// Blocks draw tiles from a counter, in order, so that whoever waits for a tile's total waits for a block that runs. A tile passes
//   load | reduce (W warps; the scanning warps read it too) | look ahead | scan in place (W warps) | store | load ...
// through warps of a block: 0 ... W - 1 scan, W ... 2W - 1 reduce, then one each to load, publish, look ahead and store. Only totals are
// published, and what lies before a tile is folded in an order that its number alone decides: results are the same bits in every run.
// A reverse scan takes tiles, chunks and elements from the other end.
enum tile_event { loaded, reduced, prefixed, scanned, stored };

template <scannable T, operator_on<T> Op, ring_policy P> struct single_pass {
  static_assert(valid(P) && sizeof(T) <= 8);
  static constexpr int threads = P.threads();
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int chunk = 16 / sizeof(T);  // elements of a lane in a row
  static constexpr int row_chunks = warp_size, tile_chunks = P.warps * P.rows * row_chunks;
  static constexpr int tile = tile_chunks * chunk;  // elements

  // params ----------------------------------------------------------------------------------------------------------------------
  using params = single_pass_arguments<T>;

  // storage ---------------------------------------------------------------------------------------------------------------------
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct storage {
    alignas(128) T element[P.stages][tile];
    channel<mbarrier, P.stages, antiphase::threads(1), warps(P.warps), warps(1), warps(P.warps), antiphase::threads(1) + warps(1)> ring;
    channel<mbarrier, 1, warps(1)> epoch_read;  // one slot, one event
    std::uint64_t epoch;
    T warp_total[P.stages][P.warps];
    T before[P.stages];              // what lies before the tile
    std::uint32_t number[P.stages];  // of the tile in scan order; none: there are no more
  };
  using place = cursor<P.stages>;
  using elements = pack<T, chunk>;

 private:
  // Where a tile lies in memory, and how much of it there is.
  struct extent {
    std::int64_t first;
    int count;
  };
  AP_DEV static extent extent_of(const params& p, std::uint32_t number) {
    const tiling tiles{p.length, tile};
    const std::int64_t at = p.direction == scan_direction::forward ? number : tiles.count() - 1 - number;
    return {tiles.first(at), static_cast<int>(tiles.length(at))};
  }
  AP_DEV static T neutral() { return exact_identity<Op, T>(); }

  // Every role walks over the block's tiles, in the order in which they were drawn.
  template <class Role> AP_DEV static void each_tile(storage& s, Role role) {
    for (place at;; ++at) {
      s.ring.wait(at, loaded);
      const std::uint32_t number = s.number[at.index];
      if (number == none) return;
      role(at, number);
    }
  }
  // The bytes that the copy engine moves; the last few of an array are the role's own work.
  AP_DEV static int whole_chunks(int count) { return count / chunk * chunk; }

  // load ------------------------------------------------------------------------------------------------------------------------
  AP_DEV static void load(const params& p, storage& s) {
    std::uint64_t drawn = draw(p);
    place at, landed;
    for (int i = 0;; ++i, ++at) {
      s.ring.acquire(at);
      if (i >= P.in_flight) s.ring.wait(landed++, loaded);
      const bool more = drawn < p.tiles;
      s.number[at.index] = more ? static_cast<std::uint32_t>(drawn) : none;
      if (!more) break;
      const extent here = extent_of(p, static_cast<std::uint32_t>(drawn));
      const int whole = whole_chunks(here.count);
      T* slot = s.element[at.index];
      for (int e = whole; e < here.count; ++e) slot[e] = p.in[here.first + e];
      const int size = whole * static_cast<int>(sizeof(T));
      if (size > 0) bulk_load(slot, p.in + here.first, static_cast<std::uint32_t>(size), s.ring.barrier[loaded][at.index]);
      s.ring.commit(at, loaded, bytes{size});
      drawn = draw(p);  // one ahead
    }
    s.ring.commit(at, loaded);
  }
  // Every block draws until there are no more tiles; the last draw of all puts the counter back.
  AP_DEV static std::uint64_t draw(const params& p) {
    const std::uint64_t drawn = atomic_add(p.control + ticket_word, std::uint64_t{1});
    if (drawn == p.tiles + grid_extent().x - 1) store_relaxed(p.control + ticket_word, std::uint64_t{0});
    return drawn;
  }

  // reduce, publish, look ahead ---------------------------------------------------------------------------------------------------
  // Chunk `number` of a tile in scan order, its elements too; what is not there becomes neutral.
  template <bool Reverse> AP_DEV static elements read_chunk(const T* slot, int count, int number) {
    const int present = (count + chunk - 1) / chunk, at = Reverse ? present - 1 - number : number;
    if (count == tile) return ordered<Reverse>(load_pack<chunk>(slot + at * chunk));
    elements v;
    AP_UNROLL
    for (int e = 0; e < chunk; ++e) v.element[e] = number < present && at * chunk + e < count ? slot[at * chunk + e] : neutral();
    return ordered<Reverse>(v);
  }
  template <bool Reverse> AP_DEV static elements ordered(const elements& v) {
    elements w;
    AP_UNROLL
    for (int e = 0; e < chunk; ++e) w.element[e] = v.element[Reverse ? chunk - 1 - e : e];
    return w;
  }
  static constexpr bool bytes_in_words = std::is_same_v<T, std::uint8_t> && std::is_same_v<Op, sum>;
  AP_DEV static T total_of(const elements& v) {
    if constexpr (bytes_in_words) return total_of_bytes(v);
    T total = v.element[0];
    AP_UNROLL
    for (int e = 1; e < chunk; ++e) total = Op{}(total, v.element[e]);
    return total;
  }
  AP_DEV static int chunk_number(int warp, int row) { return (warp * P.rows + row) * row_chunks + lane_index(); }

  template <bool Reverse> AP_DEV static void reduce(const params& p, storage& s, int warp) {
    each_tile(s, [&](place at, std::uint32_t number) {
      const int count = extent_of(p, number).count;
      T total = neutral();
      AP_UNROLL
      for (int r = 0; r < P.rows; ++r) {
        const T chunk_total = total_of(read_chunk<Reverse>(s.element[at.index], count, chunk_number(warp, r)));
        total = Op{}(total, any_order<Op, T> ? chunk_total : warp_fold(chunk_total, Op{}));
      }
      if (any_order<Op, T>) total = warp_fold(total, Op{});
      if (lane_index() == 0) s.warp_total[at.index][warp] = total;
      s.ring.commit(at, reduced, by_warp{});
    });
  }
  AP_DEV static T fold_warps(const storage& s, place at, int warps) {
    T total = neutral();
    AP_UNROLL
    for (int w = 0; w < P.warps; ++w)
      if (w < warps) total = Op{}(total, s.warp_total[at.index][w]);
    return total;
  }
  AP_DEV static void publish(const params& p, storage& s) {
    const std::uint64_t epoch = load_relaxed(p.control + epoch_word);
    if (lane_index() == 0) s.epoch = epoch;
    s.epoch_read.commit({}, 0, by_warp{});
    const std::uint32_t tag = tag_of(epoch);
    each_tile(s, [&](place at, std::uint32_t number) {
      s.ring.wait(at, reduced);
      if (lane_index() == 0) put_state(p.states, number, tag, fold_warps(s, at, P.warps));
      s.ring.commit(at, stored, by_warp{});
    });
  }
  AP_DEV static void look(const params& p, storage& s) {
    s.epoch_read.wait({});
    const std::uint64_t epoch = s.epoch;
    look_ahead<T, Op> others{p.states, tag_of(epoch)};
    each_tile(s, [&](place at, std::uint32_t number) {
      const T before = others.before(number);
      if (lane_index() == 0) {
        s.before[at.index] = p.kind == scan_kind::exclusive ? T(Op{}(p.initial, before)) : before;
        // Every block that has a tile has published it, so it has read the epoch.
        if (number == p.tiles - 1) end_epoch<T>(p.control, p.states, p.state_words, epoch, p.tiles);
      }
      s.ring.commit(at, prefixed, by_warp{});
    });
  }

  // scan, store -------------------------------------------------------------------------------------------------------------------
  template <bool Reverse, bool Exclusive> AP_DEV static void scan(const params& p, storage& s, int warp) {
    each_tile(s, [&](place at, std::uint32_t number) {
      const int count = extent_of(p, number).count;
      T* slot = s.element[at.index];
      elements v[P.rows];
      T total[P.rows], before[P.rows];
      AP_UNROLL
      for (int r = 0; r < P.rows; ++r) {
        v[r] = read_chunk<Reverse>(slot, count, chunk_number(warp, r));
        total[r] = total_of(v[r]);
      }
      warp_scan_rows(total, before, Op{});
      s.ring.wait(at, reduced);
      const T warps_before = fold_warps(s, at, warp);
      s.ring.wait(at, prefixed);
      T base = Op{}(s.before[at.index], warps_before);
      AP_UNROLL
      for (int r = 0; r < P.rows; ++r) {
        write_chunk<Reverse>(slot, count, chunk_number(warp, r), from<Exclusive>(Op{}(base, before[r]), v[r]));
        base = Op{}(base, total[r]);
      }
      fence_async();
      s.ring.commit(at, scanned, by_warp{});
    });
  }
  // The results of a chunk from what lies before it.
  template <bool Exclusive> AP_DEV static elements from(const T& before, const elements& v) {
    if constexpr (bytes_in_words) return scan_of_bytes<Exclusive>(before, v);
    elements result;
    T through = v.element[0];
    result.element[0] = Exclusive ? before : T(Op{}(before, through));
    AP_UNROLL
    for (int e = 1; e < chunk; ++e) {
      if (Exclusive) result.element[e] = Op{}(before, through);
      through = Op{}(through, v.element[e]);
      if (!Exclusive) result.element[e] = Op{}(before, through);
    }
    return result;
  }
  template <bool Reverse> AP_DEV static void write_chunk(T* slot, int count, int number, const elements& v) {
    const int present = (count + chunk - 1) / chunk, at = Reverse ? present - 1 - number : number;
    if (number < present) store_pack<chunk>(slot + at * chunk, ordered<Reverse>(v));
  }
  AP_DEV static void store(const params& p, storage& s) {
    each_tile(s, [&](place at, std::uint32_t number) {
      const extent here = extent_of(p, number);
      const int whole = whole_chunks(here.count);
      const T* slot = s.element[at.index];
      s.ring.wait(at, scanned);
      if (whole > 0) bulk_store(p.out + here.first, slot, static_cast<std::uint32_t>(whole * static_cast<int>(sizeof(T))));
      bulk_commit();
      for (int e = whole; e < here.count; ++e) p.out[here.first + e] = slot[e];
      bulk_wait_read<0>();
      s.ring.release(at);
    });
    bulk_wait<0>();
  }

 public:
  // kernel ------------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.ring.init();
      s.epoch_read.init();
      fence_mbarrier_init();
    }
    block_barrier();
    const int warp = warp_index();
    const bool reverse = p.direction == scan_direction::reverse, exclusive = p.kind == scan_kind::exclusive;
    if (warp < P.warps) {
      reverse     ? exclusive ? scan<true, true>(p, s, warp) : scan<true, false>(p, s, warp)
          : exclusive ? scan<false, true>(p, s, warp)
                  : scan<false, false>(p, s, warp);
    } else if (warp < 2 * P.warps) {
      reverse ? reduce<true>(p, s, warp - P.warps) : reduce<false>(p, s, warp - P.warps);
    } else if (warp == 2 * P.warps) {
      if (lane_index() == 0) load(p, s);
    } else if (warp == 2 * P.warps + 1) {
      publish(p, s);
    } else if (warp == 2 * P.warps + 2) {
      look(p, s);
    } else if (lane_index() == 0) {
      store(p, s);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
