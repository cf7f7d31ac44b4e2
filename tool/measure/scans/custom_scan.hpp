// SPDX-License-Identifier: Apache-2.0
// Element types of `bench scan --own`: 4 to 32 bytes, with an operator of their own, as a user of
// <antiphase/scan.cuh> would write them.
#pragma once
#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/core/portable.hpp>
#include <cstddef>
#include <cstdint>

namespace antiphase::tool {

// Maps x -> x + offset or, if it flips, x -> offset - x, with N independent offsets. Aligned for the widest
// accesses that its size allows.
template <class Word, int N>
struct alignas(std::min<std::size_t>(sizeof(Word) * (N + 1) & -(sizeof(Word) * (N + 1)), 16)) turn {
  Word flips;  // 0, or all bits
  Word offset[N];
  bool operator==(const turn&) const = default;
};
// Composition, first x, then y: associative, not commutative, a few instructions. Exact, since integers wrap
// around. No element is lost in a result: omitting one changes all results after it.
struct one_turn_after_the_other {
  template <class Word, int N>
  AP_FN turn<Word, N> operator()(const turn<Word, N>& x, const turn<Word, N>& y) const {
    turn<Word, N> both;
    both.flips = static_cast<Word>(x.flips ^ y.flips);
    AP_UNROLL
    for (int i = 0; i < N; ++i)
      both.offset[i] = static_cast<Word>((x.offset[i] ^ y.flips) - y.flips + y.offset[i]);
    return both;
  }
};

// Sizes of the elements, in bytes.
inline constexpr int custom_sizes[] = {4, 8, 16, 24, 32};
// Returns visit.operator()<T>() for the element type of `size` bytes, one of custom_sizes.
template <class Visit> auto with_custom_element(int size, Visit visit) {
  switch (size) {
    case 4: return visit.template operator()<turn<std::uint16_t, 1>>();
    case 8: return visit.template operator()<turn<std::uint32_t, 1>>();
    case 16: return visit.template operator()<turn<std::uint64_t, 1>>();
    case 24: return visit.template operator()<turn<std::uint64_t, 2>>();
    default: return visit.template operator()<turn<std::uint64_t, 3>>();
  }
}

// inclusive_scan of `count` elements of `size` bytes in memory of `where`, for the CPU executor and for GPUs;
// `policy` is the policy that it follows.
struct custom_scan {
  launch_counts (*run)(const context& where, int size, const void* in, void* out, std::int64_t count,
                       stream on);
  const char* (*policy)(const context& where, int size, std::int64_t count);
};
namespace cpu {
custom_scan custom_scan_kernels();
}
namespace cuda {
custom_scan custom_scan_kernels();
}

}  // namespace antiphase::tool
