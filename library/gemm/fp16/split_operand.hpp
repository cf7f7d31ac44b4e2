// SPDX-License-Identifier: Apache-2.0
// An operand of a product as Tensor Cores take it: every element scaled by a power of two and written as two
// FP16 numbers.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/portable.hpp>
#include <antiphase/core/tile.hpp>
#include <cstddef>
#include <cstdint>

#include "library/gemm/operands/line_operand.hpp"

namespace antiphase::gemms {

// The scheme: x scaled = x * 2^exponent, the largest of a line in [2^14, 2^15); hi = f16(scaled), lo =
// f16((scaled - hi) * 2^11), both to the nearest.
constexpr int top_exponent = 14;  // of a line's largest element, scaled
constexpr int lo_exponent = 11;   // lo is kept that much larger
// elements further below the largest's exponent are tiny if they are not zero
constexpr int tiny_exponent = 27;
constexpr int plain_exponent = 60;  // scales beyond are undone with care

// Tiles of C are 128 x 128 outputs, whoever computes them: a product, its epilogue or the recomputation.
constexpr int split_tile = 128;
// Outputs of a tile that are recomputed as a list; of a tile with more, all outputs are recomputed.
constexpr int uncertain_limit = 512;

// What the certificate of a product needs of a line (docs/use/accuracy.md).
struct alignas(16) split_line {
  // how many elements are tiny: not 0, their exponent below the largest's minus 27; +inf if one is not finite
  float tiny;
  // at least the sum of |scaled| / 2^15, and less than that plus K * 2^-15, except for a rounding; +inf if
  // one is not finite;
  float norm;
  // 2^-15 for zeros
  std::int32_t exponent;  // 0 for lines of zeros and lines with infinities or NaN
  std::int32_t nonzeros;  // that there are; lines with an infinity or NaN count as having all of them
};
struct alignas(16) sparse_indices {
  std::int32_t k[sparse_nonzeros];  // of the nonzero elements of a sparse line, in order; -1: no more
};

// What an epilogue reads first of a line, in one float:
//   2^-exponent                  undoes the scale, and there is nothing else to do; lines of zeros have 1
//   -2^-exponent                 undoes the scale; outputs need a certificate, because some elements are tiny
//   -2^-exponent * sparse_mark   the line is sparse: its outputs are 0, or computed again
//   0                            the epilogue has to read the split_line: the line is not finite, or
//                                |exponent| > plain_exponent
//   1                            padding: there is no such line, up to a multiple of split_tile
// So it needs no care if it is positive, it is complete if it is not in_split_line, and its magnitude undoes
// the scale (of a sparse line not quite, which then does not matter).
namespace line_scale {
constexpr float in_split_line = 0, padding = 1, sparse_mark = 1 + 0x1p-23f;
AP_FN bool is_sparse(float scale) { return (bit_cast<std::uint32_t>(scale) & 1) != 0; }
}  // namespace line_scale

// Memory for one split operand; all of it is written by the split pass.
struct split_operand {
  // a line after the other: per 16 k, hi[16] then lo[16]; zeros beyond K. The lines' stride is that of
  // split_layout
  f16* parts;
  float* scale;            // as line_scale says; split_tile * ceil(lines / split_tile)
  split_line* line;        // lines
  sparse_indices* sparse;  // lines; only those of sparse lines are written
  std::int64_t lines, k;
};

// Where things lie in the memory of a split operand, in bytes from its beginning; every part starts at a
// multiple of 256.
struct split_layout {
  std::int64_t lines, k;

  AP_FN constexpr std::int64_t line_elements() const {
    return 2 * 16 * ceil_div<std::int64_t>(k, 16);
  }  // f16 from line to line
  AP_FN constexpr std::size_t parts() const { return 0; }
  AP_FN constexpr std::size_t scale() const { return parts() + padded(lines * line_elements() * 2); }
  AP_FN constexpr std::size_t line() const {
    return scale() + padded(split_tile * ceil_div<std::int64_t>(lines, split_tile) * 4);
  }
  AP_FN constexpr std::size_t sparse() const { return line() + padded(lines * 16); }
  AP_FN constexpr std::size_t bytes() const { return sparse() + padded(lines * 16); }
  AP_FN static constexpr std::size_t padded(std::int64_t bytes) {
    return static_cast<std::size_t>(ceil_div<std::int64_t>(bytes, 256) * 256);
  }
};
AP_FN split_operand lay_out_split(std::byte* memory, const split_layout& at) {
  return {reinterpret_cast<f16*>(memory + at.parts()),
          reinterpret_cast<float*>(memory + at.scale()),
          reinterpret_cast<split_line*>(memory + at.line()),
          reinterpret_cast<sparse_indices*>(memory + at.sparse()),
          at.lines,
          at.k};
}

}  // namespace antiphase::gemms
