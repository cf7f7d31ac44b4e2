// The scan that reads and writes the array once: tiles stream through a ring in shared memory, blocks tell each other their tiles' totals.
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/scan/chunk_scan.cuh>
#include <antiphase/scan/element_values.cuh>
#include <antiphase/scan/look_ahead.cuh>
#include <antiphase/scan/ring_policy.hpp>
#include <antiphase/scan/segments.cuh>
#include <antiphase/scan/single_pass.hpp>
#include <antiphase/scan/slot_access.cuh>

namespace antiphase::prefix {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
// Blocks draw tiles from a counter, in order, so that whoever waits for a tile's total waits for a block that runs. A tile passes
//   load | reduce (W warps; the scanning warps read it too) | look ahead | scan in place (W warps) | store | load ...
// through warps of a block: 0 ... W - 1 scan, W ... 2W - 1 reduce, then one each to load, publish, look ahead and store. Only totals are
// published, and what lies before a tile is folded in an order that its number alone decides: results are the same bits in every run.
// A reverse scan takes tiles, chunks and elements from the other end. A tile that is not full is filled up with neutral elements.
enum tile_event { loaded, reduced, prefixed, scanned, stored };

// What the roles owe each other; the tests replace one piece at a time by a faulty one.
template <ring_policy P> struct single_pass_rules {
  using ring = channel<mbarrier, P.stages, antiphase::threads(1), warps(P.warps), warps(1), warps(P.warps), warps(2)>;
  using readers = channel<mbarrier, P.stages, warps(P.warps)>;
  using exchange = tagged_words;
  AP_DEV static std::uint32_t tag(std::uint64_t epoch) { return tag_of(epoch); }
  AP_DEV static void written_for_copy_engine() { fence_async(); }
  AP_DEV static void read_by_copy_engine() { bulk_wait_read<0>(); }
  AP_DEV static int present(int count) { return count; }
};

// In, Out: elements in memory. Value: what is computed with; the types that there are: element_values.cuh.
template <class In, class Out, class Value, class Op, lines_kind L, ring_policy P, class Rules = single_pass_rules<P>> struct single_pass {
  static constexpr int threads = P.threads();
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int tile = P.tile_of(sizeof(In), sizeof(Out));    // elements
  static constexpr int chunk = P.chunk_of(sizeof(In), sizeof(Out));  // elements of a lane in a row
  static constexpr int row_chunks = warp_size, tile_chunks = tile / chunk, rows = tile_chunks / (P.warps * row_chunks);
  static_assert(valid(P) && rows * P.warps * row_chunks * chunk == tile && tile < static_cast<int>(no_row));
  static constexpr bool many = L == lines_kind::segments;
  // The total of several elements, and how totals come together.
  using total_type = std::conditional_t<many, flagged<Value>, Value>;
  using combine = std::conditional_t<many, segmented<Op>, Op>;

  // params ----------------------------------------------------------------------------------------------------------------------
  using params = single_pass_arguments;

  // storage ---------------------------------------------------------------------------------------------------------------------
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr int larger = sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out);
  static constexpr int slot_bytes = tile * larger + slot_slack;
  struct storage {
    alignas(128) unsigned char slot[P.stages][slot_bytes];
    typename Rules::ring ring;
    typename Rules::readers taken;              // by the scanning warps into registers
    channel<mbarrier, 1, warps(1)> epoch_read;  // one slot, one event
    std::uint64_t epoch;
    total_type warp_total[P.stages][P.warps];
    total_type before[P.stages];                                       // what lies before the tile
    std::uint32_t number[P.stages];                                    // of the tile in scan order; none: there are no more
    unsigned char heads[many ? P.stages : 1][many ? tile_chunks : 1];  // a bit for each element of a chunk, in scan order
  };
  using place = cursor<P.stages>;
  using elements = pack<In, chunk>;
  using values = pack<Value, chunk>;

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
  AP_DEV static total_type neutral() { return exact_identity<combine, total_type>(); }
  AP_DEV static const In* input(const params& p) { return static_cast<const In*>(p.in); }
  AP_DEV static Out* output(const params& p) { return static_cast<Out*>(p.out); }
  // Whether results come to lie on elements of other warps, which must have been read before.
  AP_DEV static bool apart(const params& p) { return sizeof(In) != sizeof(Out) || shift_of(p.in) != 0 || shift_of(p.out) != 0; }

  // Every role walks over the block's tiles, in the order in which they were drawn.
  template <class Role> AP_DEV static void each_tile(storage& s, Role role) {
    for (place at;; ++at) {
      s.ring.wait(at, loaded);
      const std::uint32_t number = s.number[at.index];
      if (number == none) return;
      role(at, number);
    }
  }

  // load ------------------------------------------------------------------------------------------------------------------------
  AP_DEV static void load(const params& p, storage& s) {
    const bool leads = lane_index() == 0;
    std::uint64_t drawn = leads ? draw(p) : 0;
    place at, landed;
    for (int i = 0;; ++i, ++at) {
      s.ring.acquire(at);
      if (i >= P.in_flight) s.ring.wait(landed++, loaded);
      const std::uint64_t number = shuffle(drawn, 0);
      if (leads) s.number[at.index] = number < p.tiles ? static_cast<std::uint32_t>(number) : none;
      if (number >= p.tiles) break;
      const std::uint32_t size = load_tile(p, s, at, extent_of(p, static_cast<std::uint32_t>(number)));
      if (leads) {
        s.ring.commit(at, loaded, bytes{static_cast<int>(size)});
        drawn = draw(p);  // one ahead
      }
    }
    if (leads) s.ring.commit(at, loaded);
  }
  // Returns how many bytes are on their way.
  AP_DEV static std::uint32_t load_tile(const params& p, storage& s, place at, const extent& here) {
    const int lane = lane_index(), shift = shift_of(p.in), count = Rules::present(here.count);
    const moved_in_bulk<In> part(shift, count);
    const In* const from = input(p) + here.first;
    pack<In, 1>* const slot = reinterpret_cast<pack<In, 1>*>(s.slot[at.index] + shift);
    if (lane == 0 && part.bytes() > 0) bulk_load(slot + part.first, from + part.first, part.bytes(), s.ring.barrier[loaded][at.index]);
    if (part.bytes() != tile * sizeof(In)) {
      if (const int mine = part.by_lane(lane); mine < count) slot[mine].element[0] = from[mine];
      fill(p, s.slot[at.index], shift, count);
      fence_async();  // before the slot's next load
      warp_sync();
    }
    return part.bytes();
  }
  // Neutral elements from `count` on; the bytes up to a multiple of 16 one by one. And before the first, as chunks are read by words.
  AP_DEV static void fill(const params& p, unsigned char* slot, int shift, int count) {
    constexpr int in_unit = copy_unit / sizeof(In);
    pack<In, in_unit> unit;
    AP_UNROLL
    for (int e = 0; e < in_unit; ++e) unit.element[e] = from_bits<In>(p.neutral);
    const int end = shift + count * static_cast<int>(sizeof(In)), whole = (end + copy_unit - 1) / copy_unit * copy_unit;
    if (end + lane_index() * static_cast<int>(sizeof(In)) < whole)
      reinterpret_cast<pack<In, 1>*>(slot + end)[lane_index()].element[0] = unit.element[0];
    if (const int word = shift / 4 * 4; word + lane_index() * static_cast<int>(sizeof(In)) < shift)
      reinterpret_cast<pack<In, 1>*>(slot + word)[lane_index()].element[0] = unit.element[0];
    AP_ROLLED
    for (int b = whole + lane_index() * copy_unit; b < shift + tile * static_cast<int>(sizeof(In)); b += warp_size * copy_unit)
      *reinterpret_cast<pack<In, in_unit>*>(slot + b) = unit;
  }
  // Every block draws until there are no more tiles; the last draw of all puts the counter back.
  AP_DEV static std::uint64_t draw(const params& p) {
    const std::uint64_t drawn = atomic_add(p.control + ticket_word, std::uint64_t{1});
    if (drawn == p.tiles + grid_extent().x - 1) store_relaxed(p.control + ticket_word, std::uint64_t{0});
    return drawn;
  }

  // reduce, publish, look ahead ---------------------------------------------------------------------------------------------------
  AP_DEV static int chunk_number(int warp, int row) { return (warp * rows + row) * row_chunks + lane_index(); }
  // Where chunk `number` in scan order lies in its tile.
  template <bool Reverse> AP_DEV static int place_of(int number) { return Reverse ? tile_chunks - 1 - number : number; }

  // A chunk's elements in scan order.
  template <bool Reverse> AP_DEV static elements read_chunk(const params& p, const unsigned char* slot, int number) {
    constexpr int size = sizeof(elements);
    const int shift = shift_of(p.in);
    const elements v = load_chunk<chunk, In>(slot + shift + place_of<Reverse>(number) * size, shift == 0);
    if constexpr (flips_order<Op>) return ordered<Reverse>(flipped(v, p.flip));
    return ordered<Reverse>(v);
  }
  template <bool Reverse, class T> AP_DEV static pack<T, chunk> ordered(const pack<T, chunk>& v) {
    pack<T, chunk> w;
    AP_UNROLL
    for (int e = 0; e < chunk; ++e) w.element[e] = v.element[Reverse ? chunk - 1 - e : e];
    return w;
  }
  AP_DEV static values values_of(const params& p, const elements& v) {
    values w;
    AP_UNROLL
    for (int e = 0; e < chunk; ++e) w.element[e] = value_of<Op, Value>(v.element[e], p.flip);
    return w;
  }
  static constexpr bool bytes_in_words = std::is_same_v<Value, std::uint8_t> && std::is_same_v<Op, sum>;
  AP_DEV static total_type total_of(const params& p, const elements& v, std::uint32_t heads) {
    if constexpr (bytes_in_words) {
      return total_of_bytes(v);
    } else if constexpr (!many) {
      return total_of_chunk<Op>(values_of(p, v));
    } else {
      const values w = values_of(p, v);
      Value total = w.element[0];
      AP_UNROLL
      for (int e = 1; e < chunk; ++e) total = (heads >> e & 1u) != 0 ? w.element[e] : Value(Op{}(total, w.element[e]));
      return {total, heads};
    }
  }

  template <bool Reverse> AP_DEV static void reduce(const params& p, storage& s, int warp) {
    each_tile(s, [&](place at, std::uint32_t number) {
      std::uint32_t heads[rows] = {};
      if constexpr (many) find_heads<Reverse>(p, extent_of(p, number).first, warp, heads);
      total_type total = neutral();
      AP_UNROLL
      for (int r = 0; r < rows; ++r) {
        const int chunk_at = chunk_number(warp, r);
        if constexpr (many) s.heads[at.index][chunk_at] = static_cast<unsigned char>(heads[r]);
        const total_type chunk_total = total_of(p, read_chunk<Reverse>(p, s.slot[at.index], chunk_at), heads[r]);
        total = combine{}(total, any_order<combine, total_type> ? chunk_total : warp_fold(chunk_total, combine{}));
      }
      if (any_order<combine, total_type>) total = warp_fold(total, combine{});
      if (lane_index() == 0) s.warp_total[at.index][warp] = total;
      s.ring.commit(at, reduced, by_warp{});
    });
  }
  // Of the chunks of a warp's lanes in a tile whose first element is `first`.
  template <bool Reverse> AP_DEV static void find_heads(const params& p, std::int64_t first, int warp, std::uint32_t (&heads)[rows]) {
    const segment_arguments& by = p.segments;
    const auto each_row = [&](auto boundaries) {
      AP_UNROLL
      for (int r = 0; r < rows; ++r) heads[r] = in_scan_order<chunk, Reverse>(boundaries(place_of<Reverse>(chunk_number(warp, r)) * chunk));
    };
    first += Reverse ? 1 : 0;
    if (by.from == segment_source::rows)
      return each_row([ends = row_ends(by, first)](int i) { return ends.template operator()<chunk>(i); });
    const auto keys = [&]<class Key>() {
      if (has_whole_chunks<chunk, Key>(by, first, tile, p.length))
        each_row([&](int i) { return whole_key_ends<chunk, Key>(by, first + i); });
      else
        each_row([&](int i) { return key_ends<chunk, Key>(by, first + i, p.length); });
    };
    if (by.key_bytes == 8) return keys.template operator()<std::uint64_t>();
    if (by.key_bytes == 4) return keys.template operator()<std::uint32_t>();
    if (by.key_bytes == 2) return keys.template operator()<std::uint16_t>();
    keys.template operator()<std::uint8_t>();
  }
  AP_DEV static total_type fold_warps(const storage& s, place at, int warps) {
    total_type total = neutral();
    AP_UNROLL
    for (int w = 0; w < P.warps; ++w)
      if (w < warps) total = combine{}(total, s.warp_total[at.index][w]);
    return total;
  }
  AP_DEV static void publish(const params& p, storage& s) {
    const std::uint64_t epoch = load_relaxed(p.control + epoch_word);
    if (lane_index() == 0) s.epoch = epoch;
    s.epoch_read.commit({}, 0, by_warp{});
    const std::uint32_t tag = Rules::tag(epoch);
    each_tile(s, [&](place at, std::uint32_t number) {
      s.ring.wait(at, reduced);
      if (lane_index() == 0) Rules::exchange::put(p.states, number, tag, fold_warps(s, at, P.warps));
      s.ring.commit(at, stored, by_warp{});
    });
  }
  AP_DEV static void look(const params& p, storage& s) {
    s.epoch_read.wait({});
    const std::uint64_t epoch = s.epoch;
    look_ahead<total_type, combine, typename Rules::exchange> others{p.states, Rules::tag(epoch)};
    each_tile(s, [&](place at, std::uint32_t number) {
      const total_type before = others.before(number);
      if (lane_index() == 0) {
        s.before[at.index] = before;
        // Every block that has a tile has published it, so it has read the epoch.
        if (number == p.tiles - 1) end_epoch<total_type>(p.control, p.states, p.state_words, epoch, p.tiles);
      }
      s.ring.commit(at, prefixed, by_warp{});
    });
  }

  // scan, store -------------------------------------------------------------------------------------------------------------------
  template <bool Reverse> AP_DEV static void scan(const params& p, storage& s, int warp) {
    const bool exclusive = p.kind == scan_kind::exclusive, moves = apart(p);
    const Value initial = from_bits<Value>(p.initial);
    each_tile(s, [&](place at, std::uint32_t) {
      unsigned char* slot = s.slot[at.index];
      elements v[rows];
      std::uint32_t heads[rows] = {};
      total_type total[rows], before[rows];
      if constexpr (many) s.ring.wait(at, reduced);
      AP_UNROLL
      for (int r = 0; r < rows; ++r) {
        v[r] = read_chunk<Reverse>(p, slot, chunk_number(warp, r));
        if constexpr (many) heads[r] = s.heads[at.index][chunk_number(warp, r)];
        total[r] = total_of(p, v[r], heads[r]);
        if constexpr (sizeof(In) < 4) keep_packed(v[r]);
      }
      if (moves) s.taken.commit(at, 0, by_warp{});
      warp_scan_rows(total, before, combine{});
      s.ring.wait(at, reduced);
      const total_type warps_before = fold_warps(s, at, warp);
      s.ring.wait(at, prefixed);
      if (moves) s.taken.wait(at);
      total_type base = combine{}(with_initial(initial, s.before[at.index]), warps_before);
      AP_UNROLL
      for (int r = 0; r < rows; ++r) {
        write_chunk<Reverse>(p, slot, chunk_number(warp, r), from(p, combine{}(base, before[r]), v[r], heads[r], initial, exclusive));
        base = combine{}(base, total[r]);
      }
      Rules::written_for_copy_engine();
      s.ring.commit(at, scanned, by_warp{});
    });
  }
  // A line begins with `initial`. Where there are several, `from` takes it for those that begin within a chunk.
  AP_DEV static total_type with_initial(const Value& initial, const total_type& before) {
    if constexpr (many)
      return before;
    else
      return Op{}(initial, before);
  }
  // The results of a chunk from what lies before it.
  AP_DEV static pack<Out, chunk> from(const params& p, const total_type& before, const elements& v, std::uint32_t heads,
                                      const Value& initial, bool exclusive) {
    if constexpr (bytes_in_words) {
      return scan_of_bytes(before, v, exclusive);
    } else {
      const values w = values_of(p, v);
      values result;
      if constexpr (many) {
        Value through = Op{}(initial, before.value);
        AP_UNROLL
        for (int e = 0; e < chunk; ++e) {
          if ((heads >> e & 1u) != 0) through = initial;
          const Value with = Op{}(through, w.element[e]);
          result.element[e] = exclusive ? through : with;
          through = with;
        }
      } else {
        result = scan_chunk<Op>(before, w, exclusive);
      }
      return results_of<Out>(result);
    }
  }
  template <bool Reverse> AP_DEV static void write_chunk(const params& p, unsigned char* slot, int number, pack<Out, chunk> v) {
    constexpr int size = sizeof v;
    const int shift = shift_of(p.out);
    v = ordered<Reverse>(v);
    if constexpr (flips_order<Op>) v = flipped(v, p.flip);
    if constexpr (sizeof(Out) < 4) keep_packed(v);
    store_chunk(slot + shift + place_of<Reverse>(number) * size, v, shift == 0);
  }
  AP_DEV static void store(const params& p, storage& s) {
    const int lane = lane_index(), shift = shift_of(p.out);
    each_tile(s, [&](place at, std::uint32_t number) {
      const extent here = extent_of(p, number);
      const int count = Rules::present(here.count);
      const moved_in_bulk<Out> part(shift, count);
      Out* const to = output(p) + here.first;
      const pack<Out, 1>* const slot = reinterpret_cast<const pack<Out, 1>*>(s.slot[at.index] + shift);
      s.ring.wait(at, scanned);
      if (lane == 0) {
        if (part.bytes() > 0) bulk_store(to + part.first, slot + part.first, part.bytes());
        bulk_commit();
      }
      if (const int mine = part.by_lane(lane); mine < count) to[mine] = slot[mine].element[0];
      if (lane == 0) Rules::read_by_copy_engine();
      s.ring.release(at, by_warp{});
    });
    if (lane == 0) bulk_wait<0>();
  }

 public:
  // kernel ------------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.ring.init();
      s.taken.init();
      s.epoch_read.init();
      fence_mbarrier_init();
    }
    block_barrier();
    const int warp = warp_index();
    const bool reverse = p.direction == scan_direction::reverse;
    if (warp < P.warps) {
      reverse ? scan<true>(p, s, warp) : scan<false>(p, s, warp);
    } else if (warp < 2 * P.warps) {
      reverse ? reduce<true>(p, s, warp - P.warps) : reduce<false>(p, s, warp - P.warps);
    } else if (warp == 2 * P.warps) {
      load(p, s);
    } else if (warp == 2 * P.warps + 1) {
      publish(p, s);
    } else if (warp == 2 * P.warps + 2) {
      look(p, s);
    } else {
      store(p, s);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
