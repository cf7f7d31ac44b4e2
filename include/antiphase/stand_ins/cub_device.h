// SPDX-License-Identifier: Apache-2.0
// CUB's algorithms for a whole device, under the checker: each is one operation on its stream, after the
// call that asks for the size of its temporary storage.
#pragma once
#include <algorithm>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <string_view>

#include "cub_block.h"
#include "thrust_iterators.h"

#include <antiphase/plain/letters.h>

namespace cub {

template <class T, class = std::ptrdiff_t> using CountingInputIterator = thrust::counting_iterator<T>;
template <class T, class = std::ptrdiff_t> using ConstantInputIterator = thrust::constant_iterator<T>;
template <class T, class F, class I, class = std::ptrdiff_t> class TransformInputIterator
    : public thrust::transform_iterator<F, I> {
 public:
  TransformInputIterator(I i, F f) : thrust::transform_iterator<F, I>(i, f) {}
};
template <CacheLoadModifier, class T, class = std::ptrdiff_t> using CacheModifiedInputIterator = T*;
template <CacheStoreModifier, class T, class = std::ptrdiff_t> using CacheModifiedOutputIterator = T*;
template <class T = void, class = std::ptrdiff_t> using DiscardOutputIterator = thrust::discard_iterator;
template <class I, class N = std::ptrdiff_t, class T = thrust::detail::value_of<I>>
class ArgIndexInputIterator : public thrust::steps<ArgIndexInputIterator<I, N, T>> {
 public:
  using value_type = KeyValuePair<N, T>;
  using reference = value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using iterator_category = std::random_access_iterator_tag;
  ArgIndexInputIterator(I i, std::ptrdiff_t at = 0) : i_(i), at_(at) {}
  value_type operator*() const { return ap_get(); }
  AP_VERB value_type ap_get() const {
    return {static_cast<N>(at_), static_cast<T>(thrust::detail::value_at(i_ + at_))};
  }
  void advance(std::ptrdiff_t n) { at_ += n; }
  std::ptrdiff_t away(const ArgIndexInputIterator& o) const { return at_ - o.at_; }

 private:
  I i_;
  std::ptrdiff_t at_;
};

namespace detail {
using thrust::detail::fetched;
using thrust::detail::made;
using thrust::detail::put_at;
using thrust::detail::stored;
using thrust::detail::value_at;
using thrust::detail::value_of;
using thrust::detail::values;

// Bytes of temporary storage: more for the algorithms that want more in CUB, so that the size of another one
// may not do.
inline std::size_t storage_for(std::string_view name) {
  std::size_t bytes = 767;
  for (const auto& [part, more] :
       std::initializer_list<std::pair<const char*, std::size_t>>{{"Scan", 256},
                                                                  {"ByKey", 512},
                                                                  {"Select", 512},
                                                                  {"Histogram", 768},
                                                                  {"Sort", 1024},
                                                                  {"Pairs", 256}})
    if (name.find(part) != name.npos) bytes += more;
  return bytes;
}
template <class F>
AP_VERB cudaError_t with_storage(void* temp, std::size_t& bytes, const char* name, cudaStream_t s, F f) {
  const std::size_t needed = storage_for(name);
  if (temp == nullptr) return bytes = needed, cudaSuccess;
  if (bytes < needed) return cudaErrorInvalidValue;
  ap::kept_kernel(name, s, [=]() mutable {
    ap::library_writes(temp, needed);
    f();
  });
  return cudaSuccess;
}
template <class T> std::vector<std::size_t> order_of(const values<T>& keys, int from, int to, bool down) {
  std::vector<std::size_t> order(keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const by_bits<T> less{from, to, down};
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return less(keys[a].v, keys[b].v); });
  return order;
}
template <class K, class KO, class V, class VO>
AP_VERB void sort_pairs(K keys, KO keys_out, V items, VO items_out, std::ptrdiff_t first, std::ptrdiff_t last,
                        int from, int to, bool down) {
  const auto k = fetched(keys + first, last - first);
  const auto order = order_of(k, from, to, down);
  if constexpr (!std::is_same_v<V, NullType>) {
    const auto v = fetched(items + first, last - first);
    made(items_out + first, last - first, [&](std::size_t i) { return v[order[i]].v; });
  }
  made(keys_out + first, last - first, [&](std::size_t i) { return k[order[i]].v; });
}
template <class I, class N, class F> AP_VERB void each_segment(N segments, I begins, I ends, const F& f) {
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(segments); ++i)
    f(i, static_cast<std::ptrdiff_t>(value_at(begins + i)), static_cast<std::ptrdiff_t>(value_at(ends + i)));
}
template <class T> using limits = std::numeric_limits<T>;
// the best item, with its index in the segment
template <class Out, class I, class Op> AP_VERB void best(Out out, I in, std::ptrdiff_t n, Op op) {
  using T = value_of<I>;
  KeyValuePair<int, T> all{0, value_at(in)};
  for (std::ptrdiff_t i = 1; i < n; ++i)
    all = op(all, KeyValuePair<int, T>{static_cast<int>(i), value_at(in + i)});
  put_at(out, all);
}
}  // namespace detail

#define AP_CUB [[gnu::always_inline]] static inline cudaError_t
#define AP_TEMP void *temp, std::size_t &bytes
#define AP_ON cudaStream_t s = nullptr, bool = false

struct DeviceReduce {
  template <class I, class Out, class N, class Op, class T>
  AP_CUB Reduce(AP_TEMP, I in, Out out, N n, Op op, T init, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceReduce::Reduce", s, [=]() mutable {
      detail::put_at(out,
                     thrust::detail::reduced(detail::fetched(in, static_cast<std::ptrdiff_t>(n)), init, op));
    });
  }
  template <class I, class Out, class N, class Op, class F, class T>
  AP_CUB TransformReduce(AP_TEMP, I in, Out out, N n, Op op, F f, T init, AP_ON) {
    return Reduce(temp, bytes, thrust::make_transform_iterator(in, f), out, n, op, init, s);
  }
  template <class I, class Out, class N> AP_CUB Sum(AP_TEMP, I in, Out out, N n, AP_ON) {
    return Reduce(temp, bytes, in, out, n, cub::Sum(), detail::value_of<I>{}, s);
  }
  template <class I, class Out, class N> AP_CUB Min(AP_TEMP, I in, Out out, N n, AP_ON) {
    return Reduce(temp, bytes, in, out, n, cub::Min(), detail::limits<detail::value_of<I>>::max(), s);
  }
  template <class I, class Out, class N> AP_CUB Max(AP_TEMP, I in, Out out, N n, AP_ON) {
    return Reduce(temp, bytes, in, out, n, cub::Max(), detail::limits<detail::value_of<I>>::lowest(), s);
  }
  template <class I, class Out, class N> AP_CUB ArgMin(AP_TEMP, I in, Out out, N n, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceReduce::ArgMin", s, [=]() mutable {
      detail::best(out, in, static_cast<std::ptrdiff_t>(n), cub::ArgMin());
    });
  }
  template <class I, class Out, class N> AP_CUB ArgMax(AP_TEMP, I in, Out out, N n, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceReduce::ArgMax", s, [=]() mutable {
      detail::best(out, in, static_cast<std::ptrdiff_t>(n), cub::ArgMax());
    });
  }
  template <class K, class KO, class V, class VO, class C, class Op, class N>
  AP_CUB ReduceByKey(AP_TEMP, K keys, KO keys_out, V in, VO out, C count, Op op, N n, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceReduce::ReduceByKey", s, [=]() mutable {
      const auto k = detail::fetched(keys, static_cast<std::ptrdiff_t>(n));
      const auto v = detail::fetched(in, static_cast<std::ptrdiff_t>(n));
      detail::values<detail::value_of<K>> some;
      detail::values<detail::value_of<V>> sums;
      for (std::size_t i = 0; i < k.size(); ++i)
        if (i == 0 || !(k[i - 1].v == k[i].v))
          some.push_back(k[i]), sums.push_back(v[i]);
        else
          sums.back().v = op(sums.back().v, v[i].v);
      detail::stored(keys_out, some);
      detail::stored(out, sums);
      detail::put_at(count, some.size());
    });
  }
};

struct DeviceScan {
  template <class I, class Out, class Op, class N>
  AP_CUB InclusiveScan(AP_TEMP, I in, Out out, Op op, N n, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceScan::InclusiveScan", s, [=]() mutable {
      auto all = detail::fetched(in, static_cast<std::ptrdiff_t>(n));
      for (std::size_t i = 1; i < all.size(); ++i)
        all[i].v = static_cast<detail::value_of<I>>(op(all[i - 1].v, all[i].v));
      detail::stored(out, all);
    });
  }
  template <class I, class Out, class Op, class T, class N>
  AP_CUB ExclusiveScan(AP_TEMP, I in, Out out, Op op, T init, N n, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceScan::ExclusiveScan", s, [=]() mutable {
      const auto all = detail::fetched(in, static_cast<std::ptrdiff_t>(n));
      auto sum = static_cast<std::common_type_t<T, detail::value_of<I>>>(init);
      detail::made(out, static_cast<std::ptrdiff_t>(n), [&](std::size_t i) {
        const auto before = sum;
        sum = static_cast<decltype(sum)>(op(sum, all[i].v));
        return before;
      });
    });
  }
  template <class I, class Out, class N> AP_CUB InclusiveSum(AP_TEMP, I in, Out out, N n, AP_ON) {
    return InclusiveScan(temp, bytes, in, out, cub::Sum(), n, s);
  }
  template <class I, class Out, class N> AP_CUB ExclusiveSum(AP_TEMP, I in, Out out, N n, AP_ON) {
    return ExclusiveScan(temp, bytes, in, out, cub::Sum(), detail::value_of<I>{}, n, s);
  }
  template <class I, class N> AP_CUB InclusiveSum(AP_TEMP, I data, N n, AP_ON) {
    return InclusiveSum(temp, bytes, data, data, n, s);
  }
  template <class I, class N> AP_CUB ExclusiveSum(AP_TEMP, I data, N n, AP_ON) {
    return ExclusiveSum(temp, bytes, data, data, n, s);
  }
};

// Sorts by bits [from, to) of the keys.
#define AP_SORTS(Suffix, down)                                                                               \
  template <class K, class KO, class N>                                                                      \
  AP_CUB SortKeys##Suffix(AP_TEMP, const K* in, KO* out, N n, int from = 0, int to = sizeof(K) * 8, AP_ON) { \
    return detail::with_storage(temp, bytes, "cub::DeviceRadixSort::SortKeys" #Suffix, s, [=]() mutable {    \
      detail::sort_pairs(in, out, NullType(), NullType(), 0, static_cast<std::ptrdiff_t>(n), from, to,       \
                         down);                                                                              \
    });                                                                                                      \
  }                                                                                                          \
  template <class K, class N> AP_CUB SortKeys##Suffix(AP_TEMP, DoubleBuffer<K>& keys, N n, int from = 0,     \
                                                      int to = sizeof(K) * 8, AP_ON) {                       \
    if (temp == nullptr)                                                                                     \
      return SortKeys##Suffix(temp, bytes, keys.Current(), keys.Alternate(), n, from, to, s);                \
    const cudaError_t e = SortKeys##Suffix(temp, bytes, keys.Current(), keys.Alternate(), n, from, to, s);   \
    keys.selector ^= 1;                                                                                      \
    return e;                                                                                                \
  }                                                                                                          \
  template <class K, class V, class N>                                                                       \
  AP_CUB SortPairs##Suffix(AP_TEMP, const K* in, K* out, const V* items, V* items_out, N n, int from = 0,    \
                           int to = sizeof(K) * 8, AP_ON) {                                                  \
    return detail::with_storage(temp, bytes, "cub::DeviceRadixSort::SortPairs" #Suffix, s, [=]() mutable {   \
      detail::sort_pairs(in, out, items, items_out, 0, static_cast<std::ptrdiff_t>(n), from, to, down);      \
    });                                                                                                      \
  }                                                                                                          \
  template <class K, class V, class N> AP_CUB SortPairs##Suffix(AP_TEMP, DoubleBuffer<K>& keys,              \
                                                                DoubleBuffer<V>& items, N n, int from = 0,   \
                                                                int to = sizeof(K) * 8, AP_ON) {             \
    const cudaError_t e = SortPairs##Suffix(temp, bytes, keys.Current(), keys.Alternate(), items.Current(),  \
                                            items.Alternate(), n, from, to, s);                              \
    if (temp != nullptr) keys.selector ^= 1, items.selector ^= 1;                                            \
    return e;                                                                                                \
  }
struct DeviceRadixSort {
  AP_SORTS(, false)
  AP_SORTS(Descending, true)
};
#undef AP_SORTS

struct DeviceMergeSort {
  template <class K, class N, class L> AP_CUB StableSortKeys(AP_TEMP, K keys, N n, L less, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceMergeSort::SortKeys", s, [=]() mutable {
      auto all = detail::fetched(keys, static_cast<std::ptrdiff_t>(n));
      std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return less(a.v, b.v); });
      detail::stored(keys, all);
    });
  }
  template <class K, class N, class L> AP_CUB SortKeys(AP_TEMP, K keys, N n, L less, AP_ON) {
    return StableSortKeys(temp, bytes, keys, n, less, s);
  }
  template <class K, class V, class N, class L>
  AP_CUB StableSortPairs(AP_TEMP, K keys, V items, N n, L less, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceMergeSort::SortPairs", s, [=]() mutable {
      const auto k = detail::fetched(keys, static_cast<std::ptrdiff_t>(n));
      const auto v = detail::fetched(items, static_cast<std::ptrdiff_t>(n));
      std::vector<std::size_t> order(k.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return less(k[a].v, k[b].v); });
      detail::made(keys, static_cast<std::ptrdiff_t>(n), [&](std::size_t i) { return k[order[i]].v; });
      detail::made(items, static_cast<std::ptrdiff_t>(n), [&](std::size_t i) { return v[order[i]].v; });
    });
  }
  template <class K, class V, class N, class L>
  AP_CUB SortPairs(AP_TEMP, K keys, V items, N n, L less, AP_ON) {
    return StableSortPairs(temp, bytes, keys, items, n, less, s);
  }
};

struct DeviceSegmentedReduce {
  template <class I, class Out, class N, class O, class Op, class T>
  AP_CUB Reduce(AP_TEMP, I in, Out out, N segments, O begins, O ends, Op op, T init, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceSegmentedReduce::Reduce", s, [=]() mutable {
      detail::each_segment(segments, begins, ends, [&](std::ptrdiff_t i, std::ptrdiff_t b, std::ptrdiff_t e) {
        detail::put_at(out + i, thrust::detail::reduced(detail::fetched(in + b, e - b), init, op));
      });
    });
  }
  template <class I, class Out, class N, class O>
  AP_CUB Sum(AP_TEMP, I in, Out out, N segments, O begins, O ends, AP_ON) {
    return Reduce(temp, bytes, in, out, segments, begins, ends, cub::Sum(), detail::value_of<I>{}, s);
  }
  template <class I, class Out, class N, class O>
  AP_CUB Min(AP_TEMP, I in, Out out, N segments, O begins, O ends, AP_ON) {
    return Reduce(temp, bytes, in, out, segments, begins, ends, cub::Min(),
                  detail::limits<detail::value_of<I>>::max(), s);
  }
  template <class I, class Out, class N, class O>
  AP_CUB Max(AP_TEMP, I in, Out out, N segments, O begins, O ends, AP_ON) {
    return Reduce(temp, bytes, in, out, segments, begins, ends, cub::Max(),
                  detail::limits<detail::value_of<I>>::lowest(), s);
  }
  template <class I, class Out, class N, class O>
  AP_CUB ArgMin(AP_TEMP, I in, Out out, N segments, O begins, O ends, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceSegmentedReduce::ArgMin", s, [=]() mutable {
      detail::each_segment(segments, begins, ends, [&](std::ptrdiff_t i, std::ptrdiff_t b, std::ptrdiff_t e) {
        detail::best(out + i, in + b, e - b, cub::ArgMin());
      });
    });
  }
  template <class I, class Out, class N, class O>
  AP_CUB ArgMax(AP_TEMP, I in, Out out, N segments, O begins, O ends, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceSegmentedReduce::ArgMax", s, [=]() mutable {
      detail::each_segment(segments, begins, ends, [&](std::ptrdiff_t i, std::ptrdiff_t b, std::ptrdiff_t e) {
        detail::best(out + i, in + b, e - b, cub::ArgMax());
      });
    });
  }
};

#define AP_SORTS(Suffix, down)                                                                              \
  template <class K, class N, class M, class O>                                                             \
  AP_CUB SortKeys##Suffix(AP_TEMP, const K* in, K* out, N, M segments, O begins, O ends, int from = 0,      \
                          int to = sizeof(K) * 8, AP_ON) {                                                  \
    return detail::with_storage(                                                                            \
        temp, bytes, "cub::DeviceSegmentedSort::SortKeys" #Suffix, s, [=]() mutable {                       \
          detail::each_segment(segments, begins, ends,                                                      \
                               [&](std::ptrdiff_t, std::ptrdiff_t b, std::ptrdiff_t e) {                    \
                                 detail::sort_pairs(in, out, NullType(), NullType(), b, e, from, to, down); \
                               });                                                                          \
        });                                                                                                 \
  }                                                                                                         \
  template <class K, class V, class N, class M, class O>                                                    \
  AP_CUB SortPairs##Suffix(AP_TEMP, const K* in, K* out, const V* items, V* items_out, N, M segments,       \
                           O begins, O ends, int from = 0, int to = sizeof(K) * 8, AP_ON) {                 \
    return detail::with_storage(                                                                            \
        temp, bytes, "cub::DeviceSegmentedSort::SortPairs" #Suffix, s, [=]() mutable {                      \
          detail::each_segment(segments, begins, ends,                                                      \
                               [&](std::ptrdiff_t, std::ptrdiff_t b, std::ptrdiff_t e) {                    \
                                 detail::sort_pairs(in, out, items, items_out, b, e, from, to, down);       \
                               });                                                                          \
        });                                                                                                 \
  }
struct DeviceSegmentedRadixSort {
  AP_SORTS(, false)
  AP_SORTS(Descending, true)
};
#undef AP_SORTS
// without bits of the keys
struct DeviceSegmentedSort {
#define AP_SORTS(Name, down)                                                                              \
  template <class K, class N, class M, class O>                                                           \
  AP_CUB Name##Keys##down(AP_TEMP, const K* in, K* out, N n, M segments, O begins, O ends, AP_ON) {       \
    return DeviceSegmentedRadixSort::SortKeys##down(temp, bytes, in, out, n, segments, begins, ends, 0,   \
                                                    sizeof(K) * 8, s);                                    \
  }                                                                                                       \
  template <class K, class V, class N, class M, class O>                                                  \
  AP_CUB Name##Pairs##down(AP_TEMP, const K* in, K* out, const V* items, V* items_out, N n, M segments,   \
                           O begins, O ends, AP_ON) {                                                     \
    return DeviceSegmentedRadixSort::SortPairs##down(temp, bytes, in, out, items, items_out, n, segments, \
                                                     begins, ends, 0, sizeof(K) * 8, s);                  \
  }
  AP_SORTS(Sort, )
  AP_SORTS(Sort, Descending)
  AP_SORTS(StableSort, )
  AP_SORTS(StableSort, Descending)
#undef AP_SORTS
};

namespace detail {
// Items that keep(i) takes come first; the others follow in reverse order, or not at all.
template <class I, class Out, class C, class F>
AP_VERB void select(I in, Out out, C count, std::ptrdiff_t n, bool others, const F& keep) {
  const auto all = fetched(in, n);
  values<value_of<I>> some, rest;
  for (std::size_t i = 0; i < all.size(); ++i) (keep(all, i) ? some : rest).push_back(all[i]);
  const std::size_t selected = some.size();
  if (others) some.insert(some.end(), rest.rbegin(), rest.rend());
  stored(out, some);
  put_at(count, selected);
}
}  // namespace detail
#define AP_SELECTS(Class, others)                                                                        \
  template <class I, class G, class Out, class C, class N>                                               \
  AP_CUB Flagged(AP_TEMP, I in, G flags, Out out, C count, N n, AP_ON) {                                 \
    return detail::with_storage(temp, bytes, "cub::" #Class "::Flagged", s, [=]() mutable {              \
      detail::select(in, out, count, static_cast<std::ptrdiff_t>(n), others, [&](auto&, std::size_t i) { \
        return static_cast<bool>(detail::value_at(flags + static_cast<std::ptrdiff_t>(i)));              \
      });                                                                                                \
    });                                                                                                  \
  }                                                                                                      \
  template <class I, class Out, class C, class N, class F>                                               \
  AP_CUB If(AP_TEMP, I in, Out out, C count, N n, F f, AP_ON) {                                          \
    return detail::with_storage(temp, bytes, "cub::" #Class "::If", s, [=]() mutable {                   \
      detail::select(in, out, count, static_cast<std::ptrdiff_t>(n), others,                             \
                     [&](auto& all, std::size_t i) { return f(all[i].v); });                             \
    });                                                                                                  \
  }
struct DevicePartition {
  AP_SELECTS(DevicePartition, true)
};
struct DeviceSelect {
  AP_SELECTS(DeviceSelect, false)
  template <class I, class Out, class C, class N> AP_CUB Unique(AP_TEMP, I in, Out out, C count, N n, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceSelect::Unique", s, [=]() mutable {
      detail::select(in, out, count, static_cast<std::ptrdiff_t>(n), false,
                     [&](auto& all, std::size_t i) { return i == 0 || !(all[i - 1].v == all[i].v); });
    });
  }
  template <class K, class V, class KO, class VO, class C, class N>
  AP_CUB UniqueByKey(AP_TEMP, K keys, V in, KO keys_out, VO out, C count, N n, AP_ON) {
    return DeviceReduce::ReduceByKey(
        temp, bytes, keys, keys_out, in, out, count, [](const auto& a, const auto&) { return a; }, n, s);
  }
};
#undef AP_SELECTS

struct DeviceRunLengthEncode {
  template <class I, class U, class L, class C, class N>
  AP_CUB Encode(AP_TEMP, I in, U unique, L lengths, C count, N n, AP_ON) {
    return DeviceReduce::ReduceByKey(temp, bytes, in, unique, thrust::constant_iterator<int>(1), lengths,
                                     count, cub::Sum(), n, s);
  }
};

struct DeviceHistogram {
  template <class I, class C, class L, class N>
  AP_CUB HistogramEven(AP_TEMP, I in, C* histogram, int levels, L lower, L upper, N n, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceHistogram::HistogramEven", s, [=]() mutable {
      detail::values<C> bins(static_cast<std::size_t>(levels - 1), {C(0)});
      for (const auto& v : detail::fetched(in, static_cast<std::ptrdiff_t>(n)))
        if (!(v.v < lower) && v.v < upper)
          ++bins[static_cast<std::size_t>((static_cast<double>(v.v) - static_cast<double>(lower)) *
                                          (levels - 1) /
                                          (static_cast<double>(upper) - static_cast<double>(lower)))]
                .v;
      detail::stored(histogram, bins);
    });
  }
  template <class I, class C, class L, class N>
  AP_CUB HistogramRange(AP_TEMP, I in, C* histogram, int levels, const L* bounds, N n, AP_ON) {
    return detail::with_storage(temp, bytes, "cub::DeviceHistogram::HistogramRange", s, [=]() mutable {
      detail::values<C> bins(static_cast<std::size_t>(levels - 1), {C(0)});
      const auto bound = detail::fetched(bounds, levels);
      for (const auto& v : detail::fetched(in, static_cast<std::ptrdiff_t>(n)))
        for (std::size_t i = 0; i + 1 < bound.size(); ++i)
          if (!(v.v < bound[i].v) && v.v < bound[i + 1].v) ++bins[i].v;
      detail::stored(histogram, bins);
    });
  }
};

struct DeviceFor {
  template <class N, class F> AP_VERB static cudaError_t Bulk(N n, F f, cudaStream_t s = nullptr) {
    ap::kept_kernel("cub::DeviceFor::Bulk", s, [=]() mutable {
      for (N i = 0; i < n; ++i) f(i);
    });
    return cudaSuccess;
  }
  template <class I, class N, class F>
  AP_VERB static cudaError_t ForEachN(I first, N n, F f, cudaStream_t s = nullptr) {
    ap::kept_kernel("cub::DeviceFor::ForEach", s, [=]() mutable {
      for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(n); ++i)
        f(thrust::detail::element_at(first + i));
    });
    return cudaSuccess;
  }
  template <class I, class F>
  AP_VERB static cudaError_t ForEach(I first, I last, F f, cudaStream_t s = nullptr) {
    return ForEachN(first, last - first, f, s);
  }
};
#undef AP_CUB
#undef AP_TEMP
#undef AP_ON

// Keeps what it gives out; it all goes with the allocator.
struct CachingDeviceAllocator {
  CachingDeviceAllocator(unsigned = 8, unsigned = 3, unsigned = 7, std::size_t = 0, bool = false,
                         bool = false) {}
  CachingDeviceAllocator(bool, bool = false) {}
  AP_VERB cudaError_t DeviceAllocate(void** p, std::size_t bytes, cudaStream_t = nullptr) {
    const cudaError_t e = ap::allocate(p, bytes, ap::memory_kind::device, ap::place::current());
    ap::owned_by_library(*p);
    return e;
  }
  AP_VERB cudaError_t DeviceFree(void* p) { return cudaFree(p); }
};

}  // namespace cub

#include <antiphase/plain/letters.h>
