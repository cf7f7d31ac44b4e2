// SPDX-License-Identifier: Apache-2.0
// Thrust under the checker: functions, placeholders, random numbers, policies.
#pragma once
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "thrust_iterators.h"

#include <antiphase/plain/letters.h>

namespace thrust {

// functions
// -----------------------------------------------------------------------------------------------------------
using std::bit_and;
using std::bit_or;
using std::bit_xor;
using std::divides;
using std::equal_to;
using std::greater;
using std::greater_equal;
using std::less;
using std::less_equal;
using std::logical_and;
using std::logical_not;
using std::logical_or;
using std::minus;
using std::modulus;
using std::multiplies;
using std::negate;
using std::not_equal_to;
using std::plus;
#define AP_FUNCTION(name, ...)                                                            \
  template <class T = void> struct name {                                                 \
    typedef T result_type;                                                                \
    constexpr T operator()(const T& a, const T& b) const { return __VA_ARGS__; }          \
  };                                                                                      \
  template <> struct name<void> {                                                         \
    template <class A, class B> constexpr auto operator()(const A& a, const B& b) const { \
      return __VA_ARGS__;                                                                 \
    }                                                                                     \
  };
AP_FUNCTION(maximum, a < b ? b : a)
AP_FUNCTION(minimum, b < a ? b : a)
AP_FUNCTION(project1st, ((void)b, a))
AP_FUNCTION(project2nd, ((void)a, b))
#undef AP_FUNCTION
template <class T = void> struct identity {
  constexpr const T& operator()(const T& a) const { return a; }
};
template <> struct identity<void> {
  template <class A> constexpr A operator()(const A& a) const { return a; }
};
template <class T = void> struct square {
  constexpr T operator()(const T& a) const { return a * a; }
};
template <class A, class R> struct unary_function {
  typedef A argument_type;
  typedef R result_type;
};
template <class A, class B, class R> struct binary_function {
  typedef A first_argument_type;
  typedef B second_argument_type;
  typedef R result_type;
};
template <class F> auto not_fn(F f) { return std::not_fn(f); }
template <class F> auto not1(F f) { return std::not_fn(f); }
template <class F> auto not2(F f) { return std::not_fn(f); }

// _1 * 2 + _2
namespace placeholders {
template <class F> struct expression {
  F f;
  template <class... A> constexpr auto operator()(const A&... a) const { return f(a...); }
};
template <class F> expression(F) -> expression<F>;
template <class T> constexpr auto value(const T& v) {
  return [v](const auto&...) { return v; };
}
template <class F> constexpr auto value(const expression<F>& e) { return e; }
template <class T> constexpr bool is_expression = false;
template <class F> constexpr bool is_expression<expression<F>> = true;
#define AP_BINARY(op)                                                                                       \
  template <class A, class B>                                                                               \
  requires(is_expression<A> || is_expression<B>) constexpr auto operator op(const A& a, const B& b) {       \
    return expression{[x = value(a), y = value(b)](const auto&... all) { return x(all...) op y(all...); }}; \
  }
AP_BINARY(+)
AP_BINARY(-)
AP_BINARY(*)
AP_BINARY(/)
AP_BINARY(%)
AP_BINARY(<)
AP_BINARY(>)
AP_BINARY(<=)
AP_BINARY(>=)
AP_BINARY(==)
AP_BINARY(!=)
AP_BINARY(&&)
AP_BINARY(||)
AP_BINARY(&)
AP_BINARY(|)
#undef AP_BINARY
template <class F> constexpr auto operator-(const expression<F>& e) {
  return expression{[e](const auto&... all) { return -e(all...); }};
}
template <class F> constexpr auto operator!(const expression<F>& e) {
  return expression{[e](const auto&... all) { return !e(all...); }};
}
constexpr expression _1{[](const auto& a, const auto&...) { return a; }};
constexpr expression _2{[](const auto&, const auto& b, const auto&...) { return b; }};
constexpr expression _3{[](const auto&, const auto&, const auto& c, const auto&...) { return c; }};
}  // namespace placeholders

using std::minstd_rand;
using std::minstd_rand0;
using std::normal_distribution;
using std::ranlux24;
using std::ranlux48;
using std::uniform_int_distribution;
using std::uniform_real_distribution;
using default_random_engine = std::minstd_rand;
namespace random {
using thrust::default_random_engine;
using thrust::minstd_rand;
using thrust::minstd_rand0;
using thrust::normal_distribution;
using thrust::uniform_int_distribution;
using thrust::uniform_real_distribution;
}  // namespace random
template <class T> using complex = std::complex<T>;
using std::abs;
using std::arg;
using std::conj;
using std::exp;
using std::norm;
using std::polar;

// policies
// -----------------------------------------------------------------------------------------------------------
namespace detail {
struct policy {
  system where = system::device;
  cudaStream_t stream = nullptr;
  ap::after_it then = ap::after_it::host_waits;
  policy on(cudaStream_t s) const { return {where, s, then}; }
  template <class Allocator> policy operator()(Allocator&&) const { return *this; }
};
template <class T> constexpr bool is_policy = std::is_base_of_v<policy, T>;
template <class... A> AP_VERB policy policy_of() {
  system s = system::none;
  ((s = both(s, system_of<A>::is)), ...);
  return {s == system::none ? system::device : s};
}
// f() as an operation on the policy's stream. Its value is there when the host goes on.
template <class F> AP_VERB auto run(const policy& p, const char* name, const F& f) {
  if (p.where != system::device || ap::on_device()) return f();
  if constexpr (std::is_void_v<decltype(f())>) {
    ap::library_kernel(name, p.stream, p.then, f);
  } else {
    using R = decltype(f());
    alignas(R) unsigned char bytes[sizeof(R)];
    ap::library_kernel(name, p.stream, ap::after_it::host_waits, [&] { new (bytes) R(f()); });
    R& r = *std::launder(reinterpret_cast<R*>(bytes));
    R value = std::move(r);
    r.~R();
    return value;
  }
}
}  // namespace detail
constexpr detail::policy device{}, seq{detail::system::host}, host{detail::system::host};
template <class = void> using execution_policy = detail::policy;
template <class = void> using device_execution_policy = detail::policy;
template <class = void> using host_execution_policy = detail::policy;
namespace cuda {
constexpr detail::policy par{},
    par_nosync{detail::system::device, nullptr, antiphase::plain::after_it::host_goes_on};
template <class = void> using execution_policy = detail::policy;
}  // namespace cuda
namespace cuda_cub = cuda;
namespace omp {
constexpr detail::policy par{detail::system::host};
}
namespace cpp {
constexpr detail::policy par{detail::system::host};
}
namespace system {
namespace cuda = thrust::cuda;
namespace omp = thrust::omp;
namespace cpp = thrust::cpp;
}  // namespace system

}  // namespace thrust

#include <antiphase/plain/letters.h>
