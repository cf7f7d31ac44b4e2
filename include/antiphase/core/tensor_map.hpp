// SPDX-License-Identifier: Apache-2.0
// What the copy engine has to know of a tensor in global memory, and how it permutes its rows in shared
// memory (swizzle).
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

namespace antiphase {

// Rows of shared memory are permuted so that a column of them does not fall into one bank. Rows of 32, 64 or
// 128 bytes, in pieces of 16; each row has its pieces in another order. The copy engine and Tensor Cores know
// these.
enum class swizzle : unsigned char { none, bytes_32, bytes_64, bytes_128 };

// Bytes of a row. None: a row is one piece.
AP_FN constexpr std::uint32_t width_of(swizzle s) { return 16u << static_cast<unsigned>(s); }
// Bytes after which the pattern repeats, and to which what it applies to is aligned.
AP_FN constexpr std::uint32_t period_of(swizzle s) { return 8 * width_of(s); }

// Where the byte of a shared address lies: the number of a piece in its row is crossed with bits 7 to 9,
// which count the 128 bytes.
AP_FN constexpr std::uint32_t swizzled(std::uint32_t address, swizzle s) {
  return address ^ (address >> 3 & (width_of(s) - 16));
}

constexpr int tensor_dimensions = 4;  // at most

// A tensor, and the box of it that one copy brings to shared memory. The innermost dimension comes first; its
// elements are neighbours.
struct tensor_layout {
  const void* data = nullptr;                    // of the executor's memory, aligned to 16 bytes
  int element_bytes = 2;                         // 1, 2, 4 or 8
  int dimensions = 2;                            // 2 to 4
  std::uint64_t extent[tensor_dimensions] = {};  // elements
  std::uint64_t stride[tensor_dimensions] = {};  // bytes, multiples of 16; [0] is not looked at
  // elements, at most 256; [0] a multiple of 16 bytes; if swizzled, exactly a row
  std::uint32_t box[tensor_dimensions] = {};
  swizzle pattern = swizzle::none;
};

// The same in the form of the executor that encoded it. A kernel gets it among its params.
struct alignas(128) tensor_map {
  std::uint64_t word[16];
};

}  // namespace antiphase
