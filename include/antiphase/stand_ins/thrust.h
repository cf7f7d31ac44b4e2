// SPDX-License-Identifier: Apache-2.0
// Thrust under the checker: vectors, policies and algorithms. An algorithm on device memory is one operation
// on its stream; functors are called as in a kernel.
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

AP_ALGORITHM(class I, class L) void stable_sort(const policy& p, I first, I last, L less) {
  run(p, "thrust::sort", [&] {
    auto all = fetched(first, last - first);
    std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return less(a.v, b.v); });
    stored(first, all);
  });
}
AP_ALGORITHM(class I) void stable_sort(const policy& p, I first, I last) {
  stable_sort(p, first, last, std::less<>());
}
AP_ALGORITHM(class I, class... L) void sort(const policy& p, I first, I last, L... less) {
  stable_sort(p, first, last, less...);
}
AP_DEFAULT(stable_sort)
AP_DEFAULT(sort)
AP_ALGORITHM(class K, class V, class L)
void stable_sort_by_key(const policy& p, K first, K last, V values, L less) {
  run(p, "thrust::sort_by_key", [&] {
    const auto keys = fetched(first, last - first);
    const auto old = fetched(values, last - first);
    std::vector<std::size_t> order(keys.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return less(keys[a].v, keys[b].v); });
    made(first, last - first, [&](std::size_t i) { return keys[order[i]].v; });
    made(values, last - first, [&](std::size_t i) { return old[order[i]].v; });
  });
}
AP_ALGORITHM(class K, class V) void stable_sort_by_key(const policy& p, K first, K last, V values) {
  stable_sort_by_key(p, first, last, values, std::less<>());
}
AP_ALGORITHM(class K, class V, class... L)
void sort_by_key(const policy& p, K first, K last, V values, L... less) {
  stable_sort_by_key(p, first, last, values, less...);
}
AP_DEFAULT(stable_sort_by_key)
AP_DEFAULT(sort_by_key)
AP_ALGORITHM(class I, class L) bool is_sorted(const policy& p, I first, I last, L less) {
  return run(p, "thrust::is_sorted", [&] {
    const auto all = fetched(first, last - first);
    return std::is_sorted(all.begin(), all.end(),
                          [&](const auto& a, const auto& b) { return less(a.v, b.v); });
  });
}
AP_ALGORITHM(class I) bool is_sorted(const policy& p, I first, I last) {
  return is_sorted(p, first, last, std::less<>());
}
AP_DEFAULT(is_sorted)

namespace detail {
template <class T, class I, class Out, class F, class Op>
AP_VERB Out scan(const char* name, const policy& p, I first, I last, Out out, F f, const T* init, Op op,
                 bool inclusive) {
  run(p, name, [&] {
    auto in = fetched(first, last - first);
    bool any = init != nullptr;
    T sum{};
    if (any) sum = *init;
    made(out, last - first, [&](std::size_t i) {
      const T before = sum;
      const T v = static_cast<T>(f(in[i].v));
      sum = any ? static_cast<T>(op(sum, v)) : v;
      any = true;
      return inclusive ? sum : before;
    });
  });
  return out + (last - first);
}
template <class K, class I, class Out, class T, class Same, class Op>
AP_VERB Out scan_by_key(const char* name, const policy& p, K first, K last, I values, Out out, const T& init,
                        Same same, Op op, bool inclusive) {
  run(p, name, [&] {
    const auto keys = fetched(first, last - first);
    const auto in = fetched(values, last - first);
    T sum = init;
    made(out, last - first, [&](std::size_t i) {
      const bool fresh = i == 0 || !same(keys[i - 1].v, keys[i].v);
      if (inclusive) return sum = fresh ? static_cast<T>(in[i].v) : static_cast<T>(op(sum, in[i].v));
      const T before = fresh ? init : sum;
      sum = static_cast<T>(op(before, in[i].v));
      return before;
    });
  });
  return out + (last - first);
}
}  // namespace detail
AP_ALGORITHM(class I, class Out, class Op)
Out inclusive_scan(const policy& p, I first, I last, Out out, Op op) {
  return detail::scan<value_of<I>>("thrust::inclusive_scan", p, first, last, out, identity<>(), nullptr, op,
                                   true);
}
AP_ALGORITHM(class I, class Out) Out inclusive_scan(const policy& p, I first, I last, Out out) {
  return inclusive_scan(p, first, last, out, std::plus<>());
}
AP_ALGORITHM(class I, class Out, class T, class Op)
Out exclusive_scan(const policy& p, I first, I last, Out out, T init, Op op) {
  return detail::scan<T>("thrust::exclusive_scan", p, first, last, out, identity<>(), &init, op, false);
}
AP_ALGORITHM(class I, class Out, class T)
Out exclusive_scan(const policy& p, I first, I last, Out out, T init) {
  return exclusive_scan(p, first, last, out, init, std::plus<>());
}
AP_ALGORITHM(class I, class Out) Out exclusive_scan(const policy& p, I first, I last, Out out) {
  return exclusive_scan(p, first, last, out, value_of<I>{}, std::plus<>());
}
AP_ALGORITHM(class I, class Out, class F, class Op)
Out transform_inclusive_scan(const policy& p, I first, I last, Out out, F f, Op op) {
  return detail::scan<value_of<transform_iterator<F, I>>>("thrust::transform_inclusive_scan", p, first, last,
                                                          out, f, nullptr, op, true);
}
AP_ALGORITHM(class I, class Out, class F, class T, class Op)
Out transform_exclusive_scan(const policy& p, I first, I last, Out out, F f, T init, Op op) {
  return detail::scan<T>("thrust::transform_exclusive_scan", p, first, last, out, f, &init, op, false);
}
AP_ALGORITHM(class K, class I, class Out, class Same = std::equal_to<>, class Op = std::plus<>)
Out inclusive_scan_by_key(const policy& p, K first, K last, I values, Out out, Same same = {}, Op op = {}) {
  return detail::scan_by_key("thrust::inclusive_scan_by_key", p, first, last, values, out, value_of<I>{},
                             same, op, true);
}
AP_ALGORITHM(class K, class I, class Out, class T, class Same = std::equal_to<>, class Op = std::plus<>)
Out exclusive_scan_by_key(const policy& p, K first, K last, I values, Out out, T init, Same same = {},
                          Op op = {}) {
  return detail::scan_by_key("thrust::exclusive_scan_by_key", p, first, last, values, out, init, same, op,
                             false);
}
AP_ALGORITHM(class K, class I, class Out)
Out exclusive_scan_by_key(const policy& p, K first, K last, I values, Out out) {
  return exclusive_scan_by_key(p, first, last, values, out, value_of<I>{});
}
AP_DEFAULT(inclusive_scan)
AP_DEFAULT(exclusive_scan)
AP_DEFAULT(transform_inclusive_scan)
AP_DEFAULT(transform_exclusive_scan)
AP_DEFAULT(inclusive_scan_by_key)
AP_DEFAULT(exclusive_scan_by_key)
AP_ALGORITHM(class K, class V, class KO, class VO, class Same = std::equal_to<>, class Op = std::plus<>)
std::pair<KO, VO> reduce_by_key(const policy& p, K first, K last, V values, KO keys_out, VO values_out,
                                Same same = {}, Op op = {}) {
  const std::ptrdiff_t n = run(p, "thrust::reduce_by_key", [&] {
    const auto keys = fetched(first, last - first);
    const auto in = fetched(values, last - first);
    detail::values<value_of<K>> k;
    detail::values<value_of<V>> v;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (i == 0 || !same(keys[i - 1].v, keys[i].v))
        k.push_back(keys[i]), v.push_back(in[i]);
      else
        v.back().v = static_cast<value_of<V>>(op(v.back().v, in[i].v));
    stored(keys_out, k);
    stored(values_out, v);
    return static_cast<std::ptrdiff_t>(k.size());
  });
  return {keys_out + n, values_out + n};
}
AP_DEFAULT(reduce_by_key)

// Those of [first, last) that keep(i) takes, to `out`; the others to `rest`.
namespace detail {
template <class I, class Out, class F>
AP_VERB Out filtered(const char* name, const policy& p, I first, I last, Out out, const F& keep) {
  return out + run(p, name, [&] {
           const auto in = fetched(first, last - first);
           values<value_of<I>> some;
           for (std::size_t i = 0; i < in.size(); ++i)
             if (keep(in, i)) some.push_back(in[i]);
           stored(out, some);
           return static_cast<std::ptrdiff_t>(some.size());
         });
}
}  // namespace detail
AP_ALGORITHM(class I, class Out, class F) Out copy_if(const policy& p, I first, I last, Out out, F f) {
  return detail::filtered("thrust::copy_if", p, first, last, out,
                          [&](auto& in, std::size_t i) { return f(in[i].v); });
}
AP_ALGORITHM(class I, class S, class Out, class F)
Out copy_if(const policy& p, I first, I last, S stencil, Out out, F f) {
  return detail::filtered("thrust::copy_if", p, first, last, out, [&](auto&, std::size_t i) {
    return f(value_at(stencil + static_cast<std::ptrdiff_t>(i)));
  });
}
AP_ALGORITHM(class I, class Out, class F) Out remove_copy_if(const policy& p, I first, I last, Out out, F f) {
  return detail::filtered("thrust::remove_copy_if", p, first, last, out,
                          [&](auto& in, std::size_t i) { return !f(in[i].v); });
}
AP_ALGORITHM(class I, class F) I remove_if(const policy& p, I first, I last, F f) {
  return detail::filtered("thrust::remove_if", p, first, last, first,
                          [&](auto& in, std::size_t i) { return !f(in[i].v); });
}
template <class I, class S, class F>
requires(!std::is_invocable_v<S, value_of<I>>) AP_VERB I
    remove_if(const policy& p, I first, I last, S stencil, F f) {
  return detail::filtered("thrust::remove_if", p, first, last, first, [&](auto&, std::size_t i) {
    return !f(value_at(stencil + static_cast<std::ptrdiff_t>(i)));
  });
}
AP_ALGORITHM(class I, class T) I remove(const policy& p, I first, I last, const T& v) {
  return remove_if(p, first, last, [&](const auto& a) { return a == v; });
}
AP_ALGORITHM(class I, class Out, class Same = std::equal_to<>)
Out unique_copy(const policy& p, I first, I last, Out out, Same same = {}) {
  return detail::filtered("thrust::unique", p, first, last, out,
                          [&](auto& in, std::size_t i) { return i == 0 || !same(in[i - 1].v, in[i].v); });
}
AP_ALGORITHM(class I, class Same = std::equal_to<>)
I unique(const policy& p, I first, I last, Same same = {}) {
  return unique_copy(p, first, last, first, same);
}
AP_ALGORITHM(class K, class V, class Same = std::equal_to<>)
std::pair<K, V> unique_by_key(const policy& p, K first, K last, V values, Same same = {}) {
  return reduce_by_key(p, first, last, values, first, values, same,
                       [](const auto& a, const auto&) { return a; });
}
AP_ALGORITHM(class I, class F) I stable_partition(const policy& p, I first, I last, F f) {
  return first + run(p, "thrust::partition", [&] {
           auto all = fetched(first, last - first);
           const auto middle = std::stable_partition(all.begin(), all.end(), [&](auto& v) { return f(v.v); });
           stored(first, all);
           return middle - all.begin();
         });
}
AP_ALGORITHM(class I, class F) I partition(const policy& p, I first, I last, F f) {
  return stable_partition(p, first, last, f);
}
AP_DEFAULT(copy_if)
AP_DEFAULT(remove_copy_if)
AP_DEFAULT(remove_if)
AP_DEFAULT(remove)
AP_DEFAULT(unique_copy)
AP_DEFAULT(unique)
AP_DEFAULT(unique_by_key)
AP_DEFAULT(stable_partition)
AP_DEFAULT(partition)

AP_ALGORITHM(class I, class F, class T) void replace_if(const policy& p, I first, I last, F f, const T& v) {
  run(p, "thrust::replace", [&] {
    for (std::ptrdiff_t i = 0; i < last - first; ++i)
      if (f(value_at(first + i))) detail::put_at(first + i, v);
  });
}
AP_ALGORITHM(class I, class T) void replace(const policy& p, I first, I last, const T& old, const T& v) {
  replace_if(
      p, first, last, [&](const auto& a) { return a == old; }, v);
}
AP_ALGORITHM(class M, class I, class Out) Out gather(const policy& p, M first, M last, I from, Out out) {
  run(p, "thrust::gather", [&] {
    const auto map = fetched(first, last - first);
    made(out, last - first,
         [&](std::size_t i) { return value_at(from + static_cast<std::ptrdiff_t>(map[i].v)); });
  });
  return out + (last - first);
}
AP_ALGORITHM(class I, class M, class Out) void scatter(const policy& p, I first, I last, M map, Out out) {
  run(p, "thrust::scatter", [&] {
    for (std::ptrdiff_t i = 0; i < last - first; ++i)
      detail::put_at(out + static_cast<std::ptrdiff_t>(value_at(map + i)), value_at(first + i));
  });
}
AP_ALGORITHM(class I, class M, class S, class Out)
void scatter_if(const policy& p, I first, I last, M map, S stencil, Out out) {
  run(p, "thrust::scatter_if", [&] {
    for (std::ptrdiff_t i = 0; i < last - first; ++i)
      if (value_at(stencil + i))
        detail::put_at(out + static_cast<std::ptrdiff_t>(value_at(map + i)), value_at(first + i));
  });
}
AP_ALGORITHM(class I) void reverse(const policy& p, I first, I last) {
  run(p, "thrust::reverse", [&] {
    auto all = fetched(first, last - first);
    std::reverse(all.begin(), all.end());
    stored(first, all);
  });
}
AP_ALGORITHM(class I, class Out) Out reverse_copy(const policy& p, I first, I last, Out out) {
  run(p, "thrust::reverse_copy", [&] {
    auto all = fetched(first, last - first);
    std::reverse(all.begin(), all.end());
    stored(out, all);
  });
  return out + (last - first);
}
AP_ALGORITHM(class I, class Out, class Op = std::minus<>)
Out adjacent_difference(const policy& p, I first, I last, Out out, Op op = {}) {
  run(p, "thrust::adjacent_difference", [&] {
    const auto in = fetched(first, last - first);
    made(out, last - first, [&](std::size_t i) {
      return i == 0 ? in[0].v : static_cast<value_of<I>>(op(in[i].v, in[i - 1].v));
    });
  });
  return out + (last - first);
}
AP_ALGORITHM(class I, class J, class Out, class L = std::less<>)
Out merge(const policy& p, I a, I a_end, J b, J b_end, Out out, L less = {}) {
  run(p, "thrust::merge", [&] {
    auto x = fetched(a, a_end - a);
    const auto y = fetched(b, b_end - b);
    decltype(x) all(x.size() + y.size());
    std::merge(x.begin(), x.end(), y.begin(), y.end(), all.begin(),
               [&](const auto& u, const auto& v) { return less(u.v, v.v); });
    stored(out, all);
  });
  return out + ((a_end - a) + (b_end - b));
}
#define AP_SET(name)                                                                    \
  AP_ALGORITHM(class I, class J, class Out, class L = std::less<>)                      \
  Out name(const policy& p, I a, I a_end, J b, J b_end, Out out, L less = {}) {         \
    return out + run(p, "thrust::" #name, [&] {                                         \
             auto x = fetched(a, a_end - a);                                            \
             const auto y = fetched(b, b_end - b);                                      \
             decltype(x) all;                                                           \
             std::name(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(all), \
                       [&](const auto& u, const auto& v) { return less(u.v, v.v); });   \
             stored(out, all);                                                          \
             return static_cast<std::ptrdiff_t>(all.size());                            \
           });                                                                          \
  }                                                                                     \
  AP_DEFAULT(name)
AP_SET(set_intersection)
AP_SET(set_union)
AP_SET(set_difference)
AP_SET(set_symmetric_difference)
#undef AP_SET
AP_DEFAULT(replace_if)
AP_DEFAULT(replace)
AP_DEFAULT(gather)
AP_DEFAULT(scatter)
AP_DEFAULT(scatter_if)
AP_DEFAULT(reverse)
AP_DEFAULT(reverse_copy)
AP_DEFAULT(adjacent_difference)
AP_DEFAULT(merge)

// Of one value, or of each in a range.
namespace detail {
template <class I, class T, class L>
AP_VERB std::ptrdiff_t bound(I first, I last, const T& v, L less, bool upper) {
  std::ptrdiff_t low = 0, n = last - first;
  while (n > 0) {
    const std::ptrdiff_t half = n / 2;
    const auto at = value_at(first + (low + half));
    if (upper ? !less(v, at) : less(at, v))
      low += half + 1, n -= half + 1;
    else
      n = half;
  }
  return low;
}
template <class I, class T, class L> AP_VERB bool found(I first, I last, const T& v, L less) {
  const std::ptrdiff_t at = bound(first, last, v, less, false);
  return at < last - first && !less(v, value_at(first + at));
}
}  // namespace detail
#define AP_SEARCH(name, One, found_at, of_each)                                           \
  template <class I, class T, class L>                                                    \
  AP_VERB One name(const policy& p, I first, I last, const T& v, L less) {                \
    return found_at run(p, "thrust::" #name, [&] { return of_each; });                    \
  }                                                                                       \
  AP_ALGORITHM(class I, class T) One name(const policy& p, I first, I last, const T& v) { \
    return name(p, first, last, v, std::less<>());                                        \
  }                                                                                       \
  AP_ALGORITHM(class I, class J, class Out, class L)                                      \
  Out name(const policy& p, I first, I last, J wanted, J wanted_end, Out out, L less) {   \
    run(p, "thrust::" #name, [&] {                                                        \
      const auto all = fetched(wanted, wanted_end - wanted);                              \
      made(out, wanted_end - wanted, [&](std::size_t i) {                                 \
        const auto& v = all[i].v;                                                         \
        return of_each;                                                                   \
      });                                                                                 \
    });                                                                                   \
    return out + (wanted_end - wanted);                                                   \
  }                                                                                       \
  AP_ALGORITHM(class I, class J, class Out)                                               \
  Out name(const policy& p, I first, I last, J wanted, J wanted_end, Out out) {           \
    return name(p, first, last, wanted, wanted_end, out, std::less<>());                  \
  }                                                                                       \
  AP_DEFAULT(name)
AP_SEARCH(lower_bound, I, first +, detail::bound(first, last, v, less, false))
AP_SEARCH(upper_bound, I, first +, detail::bound(first, last, v, less, true))
AP_SEARCH(binary_search, bool, , detail::found(first, last, v, less))
#undef AP_SEARCH
AP_ALGORITHM(class I, class J) J swap_ranges(const policy& p, I first, I last, J other) {
  run(p, "thrust::swap_ranges", [&] {
    const auto a = fetched(first, last - first);
    stored(first, fetched(other, last - first));
    stored(other, a);
  });
  return other + (last - first);
}
AP_DEFAULT(swap_ranges)
template <class I> auto distance(I first, I last) { return last - first; }
template <class I, class N> void advance(I& i, N n) { i = i + n; }
template <class I, class Out> AP_VERB Out uninitialized_copy(I first, I last, Out out) {
  return copy(first, last, out);
}
template <class I, class T> AP_VERB void uninitialized_fill(I first, I last, const T& v) {
  fill(first, last, v);
}
#undef AP_ALGORITHM
#undef AP_DEFAULT

// vectors
// -----------------------------------------------------------------------------------------------------------
template <class T> struct device_allocator { using value_type = T; };
template <class T> using device_malloc_allocator = device_allocator<T>;

namespace detail {
template <class T, ap::memory_kind Kind, class Pointer> class vector {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using iterator = Pointer;
  using const_iterator = Pointer;
  using pointer = Pointer;
  using reference = decltype(*std::declval<Pointer>());
  using const_reference = reference;
  static_assert(std::is_trivially_copyable_v<T> || std::is_copy_constructible_v<T>);

  vector() = default;
  AP_VERB explicit vector(std::size_t n) { resize(n); }
  AP_VERB vector(std::size_t n, const T& v) { resize(n, v); }
  AP_VERB vector(std::initializer_list<T> all) { assign(all.begin(), all.end()); }
  template <class I>
  requires(!std::is_integral_v<I>) AP_VERB vector(I first, I last) { assign(first, last); }
  AP_VERB vector(const vector& o) { assign(o.begin(), o.end()); }
  vector(vector&& o) noexcept { swap(o); }
  template <class Other>
  requires requires(const Other& o) { o.begin(), o.end(), o.size(); }
  AP_VERB vector(const Other& o) { assign(o.begin(), o.end()); }
  AP_VERB vector& operator=(const vector& o) {
    if (&o != this) assign(o.begin(), o.end());
    return *this;
  }
  vector& operator=(vector&& o) noexcept { return swap(o), *this; }
  template <class Other>
  requires requires(const Other& o) { o.begin(), o.end(), o.size(); }
  AP_VERB vector& operator=(const Other& o) { return assign(o.begin(), o.end()), *this; }
  AP_VERB ~vector() { give_back(at_); }

  template <class I>
  requires(!std::is_integral_v<I>) AP_VERB void assign(I first, I last) {
    make_room(static_cast<std::size_t>(std::distance(first, last)), 0);
    size_ = static_cast<std::size_t>(std::distance(first, last));
    if (size_ > 0) thrust::copy(first, last, device_ptr<T>(at_));
  }
  AP_VERB void assign(std::size_t n, const T& v) {
    clear();
    resize(n, v);
  }
  AP_VERB void resize(std::size_t n) {
    if constexpr (std::is_default_constructible_v<T>) resize(n, T());
  }
  AP_VERB void resize(std::size_t n, const T& v) {
    make_room(n, size_);
    if (n > size_)
      thrust::fill_n(device, device_ptr<T>(at_) + static_cast<std::ptrdiff_t>(size_), n - size_, v);
    size_ = n;
  }
  AP_VERB void reserve(std::size_t n) { make_room(n, size_); }
  AP_VERB void push_back(const T& v) {
    const T copy = v;
    if (size_ == room_) make_room(2 * size_ + 8, size_);
    resize(size_ + 1, copy);
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void shrink_to_fit() {}
  AP_VERB Pointer erase(Pointer first, Pointer last) {
    const std::vector<T> behind = host_copy(last, end());
    thrust::copy(behind.begin(), behind.end(), device_ptr<T>(raw_pointer_cast(first)));
    size_ -= static_cast<std::size_t>(last - first);
    return first;
  }
  AP_VERB Pointer erase(Pointer at) { return erase(at, at + 1); }
  template <class I>
  requires(!std::is_integral_v<I>) AP_VERB void insert(Pointer where, I first, I last) {
    const auto at = where - begin();
    const std::vector<T> behind = host_copy(where, end());
    const auto n = static_cast<std::size_t>(std::distance(first, last));
    resize(size_ + n);
    thrust::copy(first, last, device_ptr<T>(at_) + at);
    thrust::copy(behind.begin(), behind.end(), device_ptr<T>(at_) + at + static_cast<std::ptrdiff_t>(n));
  }
  void swap(vector& o) noexcept {
    std::swap(at_, o.at_);
    std::swap(size_, o.size_);
    std::swap(room_, o.room_);
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return room_; }
  bool empty() const { return size_ == 0; }
  Pointer begin() const { return Pointer(at_); }
  Pointer end() const { return begin() + static_cast<std::ptrdiff_t>(size_); }
  Pointer cbegin() const { return begin(); }
  Pointer cend() const { return end(); }
  auto rbegin() const { return thrust::make_reverse_iterator(end()); }
  auto rend() const { return thrust::make_reverse_iterator(begin()); }
  Pointer data() const { return begin(); }
  AP_VERB reference operator[](std::size_t i) const { return *(begin() + static_cast<std::ptrdiff_t>(i)); }
  AP_VERB reference front() const { return (*this)[0]; }
  AP_VERB reference back() const { return (*this)[size_ - 1]; }
  template <class Other> AP_VERB bool operator==(const Other& o) const {
    if (size() != o.size()) return false;
    const std::vector<T> mine = host_copy(begin(), end());
    std::vector<T> theirs(o.size());
    thrust::copy(o.begin(), o.end(), theirs.begin());
    return mine == theirs;
  }

 private:
  AP_VERB static std::vector<T> host_copy(Pointer first, Pointer last) {
    std::vector<T> all(static_cast<std::size_t>(last - first));
    thrust::copy(device_ptr<T>(raw_pointer_cast(first)), device_ptr<T>(raw_pointer_cast(last)), all.begin());
    return all;
  }
  AP_VERB static void give_back(T* p) {
    if (p != nullptr) cudaFree(p);
  }
  AP_VERB void make_room(std::size_t n, std::size_t keep) {
    if (n <= room_) return;
    void* fresh = nullptr;
    ap::allocate(&fresh, n * sizeof(T), Kind, ap::place::current());
    ap::owned_by_library(fresh);
    if (keep > 0)
      thrust::copy(device_ptr<T>(at_), device_ptr<T>(at_) + static_cast<std::ptrdiff_t>(keep),
                   device_ptr<T>(static_cast<T*>(fresh)));
    give_back(std::exchange(at_, static_cast<T*>(fresh)));
    room_ = n;
  }
  T* at_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};
}  // namespace detail
template <class T, class = void> using device_vector =
    detail::vector<T, ap::memory_kind::device, device_ptr<T>>;
template <class T, class = void> using universal_vector = detail::vector<T, ap::memory_kind::managed, T*>;
template <class T> using universal_ptr = T*;

template <class T, class = void> class host_vector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  host_vector() = default;
  host_vector(const std::vector<T>& o) : std::vector<T>(o) {}
  template <class U, ap::memory_kind K, class P> AP_VERB host_vector(const detail::vector<U, K, P>& o) {
    *this = o;
  }
  AP_VERB host_vector(device_ptr<T> first, device_ptr<T> last)
      : std::vector<T>(static_cast<std::size_t>(last - first)) {
    thrust::copy(first, last, this->begin());
  }
  template <class U, ap::memory_kind K, class P>
  AP_VERB host_vector& operator=(const detail::vector<U, K, P>& o) {
    this->resize(o.size());
    thrust::copy(o.begin(), o.end(), this->begin());
    return *this;
  }
};
template <class T> class device_new_allocator {};
template <class T = void> AP_VERB device_ptr<T> device_malloc(std::size_t n) {
  void* p = nullptr;
  ap::allocate(&p, n * sizeof(std::conditional_t<std::is_void_v<T>, char, T>), ap::memory_kind::device,
               ap::place::current());
  return device_ptr<T>(static_cast<T*>(p));
}
template <class T> AP_VERB device_ptr<T> device_new(std::size_t n = 1) { return device_malloc<T>(n); }
template <class T> AP_VERB void device_free(device_ptr<T> p) { cudaFree(p.get()); }
template <class T> AP_VERB void device_delete(device_ptr<T> p, std::size_t = 0) { cudaFree(p.get()); }

class system_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  template <class C> system_error(int, const C&, const std::string& what = {}) : std::runtime_error(what) {}
};
namespace system {
using thrust::system_error;
}
inline int cuda_category() { return 0; }
}  // namespace thrust

#include <antiphase/plain/cccl_version.h>
#define THRUST_VERSION 200200

#include <antiphase/plain/letters.h>
