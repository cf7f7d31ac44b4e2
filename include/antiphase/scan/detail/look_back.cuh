// SPDX-License-Identifier: Apache-2.0
// Decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back",
// 2016): blocks of a single-pass scan publish the totals of their tiles and fold those of the tiles before
// their own.
#pragma once
#include <antiphase/device/atomic.cuh>
#include <antiphase/scan/detail/carried.cuh>
#include <antiphase/scan/detail/single_pass.hpp>
#include <antiphase/scan/warp_scan.cuh>
#include <bit>
#include <cstring>

namespace antiphase::scans {
inline namespace AP_TARGET {

// Folds the lanes' values, left to right, into lane 0. The results of other lanes are unspecified.
template <scannable T, operator_on<T> Op> AP_DEV T warp_fold(T mine, Op op) {
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2) mine = op(mine, shuffle_down(mine, by));
  return mine;
}
// Several independent folds, interleaved. The first lanes hold values, the others neutral ones.
template <scannable T, operator_on<T> Op, int N> AP_DEV void warp_fold_first(T (&value)[N], Op op) {
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2) {
    AP_UNROLL
    for (int i = 0; i < N; ++i) value[i] = op(value[i], shuffle_down(value[i], by));
  }
}

// Whether operands may be combined in any order: that changes no bit of the result, or only the rounding of a
// sum, whose order is fixed elsewhere. Minima of floats depend on the order, since of 0 and -0 the left one
// is kept.
template <class Op, class T> constexpr bool any_order =
    std::is_same_v<Op, sum> || std::is_same_v<Op, product> || std::is_integral_v<T>;

// Scans several rows over the lanes, interleaved: `before` becomes the fold of the lanes before this one,
// `value` the row's total.
template <scannable T, operator_on<T> Op, int Rows>
AP_DEV void warp_scan_rows(T (&value)[Rows], T (&before)[Rows], Op op) {
  const int lane = lane_index();
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2) {
    AP_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const T other = shuffle_up(value[r], by);
      if (lane >= by) value[r] = op(other, value[r]);
    }
  }
  AP_UNROLL
  for (int r = 0; r < Rows; ++r) {
    const T left = shuffle_up(value[r], 1);
    before[r] = lane == 0 ? exact_identity<Op, T>() : left;
    value[r] = shuffle(value[r], warp_size - 1);
  }
}

// A tile's total is published in 64-bit words, half of which is the launch's tag: a word with the tag is
// valid, so one relaxed load reads flag and value.
AP_DEV std::uint32_t tag_of(std::uint64_t epoch) {
  return static_cast<std::uint32_t>(epoch % 0xFFFFFFFFu) + 1;
}  // never 0

template <class T>
AP_DEV void put_state(std::uint64_t* states, std::uint32_t tile, std::uint32_t tag, const T& value) {
  constexpr int words = state_words_of(sizeof(T));
  std::uint32_t part[words] = {};
  memcpy(part, &value, sizeof(T));
  AP_UNROLL
  for (int i = 0; i < words; ++i)
    store_relaxed(states + std::uint64_t{tile} * words + i, std::uint64_t{tag} << 32 | part[i]);
}
// How a lane polls several totals: with a branch around those that it already has, which may serialise the
// loads, or with predicated loads. Which is faster depends on the type (docs/notebook/scan.md).
enum class reading { branching, predicated };

// Reads a total; returns whether it has been published. A predicated load with `wanted` false returns false.
template <reading How, class T> AP_DEV bool get_state(const std::uint64_t* states, std::uint32_t tile,
                                                      std::uint32_t tag, T& value, bool wanted) {
  constexpr int words = state_words_of(sizeof(T));
  std::uint32_t part[words];
  bool all = true;
  AP_UNROLL
  for (int i = 0; i < words; ++i) {
    const std::uint64_t* const at = states + std::uint64_t{tile} * words + i;
    const std::uint64_t word = How == reading::predicated ? load_relaxed_if(wanted, at) : load_relaxed(at);
    part[i] = static_cast<std::uint32_t>(word);
    all &= static_cast<std::uint32_t>(word >> 32) == tag;
  }
  if (all) memcpy(&value, part, sizeof(T));
  return all;
}

template <class T> constexpr std::size_t state_size = sizeof(T);

// The exchange of totals between blocks; tests replace it by faulty versions.
struct tagged_words {
  template <class T>
  AP_DEV static void put(std::uint64_t* states, std::uint32_t tile, std::uint32_t tag, const T& total) {
    put_state(states, tile, tag, total);
  }
  template <reading How, class T> AP_DEV static bool get(const std::uint64_t* states, std::uint32_t tile,
                                                         std::uint32_t tag, T& total, bool wanted) {
    return get_state<How>(states, tile, tag, total, wanted);
  }
};

// Called by one thread when every tile of the launch has been published. Tags repeat after 2^32 - 1 launches.
// Each launch clears one word that it does not use; the workspace has fewer words than that, so every word
// has been cleared or rewritten before its tag repeats.
template <class T> AP_DEV void end_epoch(std::uint64_t* control, std::uint64_t* states, std::uint64_t words,
                                         std::uint64_t epoch, std::uint32_t tiles) {
  const std::uint64_t old = epoch % words;
  if (old >= std::uint64_t{tiles} * state_words_of(state_size<T>))
    store_relaxed(states + old, std::uint64_t{0});
  store_relaxed(control + epoch_word, epoch + 1);
}

// A warp's look-back: the fold of all tiles before a tile, for tiles in ascending order; all lanes call.
// Unlike in the paper, blocks publish totals only, no prefixes. Totals are folded in whole batches of 32, in
// order, so the order of operations depends on the tile's number alone, and results have the same bits in
// every run. Sums of floats are carried in double.
template <scannable T, operator_on<T> Op, class Exchange = tagged_words, int AtOnce = 6,
          reading How = reading::branching>
class look_back {
 public:
  AP_DEV look_back(const std::uint64_t* states, std::uint32_t tag) : states_(states), tag_(tag) {}

  AP_DEV T prefix_of(std::uint32_t tile) {
    const std::uint32_t last = tile / warp_size;
    for (;;) {
      T value[AtOnce];
      wait_for_totals(value, tile);
      warp_fold_first(value, Op{});
      T partial = exact_identity<Op, T>();
      AP_UNROLL
      for (std::uint32_t u = 0; u < at_once; ++u) {
        if (batch_ + u < last) carry_ = Op{}(carry_, static_cast<carry>(value[u]));
        if (batch_ + u == last) partial = value[u];
      }
      if (batch_ + at_once > last) {
        batch_ = last;
        return static_cast<T>(Op{}(carry_, static_cast<carry>(partial)));
      }
      batch_ += at_once;
    }
  }

 private:
  static constexpr std::uint32_t at_once = AtOnce;  // batches: 6 cover as many tiles as most GPUs have blocks
  using carry = typename carried_as<Op, T>::type;

  // Waits for the totals of `at_once` batches from batch_ on. Tiles from `tile` on count as neutral.
  AP_DEV void wait_for_totals(T (&value)[AtOnce], std::uint32_t tile) const {
    const std::uint32_t first = batch_ * warp_size + static_cast<std::uint32_t>(lane_index());
    bool got[at_once];
    AP_UNROLL
    for (std::uint32_t u = 0; u < at_once; ++u) {
      value[u] = exact_identity<Op, T>();
      got[u] = first + u * warp_size >= tile;
    }
    // Each lane polls by itself: on the CPU executor a warp operation in every round would count as progress
    // and keep other threads waiting.
    poll([&] {
      bool all = true;
      AP_UNROLL
      for (std::uint32_t u = 0; u < at_once; ++u) {
        if (How == reading::predicated || !got[u])
          got[u] |= Exchange::template get<How>(states_, first + u * warp_size, tag_, value[u], !got[u]);
        all &= got[u];
      }
      return all;
    });
    warp_sync();
  }

  const std::uint64_t* states_;
  std::uint32_t tag_, batch_ = 0;
  carry carry_ = exact_identity<Op, carry>();
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
