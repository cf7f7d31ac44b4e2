// SPDX-License-Identifier: Apache-2.0
// The rest of cuda::std, and what cuda has of this kind outside of it.
#pragma once
#include <algorithm>
#include <chrono>
#include <complex>
#include <functional>
#include <memory>
#include <numeric>
#include <ranges>
#include <string_view>
#include <variant>
#include <version>
#ifdef __cpp_lib_expected
#include <expected>
#endif

#include "cuda_std.h"

#include "letters.h"

namespace cuda {
struct maximum_of {
  template <class A, class B> constexpr auto operator()(const A& a, const B& b) const {
    return a < b ? b : a;
  }
};
struct minimum_of {
  template <class A, class B> constexpr auto operator()(const A& a, const B& b) const {
    return b < a ? b : a;
  }
};
template <class T = void> struct maximum : maximum_of {};
template <class T = void> struct minimum : minimum_of {};
template <class R, class F> constexpr F proclaim_return_type(F f) { return f; }
template <class F> constexpr F proclaim_copyable_arguments(F f) { return f; }
template <class A, class B> constexpr auto ceil_div(A a, B b) { return (a + b - 1) / b; }
template <class A, class B> constexpr auto round_up(A a, B b) { return (a + b - 1) / b * b; }
template <class A, class B> constexpr auto round_down(A a, B b) { return a / b * b; }
}  // namespace cuda

#include "letters.h"
