// What the copy engine has to know of a tensor in global memory.
#pragma once
#include <antiphase/core/swizzle.hpp>
#include <cstdint>

namespace antiphase {

constexpr int tensor_dimensions = 4;  // at most

// A tensor, and the box of it that one copy brings to shared memory. The innermost dimension comes first; its elements are neighbours.
struct tensor_layout {
  const void* data = nullptr;                    // of the executor's memory, aligned to 16 bytes
  int element_bytes = 2;                         // 1, 2, 4 or 8
  int dimensions = 2;                            // 2 to 4
  std::uint64_t extent[tensor_dimensions] = {};  // elements
  std::uint64_t stride[tensor_dimensions] = {};  // bytes, multiples of 16; [0] is not looked at
  std::uint32_t box[tensor_dimensions] = {};     // elements, at most 256; [0] a multiple of 16 bytes; if swizzled, exactly a row
  swizzle pattern = swizzle::none;
};

// The same in the form of the executor that encoded it. A kernel gets it among its params.
struct alignas(128) tensor_map {
  std::uint64_t word[16];
};

}  // namespace antiphase
