// SPDX-License-Identifier: Apache-2.0
// What lies in memory at the two ends of a scan, and the functions on the way: before the operator, and
// behind it.
#pragma once
#include <antiphase/scan/operators.hpp>

namespace antiphase::scans {
inline namespace AP_TARGET {

// Elements that are scanned as they lie, and results that are written as they are. `calls`: whether functions
// of the user are called, which see nothing but elements that are there and results that are written.
template <class T> struct as_they_are {
  static constexpr bool calls = false;
  using in = T;
  using out = T;
  AP_DEV static const T& before(const T& x) { return x; }
  AP_DEV static const T& after(const T& x) { return x; }
};

// In memory In, scanned as T, written as Out.
template <scannable In, scannable T, scannable Out, class Before, class After> struct transformed {
  static constexpr bool calls = true;
  using in = In;
  using out = Out;
  AP_DEV static T before(const In& x) { return Before{}(x); }
  AP_DEV static Out after(const T& x) { return After{}(x); }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
