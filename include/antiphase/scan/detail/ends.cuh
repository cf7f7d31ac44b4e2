// SPDX-License-Identifier: Apache-2.0
// The types in memory at the two ends of a scan, and the functions before and after the operator.
#pragma once
#include <antiphase/scan/operators.hpp>

namespace antiphase::scans {
inline namespace AP_TARGET {

// No conversion. `calls`: whether user functions are called, which happens only for existing elements and
// stored results.
template <class T> struct as_they_are {
  static constexpr bool calls = false;
  using in = T;
  using out = T;
  AP_DEV static const T& before(const T& x) { return x; }
  AP_DEV static const T& after(const T& x) { return x; }
};

// T in memory, scanned as Value.
template <class T, class Value> struct converted {
  static constexpr bool calls = true;
  using in = T;
  using out = T;
  AP_DEV static Value before(const T& x) { return static_cast<Value>(x); }
  AP_DEV static T after(const Value& x) { return static_cast<T>(x); }
};

// Loaded as In, scanned as T, stored as Out.
template <scannable In, scannable T, scannable Out, class Before, class After> struct transformed {
  static constexpr bool calls = true;
  using in = In;
  using out = Out;
  AP_DEV static T before(const In& x) { return Before{}(x); }
  AP_DEV static Out after(const T& x) { return After{}(x); }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
