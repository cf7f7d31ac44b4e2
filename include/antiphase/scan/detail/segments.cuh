// SPDX-License-Identifier: Apache-2.0
// Segmented scans: the operator on flagged values, and the detection of segment boundaries.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/index.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <antiphase/scan/detail/carried.cuh>
#include <antiphase/scan/detail/single_pass.hpp>
#include <bit>

namespace antiphase::scans {
inline namespace AP_TARGET {

// The total of several elements: the fold since the last head among them, and whether there was one
// (Blelloch, "Prefix sums and their applications", 1990, section 1.5). The flag is a word, so that there is
// no padding except after 8-byte values.
template <class T> struct flagged {
  T value;
  std::uint32_t head;
  template <class U> AP_DEV explicit operator flagged<U>() const { return {static_cast<U>(value), head}; }
};
template <class Op> struct segmented {
  template <class T> AP_DEV flagged<T> operator()(const flagged<T>& a, const flagged<T>& b) const {
    return {b.head != 0 ? b.value : T(Op{}(a.value, b.value)), a.head | b.head};
  }
};
template <class Op, class T> struct neutral_of<segmented<Op>, flagged<T>> {
  AP_DEV static flagged<T> value() { return {exact_identity<Op, T>(), 0}; }
};
template <> struct carried_as<segmented<sum>, flagged<float>> { using type = flagged<double>; };

// warp_fold() and warp_scan_rows() for flagged values, with one vote instead of a shuffle of the flag in
// every step. Values before the last head are replaced by neutral elements, which change no bit: the results
// are the same.
template <class T, class Op> AP_DEV flagged<T> warp_fold(const flagged<T>& mine, segmented<Op>) {
  const std::uint32_t heads = ballot(mine.head != 0);
  const bool counts = heads >> lane_index() <= 1;  // no head in higher lanes
  return {warp_fold(counts ? mine.value : exact_identity<Op, T>(), Op{}), heads};
}
template <class T, class Op, int N> AP_DEV void warp_fold_first(flagged<T> (&value)[N], segmented<Op> op) {
  AP_UNROLL
  for (int i = 0; i < N; ++i) value[i] = warp_fold(value[i], op);
}
template <class T, class Op, int Rows>
AP_DEV void warp_scan_rows(flagged<T> (&value)[Rows], flagged<T> (&before)[Rows], segmented<Op>) {
  const int lane = lane_index();
  int start[Rows];  // the last lane with a head, up to this one
  AP_UNROLL
  for (int r = 0; r < Rows; ++r) {
    value[r].head = ballot(value[r].head != 0);
    before[r].head = value[r].head & ((1u << lane) - 1);
    start[r] = std::bit_width((value[r].head & ((2u << lane) - 1)) | 1u) - 1;
  }
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2) {
    AP_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const T other = shuffle_up(value[r].value, by);
      if (lane - by >= start[r]) value[r].value = Op{}(other, value[r].value);
    }
  }
  AP_UNROLL
  for (int r = 0; r < Rows; ++r) {
    const T left = shuffle_up(value[r].value, 1);
    before[r].value = lane == 0 ? exact_identity<Op, T>() : left;
    value[r].value = shuffle(value[r].value, warp_size - 1);
  }
}

// The elements of a chunk that begin a segment, bit e for the e-th in scan order. A reverse scan restarts at
// a segment's last element, so it uses the boundary after an element instead of the one before it.
template <int Chunk> AP_DEV std::uint32_t in_scan_order(std::uint32_t boundaries, bool reverse) {
  std::uint32_t turned = 0;
  AP_UNROLL
  for (int e = 0; e < Chunk; ++e) turned |= (boundaries >> e & 1u) << (Chunk - 1 - e);
  return reverse ? turned : boundaries;
}

// Boundaries of rows, computed from the row length, in 32 bits within a tile.
struct row_ends {
  std::uint32_t period, inverse, phase;

  // `first`: the first element of the tile.
  AP_DEV row_ends(const segment_arguments& s, std::int64_t first) : period(s.period), inverse(s.inverse) {
    const std::int64_t into = first % s.row;
    if (period != no_row) {
      phase = static_cast<std::uint32_t>(into);
    } else {
      const std::int64_t next = into == 0 ? 0 : s.row - into;
      // 1: no row ends in this tile
      phase = next >= no_row ? 1 : (no_row - static_cast<std::uint32_t>(next)) % no_row;
    }
  }
  template <int Chunk> AP_DEV std::uint32_t operator()(int at) const {
    const std::uint32_t position = static_cast<std::uint32_t>(at) + phase;
    std::uint32_t into =
                      position - static_cast<std::uint32_t>(std::uint64_t{position} * inverse >> 32) * period,
                  bits = 0;
    if (into >= period) into -= period;
    AP_UNROLL
    for (int e = 0; e < Chunk; ++e) {
      bits |= (into == 0 ? 1u : 0u) << e;
      into = into + 1 == period ? 0 : into + 1;
    }
    return bits;
  }
};

template <class Key> AP_DEV bool keys_differ(Key a, Key b, bool floating) {
  if constexpr (sizeof(Key) == 4)
    if (floating) return !(bit_cast<float>(a) == bit_cast<float>(b));
  if constexpr (sizeof(Key) == 8)
    if (floating) return !(bit_cast<double>(a) == bit_cast<double>(b));
  return a != b;
}
// The boundaries before elements i ... i + Chunk - 1 of `length`; unspecified outside the array.
template <int Chunk, class Key>
AP_DEV std::uint32_t key_ends(const segment_arguments& s, std::int64_t i, std::int64_t length) {
  const Key* const keys = static_cast<const Key*>(s.keys);
  const auto inside = [&](std::int64_t at) { return at < 0 ? 0 : at < length ? at : length - 1; };
  const bool flags = s.source == segment_source::head_flags;
  std::uint32_t bits = 0;
  Key before = flags ? Key{0} : keys[inside(i - 1)];
  // unrolled completely, this would be a third of the kernel's code, for few tiles
  constexpr int at_once = Chunk < 4 ? Chunk : 4;
  AP_ROLLED
  for (int first = 0; first < Chunk; first += at_once) {
    AP_UNROLL
    for (int e = 0; e < at_once; ++e) {
      const Key here = keys[inside(i + first + e)];
      bits |= (keys_differ(before, here, s.floating_keys) ? 1u : 0u) << (first + e);
      before = flags ? Key{0} : here;
    }
  }
  return bits;
}
// whole_key_ends() does the same with one access per chunk. It requires that all keys of the tile and its
// neighbours exist and that chunks are aligned. This is decided per tile instead of per chunk, so that no
// branch serialises the loads of several chunks.
template <int Chunk, class Key>
AP_DEV bool has_whole_chunks(const segment_arguments& s, std::int64_t first, int tile, std::int64_t length) {
  const Key* const keys = static_cast<const Key*>(s.keys);
  return first > 0 && first + tile <= length &&
         reinterpret_cast<std::uintptr_t>(keys + first) % (Chunk * sizeof(Key)) == 0;
}
template <int Chunk, class Key>
AP_DEV std::uint32_t whole_key_ends(const segment_arguments& s, std::int64_t i) {
  const Key* const keys = static_cast<const Key*>(s.keys) + i;
  const bool flags = s.source == segment_source::head_flags;
  const pack<Key, Chunk> here = load_pack<Chunk>(keys);
  Key before = keys[-1];
  std::uint32_t bits = 0;
  AP_UNROLL
  for (int e = 0; e < Chunk; ++e) {
    bits |= (keys_differ(flags ? Key{0} : before, here.element[e], s.floating_keys) ? 1u : 0u) << e;
    before = here.element[e];
  }
  return bits;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
