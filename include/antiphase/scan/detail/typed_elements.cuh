// SPDX-License-Identifier: Apache-2.0
// Elements in the ring of a single-pass scan: numbers, of one line or of segments.
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/device/vector.cuh>
#include <antiphase/scan/detail/chunk_scan.cuh>
#include <antiphase/scan/detail/element_values.cuh>
#include <antiphase/scan/detail/look_back.cuh>
#include <antiphase/scan/detail/ring_policy.hpp>
#include <antiphase/scan/detail/segments.cuh>
#include <antiphase/scan/detail/single_pass.hpp>
#include <antiphase/scan/detail/slot_access.cuh>

namespace antiphase::scans {
inline namespace AP_TARGET {

// In, Out: types of elements in memory. Value: the type of the computation (element_values.cuh lists them). A
// chunk's mark has a bit for each of its elements, in scan order: whether a segment begins there.
template <class In, class Out, class Value, class Op, lines_kind L, ring_policy P> struct typed_elements {
  using params = single_pass_arguments;
  static constexpr ring_policy ring = P;
  static constexpr int tile = P.tile_of(sizeof(In), sizeof(Out));    // elements
  static constexpr int chunk = P.chunk_of(sizeof(In), sizeof(Out));  // contiguous elements of a lane
  static constexpr bool many = L == lines_kind::segments;
  // keeps_marks: scanning warps get the marks that reducing warps have found
  static constexpr bool has_marks = many, keeps_marks = many;
  // Blocks start and initialise their barriers before the previous kernel ends. Not with copies by threads,
  // which may run as code for GPUs that lack the wait.
  static constexpr bool overlaps_previous = P.mover == tile_mover::copy_engine;
  // An element is one unit, the smallest access.
  using in_unit = In;
  using out_unit = Out;
  static constexpr int in_units = 1, out_units = 1, in_bytes = sizeof(In), out_bytes = sizeof(Out);
  // The total of several elements, and the operator on totals.
  using total_type = std::conditional_t<many, flagged<Value>, Value>;
  using combine = std::conditional_t<many, segmented<Op>, Op>;
  static constexpr int batches_at_once = 6;  // of totals: as many tiles as most GPUs have blocks
  static constexpr reading reads = reading::branching;
  // A lane's chunk.
  using elements = register_chunk<In, chunk>;
  using results = register_chunk<Out, chunk>;
  // not for segments, which have no registers left for it
  static constexpr bool shifts_chunks = !many && sizeof(results) == copy_unit;

  AP_DEV static elements load(const unsigned char* at, bool aligned) {
    return load_chunk<chunk, In>(at, aligned);
  }
  AP_DEV static void store(unsigned char* at, const results& v, bool aligned) {
    store_chunk<chunk, Out>(at, v, aligned);
  }
  // From memory order to scan order, and back.
  AP_DEV static elements ordered(const params& p, const elements& v, bool reverse) {
    return turned<In>(p, v, reverse);
  }
  AP_DEV static results back_in_memory(const params& p, const results& v, bool reverse) {
    results w = turned<Out>(p, v, reverse);
    keep_packed<Out, chunk>(w);
    return w;
  }
  // Keeps the chunk packed in registers between two uses.
  AP_DEV static void keep(elements& v) { keep_packed<In, chunk>(v); }

  // Pads a short tile with neutral elements from `count` on, up to a multiple of 16 bytes element by element.
  // Also pads before the first element, since chunks are read by words.
  AP_DEV static void complete(const params& p, unsigned char* slot, int shift, int count) {
    constexpr int in_copy = copy_unit / sizeof(In);
    pack<In, in_copy> unit;
    AP_UNROLL
    for (int e = 0; e < in_copy; ++e) unit.element[e] = from_bits<In>(p.neutral);
    const int end = shift + count * static_cast<int>(sizeof(In)),
              whole = (end + copy_unit - 1) / copy_unit * copy_unit;
    if (end + lane_index() * static_cast<int>(sizeof(In)) < whole)
      reinterpret_cast<pack<In, 1>*>(slot + end)[lane_index()].element[0] = unit.element[0];
    if (const int word = shift / 4 * 4; word + lane_index() * static_cast<int>(sizeof(In)) < shift)
      reinterpret_cast<pack<In, 1>*>(slot + word)[lane_index()].element[0] = unit.element[0];
    AP_ROLLED
    for (int b = whole + lane_index() * copy_unit; b < shift + tile * static_cast<int>(sizeof(In));
         b += warp_size * copy_unit)
      *reinterpret_cast<pack<In, in_copy>*>(slot + b) = unit;
  }

  // The marks of the lane's chunks; `offset_of(row)`: the chunk's first element in the tile.
  template <int Rows, class Offset>
  AP_DEV static void find_marks(const params& p, const tile_extent& here, Offset offset_of,
                                std::uint32_t (&marks)[Rows], bool reverse) {
    const segment_arguments& by = p.segments;
    const auto each_row = [&](auto boundaries) {
      AP_UNROLL
      for (int r = 0; r < Rows; ++r) marks[r] = in_scan_order<chunk>(boundaries(offset_of(r)), reverse);
    };
    const std::int64_t first = here.first + (reverse ? 1 : 0);
    if (by.source == segment_source::rows)
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

  AP_DEV static total_type total_of(const params& p, const elements& v, std::uint32_t heads) {
    if constexpr (widens_words) {
      return wide_total<Value, In, chunk>(v, in_every_element<In>(p.flip),
                                          static_cast<std::uint32_t>(p.flip));
    } else if constexpr (adds_words) {
      return sum_of_elements<In, chunk>(v);
    } else if constexpr (!many) {
      return total_of_chunk<Op, Value, chunk>(values_of(p, v));
    } else {
      const values w = values_of(p, v);
      Value total = w.element[0];
      AP_UNROLL
      for (int e = 1; e < chunk; ++e)
        total = (heads >> e & 1u) != 0 ? w.element[e] : Value(Op{}(total, w.element[e]));
      return {total, heads};
    }
  }
  // Prepends the call's initial value. With segments, `from` does so, for each that begins within a chunk.
  AP_DEV static total_type with_initial(const params& p, const total_type& before) {
    if constexpr (many)
      return before;
    else
      return Op{}(from_bits<Value>(p.initial), before);
  }
  // The results of a chunk, from the total before it.
  AP_DEV static results from(const params& p, const total_type& before, const elements& v,
                             std::uint32_t heads) {
    const bool exclusive = p.kind == scan_kind::exclusive;
    if constexpr (widens_words) {
      return wide_sums_up_to<Out, In, chunk>(before, v, in_every_element<In>(p.flip),
                                             static_cast<std::uint32_t>(p.flip), exclusive);
    } else if constexpr (adds_words) {
      return sums_up_to<In, chunk>(before, v, exclusive);
    } else {
      const values w = values_of(p, v);
      values result;
      if constexpr (many) {
        const Value initial = from_bits<Value>(p.initial);
        Value through = Op{}(initial, before.value);
        AP_UNROLL
        for (int e = 0; e < chunk; ++e) {
          if ((heads >> e & 1u) != 0) through = initial;
          const Value with = Op{}(through, w.element[e]);
          result.element[e] = exclusive ? through : with;
          through = with;
        }
      } else {
        result = scan_chunk<Op, Value, chunk>(before, w, exclusive);
      }
      return results_of<Out, Value, chunk>(result);
    }
  }

 private:
  using values = pack<Value, chunk>;
  // Sums of narrow integers are computed in words (word_sums.cuh).
  static constexpr bool adds_words = sums_words<Op, In> && !many,
                        widens_words = adds_words && sizeof(Out) > sizeof(In);

  AP_DEV static values values_of(const params& p, const elements& v) {
    values w;
    AP_UNROLL
    for (int e = 0; e < chunk; ++e) w.element[e] = value_of<Op, Value>(element_at<In, chunk>(v, e), p.flip);
    return w;
  }
  template <class T>
  AP_DEV static register_chunk<T, chunk> turned(const params& p, register_chunk<T, chunk> v, bool reverse) {
    if constexpr (flips_order<Op>) v = flipped<T, chunk>(v, p.flip);
    return reverse ? reversed<T, chunk>(v) : v;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
