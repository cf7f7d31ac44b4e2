// SPDX-License-Identifier: Apache-2.0
// Facts that tf32 kernels record about their lines, for the certificate of outputs (sm_90a).
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <bit>
#include <cmath>
#include <cstdint>
#include "library/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Nonzeros of a line in one word: their number, up to 3, and the k of the first and of the last, counted from
// where the block's share of k begins. Two words are combined in any order with the same result.
struct line_nonzeros {
  static constexpr int bits_of_k = 15;
  static constexpr std::uint32_t many = 3;
  static constexpr std::uint32_t mask = (1u << bits_of_k) - 1;
  static_assert(k_of_tf32_share <= mask);
  std::uint32_t bits = 0;

  AP_DEV static line_nonzeros of(std::uint32_t number, std::uint32_t first, std::uint32_t last) {
    return {(number < many ? number : many) << 2 * bits_of_k | (mask - first) << bits_of_k | last};
  }
  // Elements from k on have a bit in `found` if they are not zero.
  AP_DEV static line_nonzeros of(std::uint32_t found, int k) {
    if (found == 0) return {};
    const int first = k + std::bit_width(found & (0u - found)) - 1, last = k + std::bit_width(found) - 1;
    return of(static_cast<std::uint32_t>(bit_count(found)), static_cast<std::uint32_t>(first),
              static_cast<std::uint32_t>(last));
  }
  AP_DEV static line_nonzeros more_than_two() { return {many << 2 * bits_of_k}; }
  AP_DEV int count() const { return static_cast<int>(bits >> 2 * bits_of_k); }
  AP_DEV int first() const { return static_cast<int>(mask - (bits >> bits_of_k & mask)); }
  AP_DEV int last() const { return static_cast<int>(bits & mask); }
  AP_DEV void add(line_nonzeros other) {
    const std::uint32_t both = (bits >> 2 * bits_of_k) + (other.bits >> 2 * bits_of_k);
    const auto larger = [](std::uint32_t a, std::uint32_t b) { return a > b ? a : b; };
    bits = (both < many ? both : many) << 2 * bits_of_k |
           larger(bits >> bits_of_k & mask, other.bits >> bits_of_k & mask) << bits_of_k |
           larger(bits & mask, other.bits & mask);
  }
};

// A bit for each element that is not zero.
AP_DEV std::uint32_t bits_of_nonzeros(const pack<float, 4>& x) {
  const auto bit = [&](int i) { return x.element[i] != 0 ? 1u << i : 0u; };
  return bit(0) | bit(1) | bit(2) | bit(3);
}

// Orders numbers by magnitude, zero last: twice the bits without the sign, minus one.
AP_DEV std::uint32_t least_of(float x) { return 2 * bit_cast<std::uint32_t>(x) - 1; }
AP_DEV float value_of_least(std::uint32_t least) { return bit_cast<float>((least >> 1) + 1); }
constexpr std::uint32_t infinite = 0x7F800000;
// a line of zeros: its least element counts as infinite
constexpr std::uint32_t no_least = 2 * infinite - 1;
// Sizes of the elements that a thread has seen of a line.
struct size_watch {
  std::uint32_t least = no_least;  // the smallest least_of()
  float largest = 0;               // magnitude, other than NaN
  AP_DEV void see(float x) {
    const std::uint32_t now = least_of(x);
    least = now < least ? now : least;
    largest = std::fmax(largest, std::fabs(x));
  }
  AP_DEV void add(const size_watch& other) {
    least = other.least < least ? other.least : least;
    largest = std::fmax(largest, other.largest);
  }
};
// The same in one word, since shared memory is full: the least one without its last 8 bits, which hold the
// exponent of the largest. least() is rounded down, largest() up to the next power of two.
struct line_sizes {
  static constexpr std::uint32_t of_largest = 0xFF, of_least = ~of_largest;
  std::uint32_t bits = no_least & of_least;

  line_sizes() = default;
  AP_DEV explicit line_sizes(const size_watch& seen)
      : bits((seen.least & of_least) | bit_cast<std::uint32_t>(seen.largest) >> 23) {}
  AP_DEV std::uint32_t least() const { return bits & of_least; }
  AP_DEV float largest() const {
    const std::uint32_t exponent = bits & of_largest;
    return bit_cast<float>((exponent < 254 ? exponent + 1 : 255) << 23);
  }
  AP_DEV void add(line_sizes other) {
    const std::uint32_t one = bits & of_largest, two = other.bits & of_largest;
    bits = (least() < other.least() ? least() : other.least()) | (one > two ? one : two);
  }
};
// least_of(2^-112) as line_sizes has it: smaller elements lose bits of lo
constexpr std::uint32_t least_whole = (2 * ((127u - 112) << 23) - 1) & line_sizes::of_least;
// No product of the parts of lines with these least elements is so small that FP32 loses bits of it.
AP_DEV bool keeps_all(std::uint32_t a, std::uint32_t b) {
  return value_of_least(a) * value_of_least(b) >= 0x1p-102f;
}

// Facts about the lines of a tile: first the long operand's, then the short one's.
struct tf32_lines {
  static constexpr int count = tf32_tile.m + tf32_tile.n;
  line_sizes sizes[count];
  line_nonzeros nonzeros[count];

  // Lines of one or two nonzeros are sparse: Tensor Cores cut off what is to be exact. Lines of zeros are
  // not: their sums are 0 in any case.
  AP_DEV static bool is_sparse(line_nonzeros n) { return n.count() == 1 || n.count() == 2; }
};

// Facts that a thread records about its line.
struct line_watch {
  size_watch sizes;
  line_nonzeros nonzeros;
  AP_DEV explicit line_watch(bool exists) {
    if (!exists) nonzeros = line_nonzeros::more_than_two();
  }
  AP_DEV void see(float x) { sizes.see(x); }
  AP_DEV bool counts() const { return nonzeros.bits < line_nonzeros::more_than_two().bits; }
  AP_DEV void add(const line_watch& other) {
    sizes.add(other.sizes);
    nonzeros.add(other.nonzeros);
  }
  AP_DEV void note(tf32_lines& lines, int line) const {
    lines.sizes[line] = line_sizes(sizes);
    lines.nonzeros[line] = nonzeros;
  }
  // Combines it with what another thread has noted.
  AP_DEV void add_to_note(tf32_lines& lines, int line) const {
    lines.sizes[line].add(line_sizes(sizes));
    lines.nonzeros[line].add(nonzeros);
  }
  AP_DEV line_watch(const size_watch& seen, line_nonzeros counted) : sizes(seen), nonzeros(counted) {}
};

// A tile is computed by eight warps, 16 x 64 outputs each.
struct tf32_rows {
  static constexpr int computing_warps = 8;
  using params = tf32_problem;
  static constexpr int registers = 32;  // of a thread's sums
  using sums = float[registers];

  struct work {
    std::int64_t batch, top, left;  // first lines of the long and the short operand
    std::int64_t k, k_end;
    AP_DEV int chunks() const { return static_cast<int>(ceil_div<std::int64_t>(k_end - k, tf32_chunk)); }
    AP_DEV int steps() const { return chunks() * (tf32_chunk / tf32_stage_k); }
  };
  AP_DEV static const float* first_of(const line_operand& o, const work& w) { return o.of_member(w.batch); }

  // A computing thread's place: its warp's first row of the tile, its number among the computing threads.
  struct seat {
    int top, g, q, member;
    AP_DEV static seat mine() {
      const int warp = warp_index() - computing_warps / 2, lane = lane_index();
      return {16 * warp, lane / 4, lane % 4, warp * warp_size + lane};
    }
  };
  // Places of a sparse line's nonzeros; with one, both are the same.
  struct sparse_places {
    std::int64_t first, last;
    bool two;
  };
  // A lane's two rows.
  struct lane_rows {
    line_sizes sizes[2];
    bool sparse[2];
    sparse_places places[2];  // of sparse ones
  };
  struct row_pair {
    // A lane's view of a row. Its nonzeros are added up: the number of them, and their k.
    struct row_watch {
      static constexpr int bits_of_sum = 20;
      static constexpr std::uint32_t one = 1u << bits_of_sum, many = line_nonzeros::many * one;
      size_watch sizes;
      std::uint32_t number_and_sum, last = 0;  // last: the last nonzero's k
      AP_DEV explicit row_watch(bool exists) : number_and_sum(exists ? 0 : many) {}
      AP_DEV line_watch all() const {
        const std::uint32_t number = number_and_sum / one, sum = number_and_sum % one;
        return {sizes, number == 0  ? line_nonzeros()
                       : number < 3 ? line_nonzeros::of(number, number == 1 ? last : sum - last, last)
                                    : line_nonzeros::more_than_two()};
      }
    };
    row_watch row[2];
    bool counts;
    AP_DEV row_pair(const params& p, const work& w, const seat& t)
        : row{row_watch(w.top + t.top + t.g < p.tiled.of_long.lines),
              row_watch(w.top + t.top + t.g + 8 < p.tiled.of_long.lines)},
          counts(true) {}
    AP_DEV void see(const float (&x)[8]) {
      AP_UNROLL
      for (int i = 0; i < 8; ++i) row[i % 2].sizes.see(x[i]);
    }
    // Counts nonzeros until rows have enough of them, mostly after one call. k: of the lane's first element.
    AP_DEV void count(const float (&x)[8], int k) {
      if (!counts) return;
      bool zero = false;
      AP_UNROLL
      for (int i = 0; i < 8; ++i) zero = zero || x[i] == 0;
      counts = ballot(zero) != 0;
      if (!counts) {  // the usual case: four lanes have four elements each of a row
        row[0].number_and_sum = row[1].number_and_sum = row_watch::many;
        return;
      }
      add(x, k);
      limit();
    }
    // The same in fewer instructions where there are zeros: until limit(), which has to follow after a chunk
    // at most, lest sums of k grow into numbers.
    AP_DEV void add(const float (&x)[8], int k) {
      AP_UNROLL
      for (int i = 0; i < 8; ++i) {
        row_watch& of = row[i % 2];
        const auto at = static_cast<std::uint32_t>(k) + i / 4 * 8u + i / 2 % 2 * 4u;
        if (x[i] != 0) of.number_and_sum += row_watch::one + at, of.last = at;
      }
      counts =
          ballot(row[0].number_and_sum < row_watch::many || row[1].number_and_sum < row_watch::many) != 0;
    }
    AP_DEV void limit() {
      AP_UNROLL
      for (row_watch& of : row)
        of.number_and_sum = of.number_and_sum < row_watch::many ? of.number_and_sum : row_watch::many;
    }
    // The smaller least element of the lane's rows, as line_sizes knows it.
    AP_DEV std::uint32_t least() const {
      const std::uint32_t one = row[0].sizes.least, other = row[1].sizes.least;
      return (one < other ? one : other) & line_sizes::of_least;
    }
    // True if the warp's rows have neither small elements nor few nonzeros.
    AP_DEV bool ordinary() const {
      if (ballot(least() < least_whole) != 0) return false;
      if (!counts) return true;
      const line_nonzeros one = of_four_lanes(row[0]), other = of_four_lanes(row[1]);
      return ballot(tf32_lines::is_sparse(one) || tf32_lines::is_sparse(other)) == 0;
    }
    // The nonzeros of all four lanes of a row: with small K no lane alone sees enough.
    AP_DEV static line_nonzeros of_four_lanes(const row_watch& mine) {
      line_nonzeros all = mine.all().nonzeros;
      all.add(shuffle(all, lane_index() ^ 1));
      all.add(shuffle(all, lane_index() ^ 2));
      return all;
    }
    // The facts about the lane's rows that compute_again() needs. k: where the block's share begins.
    AP_DEV lane_rows of_lane(std::int64_t k) const {
      lane_rows all;
      AP_UNROLL
      for (int r = 0; r < 2; ++r) {
        const line_nonzeros n = of_four_lanes(row[r]);
        all.places[r] = {k + n.first(), k + n.last(), n.count() == 2};
        all.sparse[r] = tf32_lines::is_sparse(n);
        all.sizes[r] = line_sizes(row[r].sizes);
        AP_UNROLL
        for (int by = 1; by <= 2; ++by) all.sizes[r].add(shuffle(all.sizes[r], lane_index() ^ by));
      }
      return all;
    }
    // Notes the rows, from the four lanes that share them.
    AP_DEV void note(tf32_lines& lines, const seat& t) {
      AP_UNROLL
      for (int r = 0; r < 2; ++r) {
        line_watch all = row[r].all();
        AP_UNROLL
        for (int by = 2; by > 0; by /= 2) all.add(shuffle_down(all, by));
        if (t.q == 0) all.note(lines, t.top + t.g + 8 * r);
      }
      warp_sync();
    }
  };
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
