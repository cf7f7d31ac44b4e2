// SPDX-License-Identifier: Apache-2.0
// Numbers of the bulk reduction kernel: f(kind) for each update and type, with its operands and their places.
#pragma once
#include <antiphase/core/bulk_update.hpp>
#include <antiphase/core/portable.hpp>
#include <cstdint>
#include <type_traits>

namespace antiphase::probe {

constexpr int reduction_kinds = 15, reduction_words = 16;  // words of the output for each kind

template <bulk_update What, class T> struct reduction {
  static constexpr bulk_update update = What;
  using type = T;
};
template <class F> AP_FN constexpr void each_reduction(F f) {
  using enum bulk_update;
  f(0, reduction<add, std::uint32_t>());
  f(1, reduction<add, std::int32_t>());
  f(2, reduction<add, std::uint64_t>());
  f(3, reduction<add, float>());
  f(4, reduction<add, double>());
  f(5, reduction<min, std::int32_t>());
  f(6, reduction<min, std::int64_t>());
  f(7, reduction<min, std::uint32_t>());
  f(8, reduction<max, std::uint32_t>());
  f(9, reduction<max, std::int32_t>());
  f(10, reduction<max, std::uint64_t>());
  f(11, reduction<max, std::int64_t>());
  f(12, reduction<bit_or, std::uint32_t>());
  f(13, reduction<bit_xor, std::uint64_t>());
  f(14, reduction<bit_and, std::uint32_t>());
}

// Element i: the initial value (0) or the operand (1).
template <class T> AP_FN constexpr T reduced_number(int which, int i) {
  const auto mixed = static_cast<std::uint64_t>(i + 1) * 0x9E3779B97F4A7C15u +
                     static_cast<std::uint64_t>(which) * 0xD1B54A32D192ED03u;
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(static_cast<int>(mixed >> 40 & 1023) - 500) / 4;
  else
    return static_cast<T>(mixed >> (64 - 8 * sizeof(T)));
}

}  // namespace antiphase::probe
