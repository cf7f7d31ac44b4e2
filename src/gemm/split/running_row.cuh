// SPDX-License-Identifier: Apache-2.0
// The facts about a row of A that a block collects chunk by chunk while it splits the row.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/math.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <cmath>
#include "src/gemm/split/split_facts.cuh"
#include "src/gemm/split/split_product.hpp"
#include "src/gemm/split/split_warpgroup.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The exponent of a row's largest element so far, or that there is none.
namespace row_top {
constexpr int not_finite = 1000, zero = -1000;
AP_DEV constexpr bool known(int top) { return top != not_finite && top != zero; }
AP_DEV int of(const row_facts& row) {
  return row.largest >= line_facts::infinite ? not_finite : row.largest == 0 ? zero : line_facts::exponent_of(row.largest);
}
// The factor of sums when the row's top rises by `growth`.
AP_DEV float undone(int growth) { return growth > 126 ? 0 : line_facts::power_of_two(-growth); }
AP_DEV float undone(int before, int now) { return now == not_finite ? 0 : before == zero ? 1 : undone(now - before); }
}  // namespace row_top

constexpr int piece_length = 8;  // floats that a thread reads at a time: there are no registers for more
using row_piece = float[piece_length];

// A row of 32 floats in its swizzled tile: pieces of 16 bytes. The compiler must not keep the addresses of all pieces in registers.
struct row_memory {
  const std::byte* tile;
  int start;
  AP_DEV row_memory(const split_part& a, int row)
      : tile(reinterpret_cast<const std::byte*>(&a[0][0])), start(row * split_row_bytes + (row & 7) * 16) {
    rematerialise(start);
  }
  AP_DEV void read(row_piece& x, int number) const {
    AP_UNROLL
    for (int i = 0; i < piece_length / 4; ++i) {
      const auto four = load_pack<4>(reinterpret_cast<const float*>(tile + (start ^ 16 * (piece_length / 4 * number + i))));
      AP_UNROLL
      for (int e = 0; e < 4; ++e) x[4 * i + e] = four.element[e];
    }
  }
};

// Summary of a row's elements in a chunk: the largest magnitude, NaN if any is; the smallest; the sum of |x * scale|, each rounded up,
// unless the elements are too large for that scale.
class chunk_summary {
 public:
  AP_DEV void add(const row_piece& x, float scale) {
    AP_UNROLL
    for (int i = 0; i < piece_length; ++i) {
      const float magnitude = std::fabs(x[i]);
      largest_ = larger_magnitude(largest_, x[i]);
      least_ = std::fmin(least_, magnitude);
      size_ = add_rounded_up(size_, magnitude, scale);
    }
  }
  AP_DEV float largest() const { return largest_; }
  AP_DEV float least() const { return least_; }
  AP_DEV bool fits() const { return size_ < 0x1p24f; }  // or the sum was rounded by more than that
  AP_DEV std::uint32_t size() const { return bit_cast<std::uint32_t>(size_) - bit_cast<std::uint32_t>(0x1p23f); }

 private:
  float largest_ = 0, least_ = 0x1p127f, size_ = 0x1p23f;  // the last place of 2^23 is 1
};

// Rules::tiny_when_outgrown: how many elements count as tiny once the row's largest element is far beyond them.
template <class Rules> struct running_row {
  row_facts facts = {};
  // line_facts::second and not_tiny of the largest element so far. Until there is one, no chunk_summary covers a chunk.
  float scale = 1, not_tiny = 0x1p127f;

  // Sums of elements further below the largest may be rounded when their scale is undone. All of them then count as tiny, which is always
  // allowed: an output that is still certified is so large that such sums do not matter.
  static constexpr int largest_growth = 24;

  // A row's scale is one float. Rows with smaller elements, which would need two factors, have the largest such scale; elements that FP16
  // cannot hold then count as tiny.
  static constexpr std::uint32_t least_top = static_cast<std::uint32_t>(top_exponent) << 23;

  AP_DEV std::uint32_t larger(float magnitude) const {
    const std::uint32_t largest = bit_cast<std::uint32_t>(larger_magnitude(bit_cast<float>(facts.largest), magnitude)) & ~(1u << 31);
    return largest == 0 || largest > least_top ? largest : least_top;
  }
  // Whether the exponent of `largest` differs from that of the largest element so far.
  AP_DEV bool outgrows(std::uint32_t largest) const { return (largest ^ facts.largest) >> 23 != 0; }
  // Takes a new largest element: rescales the row and its facts. Returns the growth in powers of two, no_scale if there was no scale
  // before.
  AP_DEV int grow(std::uint32_t largest) {
    const std::uint32_t before = facts.largest;
    facts.largest = largest;
    const line_facts by({largest, 0}, 0);
    scale = by.second, not_tiny = by.not_tiny;
    if (!by.finite) return no_scale;
    const int top = line_facts::exponent_of(largest), growth = top - line_facts::exponent_of(before);
    if (before == 0) facts.first_top = top;
    if (before == 0) return no_scale;
    facts.size = rescaled(facts.size, growth);
    if (top - facts.first_top > largest_growth) facts.tiny = Rules::tiny_when_outgrown(facts);
    return growth;
  }
  static constexpr int no_scale = 1000;
  // An upper bound stays one.
  AP_DEV static std::uint32_t rescaled(std::uint32_t size, int growth) {
    return growth > 31 ? (size != 0 ? 1 : 0) : static_cast<std::uint32_t>((size + (std::uint64_t{1} << growth) - 1) >> growth);
  }

  // Whether the summary is enough for a chunk after which the row has grown so much: no element is tiny or zero.
  AP_DEV bool covered_by(const chunk_summary& all, int growth) const {
    return all.least() >= not_tiny && all.fits() && growth < no_scale && facts.largest < line_facts::infinite;
  }
  AP_DEV void count(const chunk_summary& all, int growth) {
    facts.nonzeros += split_chunk;
    facts.size += growth == 0 ? all.size() : rescaled(all.size(), growth);
  }

  // Otherwise the chunk is read again, now that its scale is known.
  class exact_count {
   public:
    AP_DEV explicit exact_count(const running_row& row) : of_(row) {}
    AP_DEV void add(const row_piece& x) {
      AP_UNROLL
      for (int e = 0; e < piece_length; ++e) {
        const float magnitude = std::fabs(x[e]);
        size_ = add_rounded_up(size_, magnitude, of_.scale);
        nonzeros_ += magnitude != 0;
        small_ += magnitude < of_.not_tiny;  // zeros too
        all_ += 1;
      }
    }
    AP_DEV std::uint32_t nonzeros() const { return nonzeros_; }
    AP_DEV std::uint32_t tiny() const { return nonzeros_ - (all_ - small_); }
    AP_DEV std::uint32_t size() const { return bit_cast<std::uint32_t>(size_) - bit_cast<std::uint32_t>(0x1p23f); }

   private:
    const running_row& of_;
    std::uint32_t nonzeros_ = 0, small_ = 0, all_ = 0;
    float size_ = 0x1p23f;
  };
  AP_DEV void count(const exact_count& all) {
    facts.nonzeros += all.nonzeros();
    facts.tiny += all.tiny();
    facts.size += all.size();
  }
  // Whether the row may still be sparse, by the elements counted so far.
  AP_DEV bool is_sparse() const { return facts.nonzeros <= sparse_nonzeros; }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
