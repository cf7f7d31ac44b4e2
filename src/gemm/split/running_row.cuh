// What is found out about a row of A while it comes in, a chunk at a time, by the block whose product splits it.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/math.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include "src/gemm/split/split_facts.cuh"
#include "src/gemm/split/split_product.hpp"
#include "src/gemm/split/split_warpgroup.cuh"
#include <cmath>

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The exponent of a row's largest element so far, or that there is none.
namespace row_top {
constexpr int not_finite = 1000, zero = -1000;
AP_DEV constexpr bool known(int top) { return top != not_finite && top != zero; }
AP_DEV int of(const row_part& row) {
  return row.largest >= line_facts::infinite ? not_finite : row.largest == 0 ? zero : line_facts::exponent_of(row.largest);
}
// What sums are multiplied by when the row's top rises.
AP_DEV float undone(int growth) { return growth > 126 ? 0 : line_facts::power_of_two(-growth); }
AP_DEV float undone(int before, int now) { return now == not_finite ? 0 : before == zero ? 1 : undone(now - before); }
}  // namespace row_top

constexpr int looked_at = 8;  // floats that a thread reads at a time: more have no registers
using row_piece = float[looked_at];

// A row of 32 floats in its tile: pieces of 16 bytes, as swizzled. The compiler is not to keep all their places in registers.
struct row_memory {
  const std::byte* tile;
  int start;
  AP_DEV row_memory(const split_part& a, int row) : tile(reinterpret_cast<const std::byte*>(&a[0][0])), start(row * 128 + (row & 7) * 16) {
    rematerialise(start);
  }
  AP_DEV void read(row_piece& x, int number) const {
    AP_UNROLL
    for (int i = 0; i < looked_at / 4; ++i) {
      const auto four = load_pack<4>(reinterpret_cast<const float*>(tile + (start ^ 16 * (looked_at / 4 * number + i))));
      AP_UNROLL
      for (int e = 0; e < 4; ++e) x[4 * i + e] = four.element[e];
    }
  }
};

// Of a row's elements in a chunk, at a glance: the largest magnitude, NaN if one is; the smallest; the sum of |x * scale|, each rounded up,
// unless they are too large for that scale.
class glance {
 public:
  AP_DEV void add(const row_piece& x, float scale) {
    AP_UNROLL
    for (int i = 0; i < looked_at; ++i) {
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
  float largest_ = 0, least_ = 0x1p127f, size_ = 0x1p23f;  // whose last place is 1
};

// Rules say which elements count as tiny when their row outgrows them by far.
template <class Rules> struct running_row {
  row_part is = {};
  // Of its largest element, as line_facts has them: second, and not_tiny. Until there is one, a glance tells nothing.
  float scale = 1, not_tiny = 0x1p127f;

  // Sums of elements that lie further than that below the largest might be rounded when their scale is undone. Counting all of them as tiny
  // is always allowed, and whoever is certified then is so large that such sums do not matter.
  static constexpr int largest_growth = 24;

  // A row's scale is one factor: that of rows with smaller elements would be two. Theirs is the largest that there is, and what FP16 cannot
  // hold then counts as tiny.
  static constexpr std::uint32_t least_top = static_cast<std::uint32_t>(top_exponent) << 23;

  AP_DEV std::uint32_t larger(float magnitude) const {
    const std::uint32_t largest = bit_cast<std::uint32_t>(larger_magnitude(bit_cast<float>(is.largest), magnitude)) & ~(1u << 31);
    return largest == 0 || largest > least_top ? largest : least_top;
  }
  // Whether an element so large has another exponent than the largest so far.
  AP_DEV bool outgrows(std::uint32_t largest) const { return (largest ^ is.largest) >> 23 != 0; }
  // The next elements make the row's largest so large: its scale follows, and what was found out in the scale before. By how many powers of
  // two, if there was a scale before.
  AP_DEV int grow(std::uint32_t largest) {
    const std::uint32_t before = is.largest;
    is.largest = largest;
    const line_facts by({largest, 0}, 0);
    scale = by.second, not_tiny = by.not_tiny;
    if (!by.finite) return no_scale;
    const int top = line_facts::exponent_of(largest), growth = top - line_facts::exponent_of(before);
    if (before == 0) is.first_top = top;
    if (before == 0) return no_scale;
    is.size = rescaled(is.size, growth);
    if (top - is.first_top > largest_growth) is.tiny = Rules::tiny_when_outgrown(is);
    return growth;
  }
  static constexpr int no_scale = 1000;
  // An upper bound stays one.
  AP_DEV static std::uint32_t rescaled(std::uint32_t size, int growth) {
    return growth > 31 ? (size != 0 ? 1 : 0) : static_cast<std::uint32_t>((size + (std::uint64_t{1} << growth) - 1) >> growth);
  }

  // Whether a glance tells all that there is to know of a chunk that made the row grow so much: nothing is tiny, nothing is zero.
  AP_DEV bool told_by(const glance& all, int growth) const {
    return all.least() >= not_tiny && all.fits() && growth < no_scale && is.largest < line_facts::infinite;
  }
  AP_DEV void count(const glance& all, int growth) {
    is.nonzeros += split_chunk;
    is.size += growth == 0 ? all.size() : rescaled(all.size(), growth);
  }

  // Otherwise one looks again, now that the scale is known.
  class second_look {
   public:
    AP_DEV explicit second_look(const running_row& row) : of_(row) {}
    AP_DEV void add(const row_piece& x) {
      AP_UNROLL
      for (int e = 0; e < looked_at; ++e) {
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
  AP_DEV void count(const second_look& all) {
    is.nonzeros += all.nonzeros();
    is.tiny += all.tiny();
    is.size += all.size();
  }
  // Whether the places of its elements that are not zero matter, as far as it has been counted.
  AP_DEV bool few() const { return is.nonzeros <= few_nonzeros; }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
