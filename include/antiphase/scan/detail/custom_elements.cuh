// SPDX-License-Identifier: Apache-2.0
// Elements in the ring of a single-pass scan: of any type, with an operator without identity.
#pragma once
#include <algorithm>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/scan/detail/ends.cuh>
#include <antiphase/scan/detail/look_back.cuh>
#include <antiphase/scan/detail/ring_policy.hpp>
#include <antiphase/scan/detail/segments.cuh>
#include <antiphase/scan/detail/single_pass.hpp>
#include <antiphase/scan/detail/slot_access.cuh>
#include <antiphase/scan/detail/tile_shape.cuh>
#include <cstdint>
#include <cstring>

namespace antiphase::scans {

// Bytes of an element in memory, of a result, and of a value in between.
struct custom_sizes {
  int in, out, value;
  constexpr int in_slot() const { return std::max(in, out); }
};
constexpr custom_sizes same_sizes(int size) { return {size, size, size}; }

// Contiguous elements per lane. More of them mean fewer operator calls between lanes, but each takes a
// register, however narrow. They form whole words, if possible an odd multiple of 16 bytes, to avoid bank
// conflicts.
constexpr int custom_chunk_of(const custom_sizes& s) {
  constexpr int most_elements = 16;
  const int size = s.in_slot(), most_bytes = size <= 8 ? 112 : 96;
  int best = 0;
  for (int chunk = 1; chunk <= most_elements; ++chunk) {
    const int bytes = chunk * size;
    if (chunk * s.in % 4 != 0 || chunk * s.out % 4 != 0 || (bytes > most_bytes && best > 0)) continue;
    const bool spread = bytes % 32 == 16, best_spread = best * size % 32 == 16;
    if (spread || !best_spread) best = chunk;
  }
  return best;
}
// Large values make the look-back slower, so their tiles are larger where there is room. The ring has as many
// stages as shared memory allows.
constexpr ring_policy custom_ring_of(const custom_sizes& s, tile_mover mover = tile_mover::copy_engine) {
  const bool engine = mover == tile_mover::copy_engine;
  ring_policy p = engine ? ring_scan_policy : by_threads(ring_scan_policy);
  const int row_bytes = p.warps * 32 * custom_chunk_of(s) * s.in_slot();
  const int wanted = s.value <= 8 || !engine ? ring_scan_policy.tile_bytes() : 40 << 10,
            room = engine ? 200 << 10 : 96 << 10;
  p.rows = std::max(1, wanted / row_bytes);
  p.stages = std::min(p.stages, room / (p.rows * row_bytes));
  p.in_flight = std::min(p.in_flight, p.stages);
  return p;
}

// The params of a scan of T, with an initial value that may be larger than the 8 bytes of
// single_pass_arguments.
template <class T> struct custom_arguments : single_pass_arguments { T first; };

inline namespace AP_TARGET {

// The type of one memory access of this many bytes, whatever object lies there.
template <int Bytes> using piece =
    std::conditional_t<Bytes % 4 == 0, pack<std::uint32_t, Bytes / 4>,
                       std::conditional_t<Bytes == 2, pack<std::uint16_t, 1>, pack<std::uint8_t, 1>>>;

// A value or none, the fold of no elements for an operator without identity.
template <class T> struct maybe {
  values<T, 1> content;
  std::uint32_t there;

  AP_DEV maybe() {}
  AP_DEV maybe(const T& x, std::uint32_t is_there) : there(is_there) { content.elements[0] = x; }
  AP_DEV const T& value() const { return content.elements[0]; }
  AP_DEV static maybe none() {
    maybe m;
    memset(static_cast<void*>(&m.content), 0, sizeof m.content);
    m.there = 0;
    return m;
  }
};
// Tiles have elements, so a tile's total is never none, and only its value is published.
template <class T> constexpr std::size_t state_size<maybe<T>> = sizeof(T);
template <class T>
AP_DEV void put_state(std::uint64_t* states, std::uint32_t tile, std::uint32_t tag, const maybe<T>& total) {
  put_state(states, tile, tag, total.value());
}
template <reading How, class T> AP_DEV bool get_state(const std::uint64_t* states, std::uint32_t tile,
                                                      std::uint32_t tag, maybe<T>& total, bool wanted) {
  const bool got = get_state<How>(states, tile, tag, total.content.elements[0], wanted);
  if (got) total.there = 1;  // compiled without a branch, which would serialise the loads of several totals
  return got;
}

template <class Op> struct if_there {
  template <class T> AP_DEV maybe<T> operator()(const maybe<T>& a, const maybe<T>& b) const {
    maybe<T> result = b;  // by values: selecting between two objects would put them in local memory
    if (a.there != 0) {
      result.content.elements[0] = a.value();
      if (b.there != 0) result.content.elements[0] = Op{}(a.value(), b.value());
      result.there = 1;
    }
    return result;
  }
};
template <class Op, class T> struct neutral_of<if_there<Op>, maybe<T>> {
  AP_DEV static maybe<T> value() { return maybe<T>::none(); }
};

// The functions of look_back.cuh for maybe<T>, with one vote instead of shuffles of the mark. The vote bits
// of the lanes that an operand covers tell whether it is none, for which the operator is not called. In
// warp_fold_first, as for totals of tiles, the first lanes have values and the others none.
template <class T, class Op, int N> AP_DEV void warp_fold_first(maybe<T> (&value)[N], if_there<Op>) {
  std::uint32_t up[N];  // vote bits from this lane on
  AP_UNROLL
  for (int i = 0; i < N; ++i) up[i] = ballot(value[i].there != 0) >> lane_index();
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2) {
    AP_UNROLL
    for (int i = 0; i < N; ++i) {
      T& mine = value[i].content.elements[0];
      const T other = shuffle_down(mine, by);
      if (up[i] >> by != 0) mine = Op{}(mine, other);
    }
  }
}
template <class T, class Op> AP_DEV maybe<T> warp_fold(const maybe<T>& value, if_there<Op>) {
  const std::uint32_t up = ballot(value.there != 0) >> lane_index();  // vote bits from this lane on
  T mine = value.value();
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2) {
    const std::uint32_t some = (1u << by) - 1;
    T other = shuffle_down(mine, by);
    if ((up & some) != 0 && (up >> by & some) != 0) other = Op{}(mine, other);
    if ((up >> by & some) != 0) mine = other;
  }
  return {mine, up != 0 ? 1u : 0u};
}
template <class T, class Op, int Rows>
AP_DEV void warp_scan_rows(maybe<T> (&value)[Rows], maybe<T> (&before)[Rows], if_there<Op>) {
  const int lane = lane_index();
  std::uint32_t all[Rows], down[Rows];  // down: vote bits up to this lane, which is the highest bit
  AP_UNROLL
  for (int r = 0; r < Rows; ++r) {
    all[r] = ballot(value[r].there != 0);
    down[r] = all[r] << (warp_size - 1 - lane);
  }
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2) {
    AP_UNROLL
    for (int r = 0; r < Rows; ++r) {
      T& mine = value[r].content.elements[0];
      T other = shuffle_up(mine, by);
      const bool other_is = down[r] << by >> (warp_size - by) != 0;
      if (other_is && down[r] >> (warp_size - by) != 0) other = Op{}(other, mine);
      if (other_is) mine = other;
    }
  }
  AP_UNROLL
  for (int r = 0; r < Rows; ++r) {
    before[r] = {shuffle_up(value[r].value(), 1), down[r] << 1 != 0 ? 1u : 0u};
    value[r] = {shuffle(value[r].value(), warp_size - 1), all[r] != 0 ? 1u : 0u};
  }
}

// Bytes of the smallest access to an array of T, which has only T's alignment.
template <class T> constexpr int unit_bytes = alignof(T) < copy_unit ? static_cast<int>(alignof(T))
                                                                     : copy_unit;

// N elements of a lane in registers.
template <scannable T, int N> struct custom_chunk {
  static constexpr int bytes = N * static_cast<int>(sizeof(T));
  std::uint32_t word[bytes / 4];

  AP_DEV T at(int e) const {
    values<T, 1> x;
    memcpy(&x.elements[0], reinterpret_cast<const unsigned char*>(word) + e * sizeof(T), sizeof(T));
    return x.elements[0];
  }
  AP_DEV void put(int e, const T& x) {
    memcpy(reinterpret_cast<unsigned char*>(word) + e * sizeof(T), &x, sizeof(T));
  }
  AP_DEV void load(const unsigned char* from, bool aligned) {
    aligned ? copy<access>(word, from) : copy<unit>(word, from);
  }
  AP_DEV void store(unsigned char* to, bool aligned) const {
    aligned ? copy<access>(to, word) : copy<unit>(to, word);
  }
  AP_DEV custom_chunk turned(bool reverse) const {
    custom_chunk w = *this;
    if (reverse) {
      AP_UNROLL
      for (int e = 0; e < N; ++e) w.put(e, at(N - 1 - e));
    }
    return w;
  }

 private:
  using unit = piece<unit_bytes<T>>;
  using access = piece<bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4>;
  template <class Piece> AP_DEV static void copy(void* to, const void* from) {
    AP_UNROLL
    for (int i = 0; i < bytes / static_cast<int>(sizeof(Piece)); ++i)
      static_cast<Piece*>(to)[i] = static_cast<const Piece*>(from)[i];
  }
};

template <class T, class Ends> constexpr custom_sizes sizes_of() {
  return {static_cast<int>(sizeof(typename Ends::in)), static_cast<int>(sizeof(typename Ends::out)),
          static_cast<int>(sizeof(T))};
}

// A chunk's mark has a bit for each of its elements, in scan order: whether the element exists.
template <scannable T, operator_on<T> Op, class Ends = as_they_are<T>,
          ring_policy Ring = custom_ring_of(sizes_of<T, Ends>()),
          int Chunk = custom_chunk_of(sizes_of<T, Ends>())>
struct custom_elements {
  using params = custom_arguments<T>;
  static constexpr ring_policy ring = Ring;
  static constexpr int chunk = Chunk;
  static constexpr int tile = ring.warps * ring.rows * warp_size * chunk;
  static constexpr bool has_marks = true, keeps_marks = false, shifts_chunks = false,
                        overlaps_previous = false;
  using in = typename Ends::in;
  using out = typename Ends::out;
  using in_unit = piece<unit_bytes<in>>;
  using out_unit = piece<unit_bytes<out>>;
  static constexpr int in_bytes = sizeof(in), out_bytes = sizeof(out);
  static constexpr int in_units = in_bytes / unit_bytes<in>, out_units = out_bytes / unit_bytes<out>;
  using total_type = maybe<T>;
  using combine = if_there<Op>;
  static constexpr int batches_at_once = sizeof(T) <= 8 ? 6 : 5;  // of totals, in registers
  static constexpr reading reads = sizeof(T) <= 8 ? reading::predicated : reading::branching;
  using elements = custom_chunk<in, chunk>;
  using results = custom_chunk<out, chunk>;

  AP_DEV static elements load(const unsigned char* at, bool aligned) {
    elements v;
    v.load(at, aligned);
    return v;
  }
  AP_DEV static void store(unsigned char* at, const results& v, bool aligned) { v.store(at, aligned); }
  AP_DEV static elements ordered(const params&, const elements& v, bool reverse) { return v.turned(reverse); }
  AP_DEV static results back_in_memory(const params&, const results& v, bool reverse) {
    return v.turned(reverse);
  }
  AP_DEV static void keep(elements& v) {
    if constexpr (in_bytes % 4 != 0) {
      AP_UNROLL
      for (std::uint32_t& w : v.word) rematerialise(w);
    }
  }

  // There is no neutral element for padding: marks tell which elements of a tile exist. If user functions
  // convert the elements, memory after the last one is set to zero.
  AP_DEV static void complete(const params&, unsigned char* slot, int shift, int count) {
    if constexpr (Ends::calls) {
      in_unit* const units = reinterpret_cast<in_unit*>(slot + shift);
      AP_ROLLED
      for (int i = count * in_units + lane_index(); i < tile * in_units; i += warp_size) units[i] = in_unit{};
    }
  }
  template <int Rows, class Offset>
  AP_DEV static void find_marks(const params&, const tile_extent& here, Offset offset_of,
                                std::uint32_t (&marks)[Rows], bool reverse) {
    if (here.count == tile) {
      AP_UNROLL
      for (std::uint32_t& mark : marks) mark = whole;
      return;
    }
    AP_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const int left = here.count - offset_of(r), present = left < 0 ? 0 : left < chunk ? left : chunk;
      marks[r] = in_scan_order<chunk>((1u << present) - 1, reverse);
    }
  }

  AP_DEV static total_type total_of(const params&, const elements& v, std::uint32_t there) {
    if (there == whole) {
      T total = Ends::before(v.at(0));
      AP_UNROLL
      for (int e = 1; e < chunk; ++e) total = Op{}(total, Ends::before(v.at(e)));
      return {total, 1};
    }
    total_type total = element_of_chunk(v, 0, there);
    AP_UNROLL
    for (int e = 1; e < chunk; ++e) total = combine{}(total, element_of_chunk(v, e, there));
    return total;
  }
  AP_DEV static total_type with_initial(const params& p, const total_type& before) {
    return p.kind == scan_kind::exclusive ? combine{}(total_type{p.first, 1}, before) : before;
  }
  AP_DEV static results from(const params& p, const total_type& before, const elements& v,
                             std::uint32_t there) {
    const bool exclusive = p.kind == scan_kind::exclusive;
    results result;
    if (before.there != 0 && there == whole) {
      T through = before.value();
      AP_UNROLL
      for (int e = 0; e < chunk; ++e) {
        const T with = Op{}(through, Ends::before(v.at(e)));
        T here = with;
        if (exclusive) here = through;
        result.put(e, Ends::after(here));
        through = with;
      }
      return result;
    }
    if constexpr (Ends::calls) memset(&result, 0, sizeof result);
    total_type through = before;
    AP_UNROLL
    for (int e = 0; e < chunk; ++e) {
      const total_type with = combine{}(through, element_of_chunk(v, e, there));
      total_type here = with;
      if (exclusive) here = through;
      if (!Ends::calls || here.there != 0) result.put(e, Ends::after(here.value()));
      through = with;
    }
    return result;
  }

 private:
  // the mark of chunks of a full tile, and only of those
  static constexpr std::uint32_t whole = ~std::uint32_t{0};
  AP_DEV static total_type element_of_chunk(const elements& v, int e, std::uint32_t there) {
    const bool is_there = (there >> e & 1u) != 0;
    if constexpr (!Ends::calls) return {v.at(e), is_there ? 1u : 0u};
    return is_there ? total_type{Ends::before(v.at(e)), 1} : total_type::none();
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
