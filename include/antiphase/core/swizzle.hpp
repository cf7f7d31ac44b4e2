// How rows of shared memory are permuted so that a column of them does not fall into one bank.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

namespace antiphase {

// Rows of 32, 64 or 128 bytes, in pieces of 16; each row has its pieces in another order. The copy engine and Tensor Cores know these.
enum class swizzle : unsigned char { none, bytes_32, bytes_64, bytes_128 };

// Bytes of a row. None: a row is one piece.
AP_FN constexpr std::uint32_t width_of(swizzle s) { return 16u << static_cast<unsigned>(s); }
// Bytes after which the pattern repeats, and to which what it applies to is aligned.
AP_FN constexpr std::uint32_t period_of(swizzle s) { return 8 * width_of(s); }

// Where the byte of a shared address lies: the number of a piece in its row is crossed with bits 7 to 9, which count the 128 bytes.
AP_FN constexpr std::uint32_t swizzled(std::uint32_t address, swizzle s) { return address ^ (address >> 3 & (width_of(s) - 16)); }

}  // namespace antiphase
