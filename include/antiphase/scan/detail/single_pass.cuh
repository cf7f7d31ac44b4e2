// SPDX-License-Identifier: Apache-2.0
// The scan that reads and writes the array once: tiles stream through a ring in shared memory, blocks
// exchange totals by decoupled look-back.
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/architecture.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/mbarrier.cuh>
#include <antiphase/scan/detail/look_back.cuh>
#include <antiphase/scan/detail/ring_policy.hpp>
#include <antiphase/scan/detail/single_pass.hpp>
#include <antiphase/scan/detail/slot_access.cuh>
#include <antiphase/scan/detail/tile_copies.cuh>
#include <antiphase/scan/detail/tile_shape.cuh>
#include <antiphase/scan/detail/typed_elements.cuh>
#include <concepts>
#include <type_traits>

namespace antiphase::scans {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A persistent kernel with warp specialisation. Blocks draw tiles from a counter, in order, so a warp that
// waits for a tile's total always waits for a running block. A tile passes through the warps of a block as
//   load | reduce (W warps; the scanning warps read it too) | look back | scan in place (W warps) | store
// Warps 0 ... W - 1 scan, W ... 2W - 1 reduce, then one warp each loads, publishes, looks back and stores.
// Only totals are published, and the prefix of a tile is folded in an order that depends on its number alone:
// results have the same bits in every run. A reverse scan takes tiles, chunks and elements from the other
// end.

// How the roles synchronise; tests replace one part at a time by a faulty version.
template <ring_policy P> struct single_pass_rules {
  using tiles = tile_copies<P>;
  using ring =
      channel<mbarrier, P.stages, tiles::loaders, warps(P.warps), warps(1), warps(P.warps), warps(2)>;
  using readers = channel<mbarrier, P.stages, warps(P.warps)>;
  using exchange = tagged_words;
  AP_DEV static std::uint32_t tag(std::uint64_t epoch) { return tag_of(epoch); }
  AP_DEV static int present(int count) { return count; }
};

// The elements in the ring, and computations with them: typed_elements.cuh, custom_elements.cuh. Each lane
// calls the functions for its own chunk; for complete() the lanes of the loading warp cooperate.
//   params                      the kernel's arguments: single_pass_arguments, or what derives from them
//   ring, tile, chunk           the ring's policy; elements per tile, and per lane's chunk of contiguous ones
//   in_unit, out_unit           the unit in which lanes copy the ends of a tile
//   in_units, out_units         units per element
//   in_bytes, out_bytes         bytes of an element in memory
//   elements, results           a lane's chunk in registers, before and after the scan
//   total_type, combine         the total of several elements, and the operator on totals
//   has_marks, keeps_marks      whether chunks have marks, a bit for each element; whether scanning warps get
//                               them from reducing warps
//   shifts_chunks               whether unaligned results are written by shifted_chunks (slot_access.cuh)
//   overlaps_previous           the kernel's (device/launch.cuh)
//   batches_at_once, reads      how totals are read (look_back.cuh)
//   load, store                 moves a chunk between registers and its slot, aligned to 16 bytes or not
//   ordered, back_in_memory     converts a chunk from memory order to scan order, and back
//   keep(v)                     keeps the chunk packed in registers
//   complete(p, slot, shift, n) pads a tile of n elements at its end, and up to whole words around it
//   find_marks                  the marks of the lane's chunks; offset_of(row): a chunk's first element
//   total_of                    the total of a chunk with these marks
//   with_initial                the prefix of a tile, preceded by the call's initial value
//   from                        the results of a chunk, from the total before it
template <class E>
concept ring_elements = std::same_as<decltype(E::ring), const ring_policy> &&
    std::derived_from<typename E::params, single_pass_arguments> &&
    requires(const typename E::params& p, unsigned char* slot, const tile_extent& here,
             typename E::elements v, typename E::results r, typename E::total_type total,
             int (*offset_of)(int), std::uint32_t (&marks)[1], int n, bool yes) {
  typename E::in_unit;
  typename E::out_unit;
  typename E::combine;
  {
    E::tile + E::chunk + E::in_units + E::out_units + E::in_bytes + E::out_bytes + E::batches_at_once
    } -> std::same_as<int>;
  { E::has_marks&& E::keeps_marks&& E::shifts_chunks&& E::overlaps_previous } -> std::same_as<bool>;
  { reading(E::reads) } -> std::same_as<reading>;
  { E::load(slot, yes) } -> std::same_as<typename E::elements>;
  { E::store(slot, r, yes) } -> std::same_as<void>;
  { E::ordered(p, v, yes) } -> std::same_as<typename E::elements>;
  { E::back_in_memory(p, r, yes) } -> std::same_as<typename E::results>;
  { E::keep(v) } -> std::same_as<void>;
  { E::complete(p, slot, n, n) } -> std::same_as<void>;
  { E::find_marks(p, here, offset_of, marks, yes) } -> std::same_as<void>;
  { E::total_of(p, v, marks[0]) } -> std::same_as<typename E::total_type>;
  { E::with_initial(p, total) } -> std::same_as<typename E::total_type>;
  { E::from(p, total, v, marks[0]) } -> std::same_as<typename E::results>;
};

template <class Elements, class Rules = single_pass_rules<Elements::ring>> struct single_pass {
  static_assert(ring_elements<Elements>);
  static constexpr ring_policy P = Elements::ring;
  static constexpr int threads = P.threads();
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = Elements::overlaps_previous;
  static constexpr int tile = Elements::tile, chunk = Elements::chunk;
  static constexpr int row_chunks = warp_size, tile_chunks = tile / chunk,
                       rows = tile_chunks / (P.warps * row_chunks);
  static_assert(valid(P) && rows * P.warps * row_chunks * chunk == tile && tile < static_cast<int>(no_row));
  using total_type = typename Elements::total_type;
  using combine = typename Elements::combine;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = typename Elements::params;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  // a bit for each element of a chunk
  using mark = std::conditional_t<(chunk > 8), std::uint16_t, std::uint8_t>;
  static_assert(!Elements::keeps_marks || chunk <= 16);
  static constexpr int slot_bytes =
      tile * (Elements::in_bytes > Elements::out_bytes ? Elements::in_bytes : Elements::out_bytes) +
      slot_slack;
  struct storage {
    alignas(128) unsigned char slot[P.stages][slot_bytes];
    typename Rules::ring ring;
    typename Rules::readers taken;              // the scanning warps have read the slot into registers
    channel<mbarrier, 1, warps(1)> epoch_read;  // one slot, one event
    std::uint64_t epoch;
    shared_values<total_type, P.stages * P.warps> warp_total;
    shared_values<total_type, P.stages> before;  // the prefix of the tile
    std::uint32_t number[P.stages];              // of the tile in scan order; none: no more tiles
    mark marks[Elements::keeps_marks ? P.stages : 1][Elements::keeps_marks ? tile_chunks : 1];
  };
  static_assert(P.mover == tile_mover::copy_engine || sizeof(storage) <= most_shared_by_threads);
  using slot_cursor = cursor<P.stages>;

 private:
  AP_DEV static tile_extent extent_of(const params& p, std::uint32_t number) {
    const tiling tiles{p.length, tile};
    const std::int64_t at = p.direction == scan_direction::forward ? number : tiles.count() - 1 - number;
    return {tiles.first(at), static_cast<int>(tiles.length(at))};
  }
  AP_DEV static total_type neutral() { return exact_identity<combine, total_type>(); }
  // Whether a warp's results overwrite other warps' elements in the slot, which must have been read before.
  AP_DEV static bool apart(const params& p) {
    return Elements::in_bytes != Elements::out_bytes || shift_of(p.in) != 0 || shift_of(p.out) != 0;
  }

  // Three forms of the code: for arrays aligned to 16 bytes, forward and reverse, and for all arrays. A
  // single loop for all would not fit the instruction cache. The CPU executor, and kernels whose tiles are
  // copied by threads, have the general form only: three forms would take three times as long to compile.
  enum class order { forward, reverse, any };
  static constexpr bool has_forms = has_small_instruction_cache && P.mover == tile_mover::copy_engine;
  template <order O> AP_DEV static bool reverse(const params& p) {
    return O == order::any ? p.direction == scan_direction::reverse : O == order::reverse;
  }
  AP_DEV static bool aligned(const params& p) { return shift_of(p.in) == 0 && shift_of(p.out) == 0; }
  template <order O> AP_DEV static int shift_in(const void* array) {
    return O == order::any ? shift_of(array) : 0;
  }

  // Each role visits the block's tiles in the order in which they were drawn.
  template <class Role> AP_DEV static void each_tile(storage& s, Role role) {
    for (slot_cursor at;; ++at) {
      s.ring.wait(at, loaded);
      const std::uint32_t number = s.number[at.index];
      if (number == none) return;
      role(at, number);
    }
  }

  // load
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void load(const params& p, storage& s) {
    const bool leads = lane_index() == 0;
    std::uint64_t drawn = leads ? draw(p) : 0;
    typename Rules::tiles tiles;
    slot_cursor at;
    for (;; ++at) {
      tiles.acquire(s.ring, at);
      const std::uint64_t number = shuffle(drawn, 0);
      if (leads) s.number[at.index] = number < p.tiles ? static_cast<std::uint32_t>(number) : none;
      if (number >= p.tiles) break;
      const std::uint32_t size = load_tile(p, s, tiles, at, extent_of(p, static_cast<std::uint32_t>(number)));
      tiles.commit(s.ring, at, size);
      if (leads) drawn = draw(p);  // one tile ahead
    }
    tiles.finish(s.ring, at);
  }
  // Returns the number of bytes that load() copies.
  AP_DEV static std::uint32_t load_tile(const params& p, storage& s, typename Rules::tiles& tiles,
                                        slot_cursor at, const tile_extent& here) {
    const int lane = lane_index(), shift = shift_of(p.in), count = Rules::present(here.count);
    using unit = typename Elements::in_unit;
    const moved_in_bulk<unit> part(shift, count * Elements::in_units);
    const unit* const from = static_cast<const unit*>(p.in) + here.first * Elements::in_units;
    pack<unit, 1>* const slot = reinterpret_cast<pack<unit, 1>*>(s.slot[at.index] + shift);
    tiles.load(s.ring, at, slot + part.first, from + part.first, part.bytes());
    if (part.bytes() != tile * Elements::in_bytes) {
      if (const int mine = part.by_lane(lane); mine < part.count) slot[mine].element[0] = from[mine];
      Elements::complete(p, s.slot[at.index], shift, count);
      tiles.filled_by_lanes();
    }
    return part.bytes();
  }
  // Every block draws until there are no more tiles; the last draw of all resets the counter.
  AP_DEV static std::uint64_t draw(const params& p) {
    const std::uint64_t drawn = atomic_add(p.control + ticket_word, std::uint64_t{1});
    if (drawn == p.tiles + grid_extent().x - 1) store_relaxed(p.control + ticket_word, std::uint64_t{0});
    return drawn;
  }

  // reduce, publish, look back
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static int chunk_number(int warp, int row) {
    return (warp * rows + row) * row_chunks + lane_index();
  }
  // The index in memory order of chunk `number` in scan order.
  template <order O> AP_DEV static int chunk_in_tile(const params& p, int number) {
    return reverse<O>(p) ? tile_chunks - 1 - number : number;
  }

  // A chunk's elements in scan order.
  template <order O> AP_DEV static auto read_chunk(const params& p, const unsigned char* slot, int number) {
    constexpr int size = chunk * Elements::in_bytes;
    const int shift = shift_in<O>(p.in);
    return Elements::ordered(p, Elements::load(slot + shift + chunk_in_tile<O>(p, number) * size, shift == 0),
                             reverse<O>(p));
  }
  template <order O> AP_DEV static void find_marks(const params& p, std::uint32_t tile_number, int warp,
                                                   std::uint32_t (&marks)[rows]) {
    const auto offset_of = [&](int r) { return chunk_in_tile<O>(p, chunk_number(warp, r)) * chunk; };
    Elements::find_marks(p, extent_of(p, tile_number), offset_of, marks, reverse<O>(p));
  }

  template <order O> AP_DEV static void reduce(const params& p, storage& s, int warp) {
    each_tile(s, [&](slot_cursor at, std::uint32_t number) {
      std::uint32_t marks[rows] = {};
      if constexpr (Elements::has_marks) find_marks<O>(p, number, warp, marks);
      total_type total = neutral();
      AP_UNROLL
      for (int r = 0; r < rows; ++r) {
        const int chunk_at = chunk_number(warp, r);
        if constexpr (Elements::keeps_marks) s.marks[at.index][chunk_at] = static_cast<mark>(marks[r]);
        const total_type chunk_total =
            Elements::total_of(p, read_chunk<O>(p, s.slot[at.index], chunk_at), marks[r]);
        total = combine{}(total,
                          any_order<combine, total_type> ? chunk_total : warp_fold(chunk_total, combine{}));
      }
      if (any_order<combine, total_type>) total = warp_fold(total, combine{});
      if (lane_index() == 0) s.warp_total[at.index * P.warps + warp] = total;
      s.ring.commit(at, reduced, by_warp{});
    });
  }
  AP_DEV static total_type fold_warps(storage& s, slot_cursor at, int warps) {
    total_type total = neutral();
    AP_UNROLL
    for (int w = 0; w < P.warps; ++w)
      if (w < warps) total = combine{}(total, s.warp_total[at.index * P.warps + w]);
    return total;
  }
  AP_DEV static void publish(const params& p, storage& s) {
    const std::uint64_t epoch = load_relaxed(p.control + epoch_word);
    if (lane_index() == 0) s.epoch = epoch;
    s.epoch_read.commit({}, 0, by_warp{});
    const std::uint32_t tag = Rules::tag(epoch);
    each_tile(s, [&](slot_cursor at, std::uint32_t number) {
      s.ring.wait(at, reduced);
      if (lane_index() == 0) Rules::exchange::put(p.states, number, tag, fold_warps(s, at, P.warps));
      s.ring.commit(at, stored, by_warp{});
    });
  }
  AP_DEV static void fetch_prefixes(const params& p, storage& s) {
    s.epoch_read.wait({});
    const std::uint64_t epoch = s.epoch;
    look_back<total_type, combine, typename Rules::exchange, Elements::batches_at_once, Elements::reads>
        earlier{p.states, Rules::tag(epoch)};
    each_tile(s, [&](slot_cursor at, std::uint32_t number) {
      const total_type before = earlier.prefix_of(number);
      if (lane_index() == 0) {
        s.before[at.index] = before;
        // By now every block with a tile has published it, and has read the epoch before that.
        if (number == p.tiles - 1) end_epoch<total_type>(p.control, p.states, p.state_words, epoch, p.tiles);
      }
      s.ring.commit(at, prefixed, by_warp{});
    });
  }

  // scan, store
  // ---------------------------------------------------------------------------------------------------------
  template <order O> AP_DEV static void scan(const params& p, storage& s, int warp) {
    const bool moves = apart(p);
    each_tile(s, [&](slot_cursor at, [[maybe_unused]] std::uint32_t number) {
      unsigned char* slot = s.slot[at.index];
      typename Elements::elements v[rows];
      std::uint32_t marks[rows] = {};
      values<total_type, rows> total, before;
      if constexpr (Elements::keeps_marks)
        s.ring.wait(at, reduced);
      else if constexpr (Elements::has_marks)
        find_marks<O>(p, number, warp, marks);
      AP_UNROLL
      for (int r = 0; r < rows; ++r) {
        v[r] = read_chunk<O>(p, slot, chunk_number(warp, r));
        if constexpr (Elements::keeps_marks) marks[r] = s.marks[at.index][chunk_number(warp, r)];
        total.elements[r] = Elements::total_of(p, v[r], marks[r]);
        Elements::keep(v[r]);
      }
      if (moves) s.taken.commit(at, 0, by_warp{});
      warp_scan_rows(total.elements, before.elements, combine{});
      s.ring.wait(at, reduced);
      const total_type warps_before = fold_warps(s, at, warp);
      s.ring.wait(at, prefixed);
      if (moves) s.taken.wait(at);
      total_type base = combine{}(Elements::with_initial(p, s.before[at.index]), warps_before);
      const auto each_row = [&](auto write) {
        AP_UNROLL
        for (int r = 0; r < rows; ++r) {
          write(r, Elements::back_in_memory(
                       p, Elements::from(p, combine{}(base, before.elements[r]), v[r], marks[r]),
                       reverse<O>(p)));
          base = combine{}(base, total.elements[r]);
        }
      };
      const int shift = shift_in<O>(p.out);
      const auto chunk_of_row = [&](int r) { return chunk_in_tile<O>(p, chunk_number(warp, r)); };
      if constexpr (Elements::shifts_chunks && O == order::any) {
        if (shift != 0) {
          shifted_chunks<typename Elements::out_unit> to(slot, shift, reverse<O>(p));
          each_row([&](int r, const typename Elements::results& result) {
            to.put(result, chunk_of_row(r), r == 0);
          });
          to.finish(chunk_of_row(rows - 1));
        } else {
          each_row([&](int r, const typename Elements::results& result) {
            Elements::store(slot + chunk_of_row(r) * copy_unit, result, true);
          });
        }
      } else {
        each_row([&](int r, const typename Elements::results& result) {
          Elements::store(slot + shift + chunk_of_row(r) * chunk * Elements::out_bytes, result, shift == 0);
        });
      }
      Rules::tiles::results_written();
      s.ring.commit(at, scanned, by_warp{});
    });
  }
  AP_DEV static void store(const params& p, storage& s) {
    const int lane = lane_index(), shift = shift_of(p.out);
    typename Rules::tiles tiles;
    each_tile(s, [&](slot_cursor at, std::uint32_t number) {
      const tile_extent here = extent_of(p, number);
      const int count = Rules::present(here.count);
      using unit = typename Elements::out_unit;
      const moved_in_bulk<unit> part(shift, count * Elements::out_units);
      unit* const to = static_cast<unit*>(p.out) + here.first * Elements::out_units;
      const pack<unit, 1>* const slot = reinterpret_cast<const pack<unit, 1>*>(s.slot[at.index] + shift);
      s.ring.wait(at, scanned);
      tiles.store(to + part.first, slot + part.first, part.bytes());
      if (const int mine = part.by_lane(lane); mine < part.count) to[mine] = slot[mine].element[0];
      tiles.release(s.ring, at);
    });
    tiles.finish_stores();
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()([[maybe_unused]] const params& p) const {
    if constexpr (Rules::tiles::compiled) run(p);
  }

 private:
  AP_DEV static void run(const params& p) {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.ring.init();
      s.taken.init();
      s.epoch_read.init();
      Rules::tiles::initialised();
    }
    if constexpr (overlaps_previous) {
      start_next_grid();
      wait_for_previous_grid();
    }
    block_barrier();
    const int warp = warp_index();
    const auto in_order = [&](auto role) {
      if constexpr (!has_forms)
        role.template operator()<order::any>();
      else if (!aligned(p))
        role.template operator()<order::any>();
      else if (p.direction == scan_direction::reverse)
        role.template operator()<order::reverse>();
      else
        role.template operator()<order::forward>();
    };
    if (warp < P.warps) {
      in_order([&]<order O>() { scan<O>(p, s, warp); });
    } else if (warp < 2 * P.warps) {
      in_order([&]<order O>() { reduce<O>(p, s, warp - P.warps); });
    } else if (warp == 2 * P.warps) {
      load(p, s);
    } else if (warp == 2 * P.warps + 1) {
      publish(p, s);
    } else if (warp == 2 * P.warps + 2) {
      fetch_prefixes(p, s);
    } else {
      store(p, s);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
