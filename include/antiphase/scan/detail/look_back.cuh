// How the blocks of a single-pass scan exchange the totals of their tiles.
#pragma once
#include <antiphase/device/atomic.cuh>
#include <antiphase/scan/detail/carried.cuh>
#include <antiphase/scan/detail/single_pass.hpp>
#include <antiphase/scan/warp_scan.cuh>
#include <bit>
#include <cstring>

namespace antiphase::scans {
inline namespace AP_TARGET {

// The fold over the lanes, left to right, to lane 0; the others get something of no meaning.
template <scannable T, operator_on<T> Op> AP_DEV T warp_fold(T mine, Op op) {
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2) mine = op(mine, shuffle_down(mine, by));
  return mine;
}
// Several folds side by side, of values that are there in the first lanes and neutral in the others.
template <scannable T, operator_on<T> Op, int N> AP_DEV void warp_fold_first(T (&value)[N], Op op) {
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2) {
    AP_UNROLL
    for (int i = 0; i < N; ++i) value[i] = op(value[i], shuffle_down(value[i], by));
  }
}

// Whether the order of operands shows in no bit of the result, or only in the rounding of a sum, which is then fixed another way. The
// smaller of 0 and -0 is the left one, so floats are different.
template <class Op, class T> constexpr bool any_order = std::is_same_v<Op, sum> || std::is_same_v<Op, product> || std::is_integral_v<T>;

// Scans of several rows over the lanes, side by side: `before` becomes what lies before the lane in the row, `value` the row's total.
template <scannable T, operator_on<T> Op, int Rows> AP_DEV void warp_scan_rows(T (&value)[Rows], T (&before)[Rows], Op op) {
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

// A tile's total travels in words of which one half is the launch's tag: who reads the tag has read the value.
AP_DEV std::uint32_t tag_of(std::uint64_t epoch) { return static_cast<std::uint32_t>(epoch % 0xFFFFFFFFu) + 1; }  // never 0

template <class T> AP_DEV void put_state(std::uint64_t* states, std::uint32_t tile, std::uint32_t tag, const T& value) {
  constexpr int words = state_words_of(sizeof(T));
  std::uint32_t part[words] = {};
  memcpy(part, &value, sizeof(T));
  AP_UNROLL
  for (int i = 0; i < words; ++i) store_relaxed(states + std::uint64_t{tile} * words + i, std::uint64_t{tag} << 32 | part[i]);
}
// How a lane reads the totals that it looks for: with branches around those that it has already, which may keep the words of several apart,
// or without. Which is faster depends on the type (docs/notebook/scan.md).
enum class reading { one_by_one, together };

// Whether it is there. Read together, it is there only if it is wanted; one by one, nobody asks for what is not.
template <reading How, class T>
AP_DEV bool get_state(const std::uint64_t* states, std::uint32_t tile, std::uint32_t tag, T& value, bool wanted) {
  constexpr int words = state_words_of(sizeof(T));
  std::uint32_t part[words];
  bool all = true;
  AP_UNROLL
  for (int i = 0; i < words; ++i) {
    const std::uint64_t* const at = states + std::uint64_t{tile} * words + i;
    const std::uint64_t word = How == reading::together ? load_relaxed_if(wanted, at) : load_relaxed(at);
    part[i] = static_cast<std::uint32_t>(word);
    all &= static_cast<std::uint32_t>(word >> 32) == tag;
  }
  if (all) memcpy(&value, part, sizeof(T));
  return all;
}

template <class T> constexpr std::size_t state_size = sizeof(T);

// How a total gets from the block that has it to those that look for it.
struct tagged_words {
  template <class T> AP_DEV static void put(std::uint64_t* states, std::uint32_t tile, std::uint32_t tag, const T& total) {
    put_state(states, tile, tag, total);
  }
  template <reading How, class T>
  AP_DEV static bool get(const std::uint64_t* states, std::uint32_t tile, std::uint32_t tag, T& total, bool wanted) {
    return get_state<How>(states, tile, tag, total, wanted);
  }
};

// One thread, when every tile of the launch has been published. Tags come back after 2^32 - 1 launches; until then each launch has cleared
// one word that it does not use itself, and so every word of the workspace, of which there are fewer, has been cleared or written anew.
template <class T>
AP_DEV void end_epoch(std::uint64_t* control, std::uint64_t* states, std::uint64_t words, std::uint64_t epoch, std::uint32_t tiles) {
  const std::uint64_t old = epoch % words;
  if (old >= std::uint64_t{tiles} * state_words_of(state_size<T>)) store_relaxed(states + old, std::uint64_t{0});
  store_relaxed(control + epoch_word, epoch + 1);
}

// What lies before a tile, for tiles in ascending order; all lanes of a warp call. Totals are folded in whole batches of 32, the batches
// one after the other: the order depends on the tile's number alone. Sums of floats are carried in double.
template <scannable T, operator_on<T> Op, class Exchange = tagged_words, int AtOnce = 6, reading How = reading::one_by_one>
class look_back {
 public:
  AP_DEV look_back(const std::uint64_t* states, std::uint32_t tag) : states_(states), tag_(tag) {}

  AP_DEV T before(std::uint32_t tile) {
    const std::uint32_t last = tile / warp_size;
    for (;;) {
      T value[AtOnce];
      fetch(value, tile);
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
  static constexpr std::uint32_t at_once = AtOnce;  // batches: 6 are as many tiles as blocks on most GPUs
  using carry = typename carried_as<Op, T>::type;

  // The totals of the batches from batch_ on, as far as they lie before the tile; waits until they are there.
  AP_DEV void fetch(T (&value)[AtOnce], std::uint32_t tile) const {
    const std::uint32_t first = batch_ * warp_size + static_cast<std::uint32_t>(lane_index());
    bool got[at_once];
    AP_UNROLL
    for (std::uint32_t u = 0; u < at_once; ++u) {
      value[u] = exact_identity<Op, T>();
      got[u] = first + u * warp_size >= tile;
    }
    // Each lane on its own: lanes that meet in every round would count as going on, and keep others from running on the CPU executor.
    poll([&] {
      bool all = true;
      AP_UNROLL
      for (std::uint32_t u = 0; u < at_once; ++u) {
        if (How == reading::together || !got[u])
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
