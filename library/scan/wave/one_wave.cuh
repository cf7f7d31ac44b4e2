// SPDX-License-Identifier: Apache-2.0
// The scan of short arrays: one tile per block, held in registers; all blocks in one wave, one exchange of
// totals.
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/scan/detail/chunk_scan.cuh>
#include <antiphase/scan/detail/look_back.cuh>
#include <antiphase/scan/detail/wave_policy.hpp>

namespace antiphase::scans {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// Block b has tile b, in scan order. Its warps load their rows, one barrier joins their totals, thread 0
// publishes the tile's total. Every warp scans its rows and then does its own look-back (look_back.cuh), so
// that there is no second barrier. A block waits only for blocks of lower index, which have started before
// it. The order in which totals are folded depends on the tile's number alone, so results are the same bits
// in every run.

// Progress of a warp, for a recording twin: run() calls its argument `at_phase` with it.
enum class wave_phase {
  begins,
  loading,
  loaded,
  has_total,
  has_totals,
  looks_back,
  has_prefix,
  scanned,
  stored
};

template <scannable T, operator_on<T> Op, wave_policy P> struct one_wave {
  static_assert(valid(P) && sizeof(T) <= 8);
  static constexpr int threads = P.threads();
  static constexpr residency blocks = residency::in_order;
  // up to this size, launching takes longer than scanning
  static constexpr bool overlaps_previous = P.tile_bytes() <= 16 << 10;
  static constexpr int chunk = 16 / sizeof(T);  // elements per lane and row
  static constexpr int tile_chunks = P.warps * P.rows * warp_size;
  static constexpr int tile = tile_chunks * chunk;  // elements
  using total_type = computed_as<Op, T>;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = one_wave_arguments;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  struct storage {
    std::uint64_t epoch;
    total_type warp_total[P.warps];
  };
  using elements = register_chunk<T, chunk>;

 private:
  AP_DEV static total_type neutral() { return exact_identity<Op, total_type>(); }

  // The block's tile in memory, and the offsets of its chunks. A reverse scan counts tiles, chunks and
  // elements from the other end.
  struct part {
    std::int64_t first;
    int count, present;  // elements; chunks, the last one perhaps partial
    bool reverse;

    AP_DEV explicit part(const params& p) : reverse(p.direction == scan_direction::reverse) {
      const tiling tiles{p.length, tile};
      const std::int64_t at = reverse ? p.tiles - 1 - block_index().x : block_index().x;
      first = tiles.first(at);
      count = static_cast<int>(tiles.length(at));
      present = (count + chunk - 1) / chunk;
    }
    // Offset from `first` of a lane's chunk in a row; outside of 0 ... count - 1 if there is no such chunk.
    AP_DEV int offset(int warp, int row) const {
      const int number = (warp * P.rows + row) * warp_size + lane_index();
      return (reverse ? present - 1 - number : number) * chunk;
    }
    AP_DEV bool holds(int at) const { return at >= 0 && at + chunk <= count; }  // the whole chunk
  };
  AP_DEV static bool is_aligned(const void* array) {
    return reinterpret_cast<std::uintptr_t>(array) % 16 == 0;
  }

  // load
  // ---------------------------------------------------------------------------------------------------------
  // Loads a lane's chunks in scan order; missing elements become neutral. A full tile has no branch per row,
  // so that all loads are in flight at once.
  AP_DEV static void load(const params& p, const part& here, int warp, elements (&v)[P.rows]) {
    const T* from = static_cast<const T*>(p.in) + here.first;
    const bool aligned = is_aligned(p.in);
    if (aligned && here.count == tile) {
      AP_UNROLL
      for (int r = 0; r < P.rows; ++r) v[r] = load_aligned_chunk<chunk>(from + here.offset(warp, r));
    } else {
      AP_UNROLL
      for (int r = 0; r < P.rows; ++r) v[r] = load_some(from, here, here.offset(warp, r), aligned);
    }
    if (here.reverse) {
      AP_UNROLL
      for (int r = 0; r < P.rows; ++r) v[r] = reversed<T, chunk>(v[r]);
    }
  }
  AP_DEV static elements load_some(const T* from, const part& here, int at, bool aligned) {
    if (aligned && here.holds(at)) return load_aligned_chunk<chunk>(from + at);
    return chunk_of<T, chunk>(
        [&](int e) { return at >= 0 && at + e < here.count ? from[at + e] : static_cast<T>(neutral()); });
  }

  // exchange
  // ---------------------------------------------------------------------------------------------------------
  // The total of the warp's rows, in lane 0.
  AP_DEV static total_type warp_total(const total_type (&total)[P.rows]) {
    total_type all = any_order<Op, total_type> ? total[0] : warp_fold(total[0], Op{});
    AP_UNROLL
    for (int r = 1; r < P.rows; ++r)
      all = Op{}(all, any_order<Op, total_type> ? total[r] : warp_fold(total[r], Op{}));
    return any_order<Op, total_type> ? warp_fold(all, Op{}) : all;
  }
  AP_DEV static total_type fold_warps(const storage& s, int warps) {
    total_type total = neutral();
    AP_UNROLL
    for (int w = 0; w < P.warps; ++w)
      if (w < warps) total = Op{}(total, s.warp_total[w]);
    return total;
  }
  // The tile's prefix, in every lane. The last tile's block ends the epoch: all blocks have published by
  // then, so all have read it.
  AP_DEV static total_type fetch_prefix(const params& p, std::uint64_t epoch, std::uint32_t number) {
    look_back<total_type, Op, tagged_words, batches_at_once> earlier{p.states, tag_of(epoch)};
    const total_type before = shuffle(earlier.prefix_of(number), 0);
    if (number == p.tiles - 1 && thread_index() == 0)
      end_epoch<total_type>(p.control, p.states, p.state_words, epoch, p.tiles);
    return before;
  }
  static constexpr int batches_at_once = 4;  // 128 tiles

  // scan, store
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void store(const params& p, const part& here, int warp, const elements (&v)[P.rows]) {
    T* to = static_cast<T*>(p.out) + here.first;
    const bool aligned = is_aligned(p.out);
    if (aligned && here.count == tile) {
      AP_UNROLL
      for (int r = 0; r < P.rows; ++r)
        store_aligned_chunk<chunk>(to + here.offset(warp, r), here.reverse ? reversed<T, chunk>(v[r]) : v[r]);
    } else {
      AP_UNROLL
      for (int r = 0; r < P.rows; ++r)
        store_some(to, here, here.offset(warp, r), aligned, here.reverse ? reversed<T, chunk>(v[r]) : v[r]);
    }
  }
  AP_DEV static void store_some(T* to, const part& here, int at, bool aligned, const elements& v) {
    if (aligned && here.holds(at)) return store_aligned_chunk<chunk>(to + at, v);
    AP_UNROLL
    for (int e = 0; e < chunk; ++e)
      if (at >= 0 && at + e < here.count) to[at + e] = element_at<T, chunk>(v, e);
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    run(p, [](wave_phase) {});
  }
  AP_DEV static void run(const params& p, auto&& at_phase) {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if constexpr (overlaps_previous) {
      start_next_grid();
      wait_for_previous_grid();
    }
    const int warp = warp_index();
    const std::uint32_t number = block_index().x;
    const bool exchanges = p.tiles > 1;
    std::uint64_t epoch = 0;
    // overlaps with the loads of the elements
    if (exchanges && thread_index() == 0) epoch = load_relaxed(p.control + epoch_word);

    const part here(p);
    elements v[P.rows];
    at_phase(wave_phase::begins);
    load(p, here, warp, v);
    at_phase(wave_phase::loading);
    total_type total[P.rows], before[P.rows];
    AP_UNROLL
    for (int r = 0; r < P.rows; ++r) total[r] = total_of_chunk<Op, T, chunk>(v[r]);
    const total_type mine = warp_total(total);
    at_phase(wave_phase::loaded);
    if (lane_index() == 0) s.warp_total[warp] = mine;
    if (thread_index() == 0) s.epoch = epoch;
    at_phase(wave_phase::has_total);
    block_barrier();
    at_phase(wave_phase::has_totals);
    epoch = s.epoch;
    if (exchanges && thread_index() == 0) put_state(p.states, number, tag_of(epoch), fold_warps(s, P.warps));

    warp_scan_rows(total, before, Op{});
    const total_type warps_before = fold_warps(s, warp);
    at_phase(wave_phase::looks_back);
    total_type base = exchanges ? fetch_prefix(p, epoch, number) : neutral();
    at_phase(wave_phase::has_prefix);
    const bool exclusive = p.kind == scan_kind::exclusive;
    T initial;
    memcpy(&initial, &p.initial, sizeof(T));
    if (exclusive) base = Op{}(static_cast<total_type>(initial), base);
    base = Op{}(base, warps_before);
    AP_UNROLL
    for (int r = 0; r < P.rows; ++r) {
      v[r] = scan_chunk<Op, T, chunk>(total_type(Op{}(base, before[r])), v[r], exclusive);
      base = Op{}(base, total[r]);
    }
    at_phase(wave_phase::scanned);
    store(p, here, warp, v);
    at_phase(wave_phase::stored);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
