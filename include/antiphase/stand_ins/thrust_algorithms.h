// SPDX-License-Identifier: Apache-2.0
// Thrust's algorithms under the checker: copies, transformations, sums. One on device memory is an operation on
// its stream; functors are called as in a kernel.
#pragma once
#include "thrust_functions.h"

#include <antiphase/plain/letters.h>

namespace thrust {

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

}  // namespace thrust

#include <antiphase/plain/letters.h>
