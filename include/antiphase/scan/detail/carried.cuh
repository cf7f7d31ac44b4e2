// SPDX-License-Identifier: Apache-2.0
// The value that single-pass scans carry from tile to tile.
#pragma once
#include <antiphase/scan/operators.hpp>
#include <type_traits>

namespace antiphase::scans {
inline namespace AP_TARGET {

// The neutral element in every bit: for sums of floats -0, since +0 would turn -0 into +0.
template <class Op, class T> struct neutral_of {
  AP_DEV static T value() {
    if constexpr (std::is_same_v<Op, sum> && std::is_floating_point_v<T>)
      return -T(0);
    else
      return Op::template identity<T>();
  }
};
template <class Op, class T> AP_DEV T exact_identity() { return neutral_of<Op, T>::value(); }

// The type of the running total over batches of tiles: double for FP32 sums.
template <class Op, class T> struct carried_as { using type = T; };
template <> struct carried_as<sum, float> { using type = double; };

}  // namespace AP_TARGET
}  // namespace antiphase::scans
