// An operand of a product as Tensor Cores take it: every element scaled by a power of two and written as two FP16 numbers.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/portable.hpp>
#include <antiphase/core/tile.hpp>
#include <cstddef>
#include <cstdint>

namespace antiphase::gemms {

// A row of A or a column of B is a line: it meets all of k. Element (l, k) lies at data[l * line_stride + k * k_stride].
struct operand_lines {
  const float* data;
  std::int64_t lines, k;
  std::int64_t line_stride, k_stride;
};

// The scheme: x scaled = x * 2^exponent, the largest of a line in [2^14, 2^15); hi = f16(scaled), lo = f16((scaled - hi) * 2^11), both to
// the nearest.
constexpr int top_exponent = 14;    // of a line's largest element, scaled
constexpr int lo_exponent = 11;     // lo is kept that much larger
constexpr int tiny_exponent = 27;   // elements further below the largest's exponent are tiny if they are not zero
constexpr int few_nonzeros = 4;     // lines with no more are multiplied exactly
constexpr int plain_exponent = 60;  // scales beyond are undone with care

// What the certificate of a product needs of a line (docs/accuracy.md).
struct alignas(16) split_line {
  float tiny;  // how many elements are tiny: not 0, their exponent below the largest's minus 27; +inf if one is not finite
  float norm;  // at least the sum of |scaled| / 2^15, and less than that plus K * 2^-15, but for a rounding; +inf if one is not finite;
               // 2^-15 for zeros
  std::int32_t exponent;  // 0 for lines of zeros and lines with infinities or NaN
  std::int32_t nonzeros;  // that there are; lines with an infinity or NaN count as having all of them
};
struct alignas(16) few_places {
  std::int32_t k[few_nonzeros];  // where the nonzero elements are, in order; -1: no more
};

// Per line, in one float that an epilogue reads: how to undo the scale, 2^-exponent, if that is all there is to do; the same negative, if
// results also need a certificate, because some elements are tiny; 0 if the split_line has to be looked at: few nonzeros or none, an
// infinity or NaN, |exponent| > plain_exponent. Lines that are not there, up to a multiple of line_tile, have 1.
constexpr int line_tile = 128;

// Memory for one split operand; all of it is written by the split pass.
struct split_operand {
  f16* parts;        // a line after the other: per 16 k, hi[16] then lo[16]; zeros beyond K. The lines' stride is that of split_layout
  float* scale;      // line_tile * ceil(lines / line_tile)
  split_line* line;  // lines
  few_places* few;   // lines; only those with at most few_nonzeros nonzeros are written
  std::int64_t lines, k;
};

// Where things lie in the memory of a split operand, in bytes from its beginning; every part starts at a multiple of 256.
struct split_layout {
  std::int64_t lines, k;

  AP_FN constexpr std::int64_t line_elements() const { return 2 * 16 * ceil_div<std::int64_t>(k, 16); }  // f16 from line to line
  AP_FN constexpr std::size_t parts() const { return 0; }
  AP_FN constexpr std::size_t scale() const { return parts() + padded(lines * line_elements() * 2); }
  AP_FN constexpr std::size_t line() const { return scale() + padded(line_tile * ceil_div<std::int64_t>(lines, line_tile) * 4); }
  AP_FN constexpr std::size_t few() const { return line() + padded(lines * 16); }
  AP_FN constexpr std::size_t bytes() const { return few() + padded(lines * 16); }
  AP_FN static constexpr std::size_t padded(std::int64_t bytes) {
    return static_cast<std::size_t>(ceil_div<std::int64_t>(bytes, 256) * 256);
  }
};
AP_FN split_operand lay_out_split(std::byte* memory, const split_layout& at) {
  return {reinterpret_cast<f16*>(memory + at.parts()),
          reinterpret_cast<float*>(memory + at.scale()),
          reinterpret_cast<split_line*>(memory + at.line()),
          reinterpret_cast<few_places*>(memory + at.few()),
          at.lines,
          at.k};
}

}  // namespace antiphase::gemms
