// SPDX-License-Identifier: Apache-2.0
// The scan along an axis other than the last: columns side by side, read once and written once.
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/scan/detail/element_values.cuh>
#include <antiphase/scan/detail/look_back.cuh>
#include <antiphase/scan/detail/tile_shape.cuh>

#include "library/scan/columns/column_carry.cuh"
#include "library/scan/columns/columns_policy.hpp"

namespace antiphase::scans {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A block has a tile: some rows of a strip of columns. Thread (segment, column) keeps its rows of the column
// in registers. Neighbouring threads have neighbouring columns, so accesses are coalesced. A tile of whole
// rows is contiguous in memory and is copied through shared memory. The segments' totals are scanned in
// shared memory. Where a strip has several tiles, a block publishes the totals of its columns and looks back:
// each segment reads one group of eight tiles, starting with the block's own group. The prefix of a group is
// published by the block with the last tile of the group before. Block indices run through the first tiles of
// all strips, then the second ones, so that blocks wait for lower indices only. Totals are folded group after
// group, so results are the same bits in every run.
template <class In, class Out, class Value, class Op> struct columns {
  static constexpr int threads = column_threads;
  static constexpr int blocks_wanted = 3;
  static constexpr residency blocks = residency::in_order;
  static constexpr int each = column_rows(sizeof(Value));
  static constexpr int group = column_group;
  using carry_type = typename column_carry<Op, Value>::type;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = column_arguments;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  static constexpr int item_bytes = sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out);
  struct storage {
    std::uint64_t epoch;
    alignas(16) unsigned char stage[threads * each * item_bytes];
    shared_values<Value, threads> total[2];
    shared_values<carry_type, threads> of_group, before_group;
    shared_values<Value, threads> before;  // the tile, per column
    bool knows[threads];
  };
  static constexpr shared_kind shared =
      sizeof(storage) > fixed_shared_limit ? shared_kind::dynamic : shared_kind::fixed;

 private:
  AP_DEV static Value neutral() { return exact_identity<Op, Value>(); }
  AP_DEV static bool reverse(const params& p) { return p.direction == scan_direction::reverse; }

  // The thread's place in the block's tile.
  struct part {
    std::uint32_t tile;
    std::int64_t strip, first;  // row of the tile, in scan order
    int rows;                   // of the tile
    int column, segment;
    bool active;
    std::int64_t line;  // offset of its column in memory

    AP_DEV explicit part(const params& p) {
      const std::int64_t block = block_index().x;
      tile = static_cast<std::uint32_t>(block / p.strips);
      strip = block % p.strips;
      const int most = p.segments * each;
      first = std::int64_t{tile} * most;
      rows = static_cast<int>(p.length - first < most ? p.length - first : most);
      column = thread_index() % p.columns;
      segment = thread_index() / p.columns;
      const std::int64_t number = strip * p.columns + column;
      active = segment < p.segments && number < p.outer * p.inner;
      line = number / p.inner * p.length * p.inner + number % p.inner;
    }
    AP_DEV int row(int r) const { return segment * each + r; }
    AP_DEV bool has(int r) const { return active && row(r) < rows; }
    // Index along the column in memory of row `row` of the tile.
    AP_DEV std::int64_t along(const params& p, int row) const {
      return reverse(p) ? p.length - 1 - first - row : first + row;
    }
    // For a tile of whole rows: its offset in memory, and the index of the thread's row r in the staged tile.
    AP_DEV std::int64_t begin(const params& p) const {
      return (strip * p.length + (reverse(p) ? p.length - first - rows : first)) * p.inner;
    }
    AP_DEV int staged(const params& p, int r) const {
      return (reverse(p) ? rows - 1 - row(r) : row(r)) * p.columns + column;
    }
  };

  // load, store
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static Value value_at(const params& p, const In& x) {
    return value_of<Op, Value>(flips_order<Op> ? with_bits_flipped(x, p.flip) : x, p.flip);
  }
  AP_DEV static Out result_at(const params& p, const Value& v) {
    const Out x = one_result<Out>(v);
    return flips_order<Op> ? with_bits_flipped(x, p.flip) : x;
  }
  template <class T> AP_DEV static T* stage(storage& s) { return reinterpret_cast<T*>(s.stage); }

  AP_DEV static void load(const params& p, storage& s, const part& here, Value (&v)[each]) {
    const In* const in = static_cast<const In*>(p.in);
    In raw[each];
    if (p.whole_rows) {
      const In* const from = in + here.begin(p);
      const int count = here.rows * p.columns;
      AP_UNROLL
      for (int r = 0; r < each; ++r)
        if (const int at = r * threads + thread_index(); at < count) raw[r] = from[at];
      AP_UNROLL
      for (int r = 0; r < each; ++r)
        if (const int at = r * threads + thread_index(); at < count)
          stage<pack<In, 1>>(s)[at].element[0] = raw[r];
      block_barrier();
      AP_UNROLL
      for (int r = 0; r < each; ++r)
        if (here.has(r)) raw[r] = stage<pack<In, 1>>(s)[here.staged(p, r)].element[0];
    } else {
      const In* const from = in + here.line + here.along(p, here.row(0)) * p.inner;
      const std::int64_t step = reverse(p) ? -p.inner : p.inner;
      AP_UNROLL
      for (int r = 0; r < each; ++r)
        if (here.has(r)) raw[r] = from[r * step];
    }
    AP_UNROLL
    for (int r = 0; r < each; ++r) v[r] = here.has(r) ? value_at(p, raw[r]) : neutral();
  }
  AP_DEV static void store(const params& p, storage& s, const part& here, const Value (&v)[each]) {
    Out* const out = static_cast<Out*>(p.out);
    if (p.whole_rows) {
      AP_UNROLL
      for (int r = 0; r < each; ++r)
        if (here.has(r)) stage<pack<Out, 1>>(s)[here.staged(p, r)].element[0] = result_at(p, v[r]);
      block_barrier();
      Out* const to = out + here.begin(p);
      const int count = here.rows * p.columns;
      AP_UNROLL
      for (int r = 0; r < each; ++r)
        if (const int at = r * threads + thread_index(); at < count)
          to[at] = stage<pack<Out, 1>>(s)[at].element[0];
    } else {
      Out* const to = out + here.line + here.along(p, here.row(0)) * p.inner;
      const std::int64_t step = reverse(p) ? -p.inner : p.inner;
      AP_UNROLL
      for (int r = 0; r < each; ++r)
        if (here.has(r)) to[r * step] = result_at(p, v[r]);
    }
  }

  // within the block
  // ---------------------------------------------------------------------------------------------------------
  // Inclusive scan of the segments' totals of each column (Kogge and Stone). Returns the index of the result
  // buffer.
  AP_DEV static int scan_segments(const params& p, storage& s, const part& here, Value mine) {
    const int at = thread_index();
    if (here.active) s.total[0][at] = mine;
    block_barrier();
    int now = 0;
    for (int by = 1; by < p.segments; by *= 2) {
      if (here.active) {
        if (here.segment >= by) mine = Op{}(s.total[now][at - by * p.columns], mine);
        s.total[1 - now][at] = mine;
      }
      now = 1 - now;
      block_barrier();
    }
    return now;
  }

  // exchange
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static std::uint64_t* prefix_states(const params& p) {
    return p.states + static_cast<std::uint64_t>(p.strips) * p.tiles * static_cast<std::uint64_t>(p.columns) *
                          state_words_of(sizeof(Value));
  }
  AP_DEV static std::uint32_t total_number(const params& p, const part& here, std::uint32_t tile) {
    return (static_cast<std::uint32_t>(here.strip) * p.tiles + tile) * static_cast<std::uint32_t>(p.columns) +
           static_cast<std::uint32_t>(here.column);
  }
  // Index of the prefix of group `number` of a strip; group 0 has none.
  AP_DEV static std::uint32_t prefix_number(const params& p, const part& here, std::uint32_t number) {
    const std::uint32_t groups = (p.tiles + group - 1) / group - 1;
    return (static_cast<std::uint32_t>(here.strip) * groups + number - 1) *
               static_cast<std::uint32_t>(p.columns) +
           static_cast<std::uint32_t>(here.column);
  }
  // Every thread waits for the totals of its group. The one that looks back furthest also waits for its
  // group's prefix; the others take that if it has been published.
  AP_DEV static void read_group(const params& p, storage& s, const part& here, std::uint32_t tag) {
    const std::uint32_t last = here.tile / group, back = static_cast<std::uint32_t>(here.segment);
    if (!here.active || back > last) return;
    const std::uint32_t number = last - back, first = number * group;
    const int count = back == 0 ? static_cast<int>(here.tile - first) : group;
    const bool furthest = here.segment == p.segments - 1;
    Value total[group];
    carry_type before = exact_identity<Op, carry_type>();
    bool got[group], knows = number == 0;
    AP_UNROLL
    for (int i = 0; i < group; ++i) total[i] = neutral(), got[i] = i >= count;
    poll([&] {
      bool all = true;
      AP_UNROLL
      for (int i = 0; i < group; ++i) {
        if (!got[i])
          got[i] = get_state<reading::branching>(
              p.states, total_number(p, here, first + static_cast<std::uint32_t>(i)), tag, total[i], true);
        all &= got[i];
      }
      if (!knows)
        knows = get_state<reading::branching>(prefix_states(p), prefix_number(p, here, number), tag, before,
                                              true);
      return all && (knows || !furthest);
    });
    carry_type sum = static_cast<carry_type>(total[0]);
    AP_UNROLL
    for (int i = 1; i < group; ++i)
      if (i < count) sum = Op{}(sum, static_cast<carry_type>(total[i]));
    s.of_group[thread_index()] = sum;
    s.before_group[thread_index()] = before;
    s.knows[thread_index()] = knows;
  }
  // The tile's prefix, computed by the first thread of a column. The last tile of a group also publishes the
  // prefix of the next group.
  AP_DEV static Value join_groups(const params& p, storage& s, const part& here, std::uint32_t tag,
                                  const Value& mine) {
    int back = 0;
    while (!s.knows[back * p.columns + here.column]) ++back;
    carry_type before = s.before_group[back * p.columns + here.column];
    for (; back > 0; --back) before = Op{}(before, s.of_group[back * p.columns + here.column]);
    const std::uint32_t into = here.tile % group;
    const carry_type up_to = s.of_group[here.column];
    if (into == group - 1 && here.tile + 1 < p.tiles)
      put_state(prefix_states(p), prefix_number(p, here, here.tile / group + 1), tag,
                carry_type(Op{}(before, carry_type(Op{}(up_to, static_cast<carry_type>(mine))))));
    return static_cast<Value>(into == 0 ? before : carry_type(Op{}(before, up_to)));
  }
  // The last block to arrive ends the epoch: all have read it.
  AP_DEV static void leave(const params& p, std::uint64_t epoch) {
    const std::uint64_t all = static_cast<std::uint64_t>(p.strips) * p.tiles;
    if (atomic_add(p.control + ticket_word, std::uint64_t{1}) != all - 1) return;
    store_relaxed(p.control + ticket_word, std::uint64_t{0});
    const std::uint64_t used = static_cast<std::uint64_t>(prefix_states(p) - p.states) +
                               static_cast<std::uint64_t>(p.strips) * ((p.tiles + group - 1) / group - 1) *
                                   static_cast<std::uint64_t>(p.columns) * state_words_of(sizeof(carry_type));
    end_epoch<std::uint32_t>(p.control, p.states, p.state_words, epoch, static_cast<std::uint32_t>(used));
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const part here(p);
    const bool exchanges = p.tiles > 1;
    std::uint64_t epoch = 0;
    // overlaps with the loads of the elements
    if (exchanges && thread_index() == 0) epoch = load_relaxed(p.control + epoch_word);
    Value v[each];
    load(p, s, here, v);
    if (thread_index() == 0) s.epoch = epoch;
    Value total = v[0];
    AP_UNROLL
    for (int r = 1; r < each; ++r) total = Op{}(total, v[r]);
    const int now = scan_segments(p, s, here, total);

    Value before = from_bits<Value>(p.initial);
    if (exchanges) {
      const std::uint32_t tag = tag_of(s.epoch);
      const bool leads = here.active && here.segment == 0;
      const Value mine = leads ? s.total[now][(p.segments - 1) * p.columns + here.column] : neutral();
      if (leads) put_state(p.states, total_number(p, here, here.tile), tag, mine);
      if (here.tile > 0) {
        read_group(p, s, here, tag);
        block_barrier();
        if (leads) s.before[here.column] = join_groups(p, s, here, tag, mine);
        block_barrier();
        if (here.active) before = Op{}(before, s.before[here.column]);
      }
      if (thread_index() == 0) leave(p, s.epoch);
    }
    if (here.active && here.segment > 0) before = Op{}(before, s.total[now][thread_index() - p.columns]);
    const bool exclusive = p.kind == scan_kind::exclusive;
    AP_UNROLL
    for (int r = 0; r < each; ++r) {
      const Value with = Op{}(before, v[r]);
      v[r] = exclusive ? before : with;
      before = with;
    }
    store(p, s, here, v);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
