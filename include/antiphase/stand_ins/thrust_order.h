// SPDX-License-Identifier: Apache-2.0
// Thrust's algorithms under the checker that sort, scan, filter, merge and search.
#pragma once
#include "thrust_algorithms.h"

#include <antiphase/plain/letters.h>

namespace thrust {

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
// Thrust's CUDA backend makes the second range's values such of the first one's type, and so do these.
#define AP_OF_TWO(name)                                                                 \
  AP_ALGORITHM(class I, class J, class Out, class L = std::less<>)                      \
  Out name(const policy& p, I a, I a_end, J b, J b_end, Out out, L less = {}) {         \
    return out + run(p, "thrust::" #name, [&] {                                         \
             const auto x = fetched(a, a_end - a);                                      \
             const auto y = detail::fetched_as<value_of<I>>(b, b_end - b);              \
             detail::values<value_of<I>> all;                                           \
             std::name(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(all), \
                       [&](const auto& u, const auto& v) { return less(u.v, v.v); });   \
             stored(out, all);                                                          \
             return static_cast<std::ptrdiff_t>(all.size());                            \
           });                                                                          \
  }                                                                                     \
  AP_DEFAULT(name)
AP_OF_TWO(merge)
AP_OF_TWO(set_intersection)
AP_OF_TWO(set_union)
AP_OF_TWO(set_difference)
AP_OF_TWO(set_symmetric_difference)
#undef AP_OF_TWO
AP_DEFAULT(replace_if)
AP_DEFAULT(replace)
AP_DEFAULT(gather)
AP_DEFAULT(scatter)
AP_DEFAULT(scatter_if)
AP_DEFAULT(reverse)
AP_DEFAULT(reverse_copy)
AP_DEFAULT(adjacent_difference)

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

}  // namespace thrust

#include <antiphase/plain/letters.h>
