// SPDX-License-Identifier: Apache-2.0
// Thrust under the checker: functions, placeholders, random numbers, policies, and the algorithms that copy,
// transform, reduce and find.
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

// algorithms
// -----------------------------------------------------------------------------------------------------------
#define AP_ALGORITHM(...) template <__VA_ARGS__> AP_VERB
#define AP_DEFAULT(name)                                                  \
  template <class I, class... A>                                          \
  requires(!detail::is_policy<I>) AP_VERB auto name(I first, A... rest) { \
    return name(detail::policy_of<I, A...>(), first, rest...);            \
  }
using detail::element_at;
using detail::fetched;
using detail::made;
using detail::policy;
using detail::run;
using detail::stored;
using detail::value_at;
using detail::value_of;

AP_ALGORITHM(class I, class Out) Out copy(const policy& p, I first, I last, Out out) {
  run(p, "thrust::copy", [&] { stored(out, fetched(first, last - first)); });
  return out + (last - first);
}
template <class I, class Out>
requires(!detail::is_policy<I>) AP_VERB Out copy(I first, I last, Out out) {
  constexpr auto from = detail::system_of<I>::is, to = detail::system_of<Out>::is;
  const auto n = static_cast<std::ptrdiff_t>(std::distance(first, last));
  constexpr bool from_device = from == detail::system::device, to_device = to == detail::system::device;
  if constexpr (from_device == to_device || from == detail::system::none || to == detail::system::none) {
    return copy(detail::policy_of<I, Out>(), first, last, out);
  } else if constexpr (from_device) {
    const auto all = run(device, "thrust::copy", [&] { return fetched(first, n); });
    for (const auto& v : all) *out++ = v.v;
    return out;
  } else {
    detail::values<typename std::iterator_traits<I>::value_type> all;
    for (; first != last; ++first) all.push_back({*first});
    run(device, "thrust::copy", [&] { made(out, n, [&](std::size_t i) { return all[i].v; }); });
    return out + n;
  }
}
AP_ALGORITHM(class I, class N, class Out) Out copy_n(const policy& p, I first, N n, Out out) {
  return copy(p, first, first + n, out);
}
template <class I, class N, class Out>
requires(!detail::is_policy<I>) AP_VERB Out copy_n(I first, N n, Out out) {
  return copy(first, std::next(first, n), out);
}
AP_ALGORITHM(class I, class N, class F) I for_each_n(const policy& p, I first, N n, F f) {
  run(p, "thrust::for_each", [&] {
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(n); ++i) f(element_at(first + i));
  });
  return first + n;
}
AP_ALGORITHM(class I, class F) I for_each(const policy& p, I first, I last, F f) {
  return for_each_n(p, first, last - first, f);
}
AP_DEFAULT(for_each_n)
AP_DEFAULT(for_each)
AP_ALGORITHM(class I, class N, class T) I fill_n(const policy& p, I first, N n, const T& v) {
  run(p, "thrust::fill",
      [&] { made(first, static_cast<std::ptrdiff_t>(n), [&](std::size_t) { return v; }); });
  return first + n;
}
AP_ALGORITHM(class I, class T) void fill(const policy& p, I first, I last, const T& v) {
  fill_n(p, first, last - first, v);
}
AP_DEFAULT(fill_n)
AP_DEFAULT(fill)
AP_ALGORITHM(class I, class T, class S) void sequence(const policy& p, I first, I last, T start, S step) {
  run(p, "thrust::sequence",
      [&] { made(first, last - first, [&](std::size_t i) { return start + static_cast<T>(i) * step; }); });
}
AP_ALGORITHM(class I, class T) void sequence(const policy& p, I first, I last, T start) {
  sequence(p, first, last, start, T(1));
}
AP_ALGORITHM(class I) void sequence(const policy& p, I first, I last) {
  sequence(p, first, last, value_of<I>(0), value_of<I>(1));
}
AP_DEFAULT(sequence)
AP_ALGORITHM(class I, class F) void tabulate(const policy& p, I first, I last, F f) {
  run(p, "thrust::tabulate",
      [&] { made(first, last - first, [&](std::size_t i) { return f(static_cast<std::ptrdiff_t>(i)); }); });
}
AP_DEFAULT(tabulate)
AP_ALGORITHM(class I, class F) void generate(const policy& p, I first, I last, F f) {
  run(p, "thrust::generate", [&] { made(first, last - first, [&](std::size_t) { return f(); }); });
}
template <class I, class F>
requires(!detail::is_policy<I>) AP_VERB void generate(I first, I last, F f) {  // also of the host's iterators
  if constexpr (detail::system_of<I>::is == detail::system::host)
    std::generate(first, last, f);
  else
    generate(device, first, last, f);
}
AP_ALGORITHM(class I, class Out, class F) Out transform(const policy& p, I first, I last, Out out, F f) {
  run(p, "thrust::transform", [&] {
    auto in = fetched(first, last - first);
    made(out, last - first, [&](std::size_t i) { return f(in[i].v); });
  });
  return out + (last - first);
}
AP_ALGORITHM(class I, class J, class Out, class F)
Out transform(const policy& p, I first, I last, J other, Out out, F f) {
  run(p, "thrust::transform", [&] {
    auto a = fetched(first, last - first);
    auto b = fetched(other, last - first);
    made(out, last - first, [&](std::size_t i) { return f(a[i].v, b[i].v); });
  });
  return out + (last - first);
}
AP_DEFAULT(transform)
AP_ALGORITHM(class I, class S, class Out, class F, class P)
Out transform_if(const policy& p, I first, I last, S stencil, Out out, F f, P chosen) {
  run(p, "thrust::transform_if", [&] {
    for (std::ptrdiff_t i = 0; i < last - first; ++i)
      if (chosen(value_at(stencil + i))) detail::put_at(out + i, f(value_at(first + i)));
  });
  return out + (last - first);
}
AP_ALGORITHM(class I, class Out, class F, class P)
Out transform_if(const policy& p, I first, I last, Out out, F f, P chosen) {
  return transform_if(p, first, last, first, out, f, chosen);
}
AP_DEFAULT(transform_if)

AP_ALGORITHM(class I, class T, class Op) T reduce(const policy& p, I first, I last, T init, Op op) {
  return run(p, "thrust::reduce", [&] { return detail::reduced(fetched(first, last - first), init, op); });
}
AP_ALGORITHM(class I, class T) T reduce(const policy& p, I first, I last, T init) {
  return reduce(p, first, last, init, std::plus<>());
}
AP_ALGORITHM(class I) value_of<I> reduce(const policy& p, I first, I last) {
  return reduce(p, first, last, value_of<I>{}, std::plus<>());
}
AP_DEFAULT(reduce)
AP_ALGORITHM(class I, class F, class T, class Op)
T transform_reduce(const policy& p, I first, I last, F f, T init, Op op) {
  return run(p, "thrust::transform_reduce", [&] {
    auto in = fetched(first, last - first);
    detail::values<std::remove_cvref_t<decltype(f(in[0].v))>> all;
    for (auto& v : in) all.push_back({f(v.v)});
    return detail::reduced(all, init, op);
  });
}
AP_DEFAULT(transform_reduce)
AP_ALGORITHM(class I, class J, class T, class Op, class F)
T inner_product(const policy& p, I first, I last, J other, T init, Op op, F f) {
  return run(p, "thrust::inner_product", [&] {
    const auto a = fetched(first, last - first);
    const auto b = fetched(other, last - first);
    detail::values<T> all;
    for (std::size_t i = 0; i < a.size(); ++i) all.push_back({static_cast<T>(f(a[i].v, b[i].v))});
    return detail::reduced(all, init, op);
  });
}
AP_ALGORITHM(class I, class J, class T) T inner_product(const policy& p, I first, I last, J other, T init) {
  return inner_product(p, first, last, other, init, std::plus<>(), std::multiplies<>());
}
AP_DEFAULT(inner_product)
AP_ALGORITHM(class I, class F) std::ptrdiff_t count_if(const policy& p, I first, I last, F f) {
  return run(p, "thrust::count_if", [&] {
    std::ptrdiff_t n = 0;
    for (auto& v : fetched(first, last - first)) n += f(v.v) ? 1 : 0;
    return n;
  });
}
AP_ALGORITHM(class I, class T) std::ptrdiff_t count(const policy& p, I first, I last, const T& v) {
  return count_if(p, first, last, [&](const auto& a) { return a == v; });
}
AP_DEFAULT(count_if)
AP_DEFAULT(count)
AP_ALGORITHM(class I, class F) I find_if(const policy& p, I first, I last, F f) {
  return first + run(p, "thrust::find_if", [&] {
           std::ptrdiff_t i = 0;
           while (i < last - first && !f(value_at(first + i))) ++i;
           return i;
         });
}
AP_ALGORITHM(class I, class F) I find_if_not(const policy& p, I first, I last, F f) {
  return find_if(p, first, last, std::not_fn(f));
}
AP_ALGORITHM(class I, class T) I find(const policy& p, I first, I last, const T& v) {
  return find_if(p, first, last, [&](const auto& a) { return a == v; });
}
AP_DEFAULT(find_if)
AP_DEFAULT(find_if_not)
AP_DEFAULT(find)
AP_ALGORITHM(class I, class F) bool any_of(const policy& p, I first, I last, F f) {
  return find_if(p, first, last, f) != last;
}
AP_ALGORITHM(class I, class F) bool none_of(const policy& p, I first, I last, F f) {
  return find_if(p, first, last, f) == last;
}
AP_ALGORITHM(class I, class F) bool all_of(const policy& p, I first, I last, F f) {
  return find_if(p, first, last, std::not_fn(f)) == last;
}
AP_DEFAULT(any_of)
AP_DEFAULT(none_of)
AP_DEFAULT(all_of)
AP_ALGORITHM(class I, class J, class F) bool equal(const policy& p, I first, I last, J other, F same) {
  return run(p, "thrust::equal", [&] {
    for (std::ptrdiff_t i = 0; i < last - first; ++i)
      if (!same(value_at(first + i), value_at(other + i))) return false;
    return true;
  });
}
AP_ALGORITHM(class I, class J) bool equal(const policy& p, I first, I last, J other) {
  return equal(p, first, last, other, std::equal_to<>());
}
AP_DEFAULT(equal)
AP_ALGORITHM(class I, class L) I max_element(const policy& p, I first, I last, L less) {
  return first + run(p, "thrust::max_element", [&] {
           const auto all = fetched(first, last - first);
           return std::max_element(all.begin(), all.end(),
                                   [&](const auto& a, const auto& b) { return less(a.v, b.v); }) -
                  all.begin();
         });
}
AP_ALGORITHM(class I, class L) I min_element(const policy& p, I first, I last, L less) {
  return first + run(p, "thrust::min_element", [&] {
           const auto all = fetched(first, last - first);
           return std::min_element(all.begin(), all.end(),
                                   [&](const auto& a, const auto& b) { return less(a.v, b.v); }) -
                  all.begin();
         });
}
AP_ALGORITHM(class I) I max_element(const policy& p, I first, I last) {
  return max_element(p, first, last, std::less<>());
}
AP_ALGORITHM(class I) I min_element(const policy& p, I first, I last) {
  return min_element(p, first, last, std::less<>());
}
AP_DEFAULT(max_element)
AP_DEFAULT(min_element)
AP_ALGORITHM(class I, class L) std::pair<I, I> minmax_element(const policy& p, I first, I last, L less) {
  return {min_element(p, first, last, less), max_element(p, first, last, less)};
}
AP_ALGORITHM(class I) std::pair<I, I> minmax_element(const policy& p, I first, I last) {
  return minmax_element(p, first, last, std::less<>());
}
AP_DEFAULT(minmax_element)

}  // namespace thrust

#include <antiphase/plain/letters.h>
