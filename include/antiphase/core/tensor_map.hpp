// SPDX-License-Identifier: Apache-2.0
// Tensors in global memory as TMA takes them, and the swizzle of their rows in shared memory.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

namespace antiphase {

// Swizzles of shared memory, as supported by TMA and Tensor Cores: rows of 32, 64 or 128 bytes have their
// pieces of 16 bytes in an order that depends on the row, so that a column of pieces has no bank conflict.
enum class swizzle : unsigned char { none, bytes_32, bytes_64, bytes_128 };

// Bytes of a row. none: a row is one piece.
AP_FN constexpr std::uint32_t width_of(swizzle s) { return 16u << static_cast<unsigned>(s); }
// Bytes after which the pattern repeats; swizzled memory is aligned to them.
AP_FN constexpr std::uint32_t period_of(swizzle s) { return 8 * width_of(s); }

// The swizzled address of a byte in shared memory: the index of the piece in its row is XORed with bits 7 to
// 9 of the address, which count units of 128 bytes.
AP_FN constexpr std::uint32_t swizzled(std::uint32_t address, swizzle s) {
  return address ^ (address >> 3 & (width_of(s) - 16));
}

constexpr int tensor_dimensions = 5;  // at most

// A tensor, and the box of it that one TMA copy moves. The innermost dimension comes first; its elements are
// contiguous. executor::encode() makes a tensor_map of it.
struct tensor_layout {
  const void* data = nullptr;                    // memory of the executor, aligned to 16 bytes
  int element_bytes = 2;                         // 1, 2, 4 or 8
  int dimensions = 2;                            // 2 to 5
  std::uint64_t extent[tensor_dimensions] = {};  // elements
  std::uint64_t stride[tensor_dimensions] = {};  // bytes, multiples of 16; [0] is ignored
  // elements, at most 256; [0] a multiple of 16 bytes; if swizzled, exactly a row
  std::uint32_t box[tensor_dimensions] = {};
  swizzle pattern = swizzle::none;
};

// A tensor_layout as encoded by an executor. Passed to a kernel in its params.
struct alignas(128) tensor_map {
  std::uint64_t word[16];
};

}  // namespace antiphase
