// SPDX-License-Identifier: Apache-2.0
// CUB's collectives of blocks under the checker: here those that sort, count and compare neighbors.
#pragma once
#include "cub_block_sums.h"

#include <antiphase/plain/letters.h>

namespace cub {

// Sorting: thread 0 puts the items in order between two barriers.
namespace detail {
struct whole_block {
  AP_VERB static int rank() { return tid(); }
  AP_VERB static void sync(ap::place at) { __syncthreads(at); }
};
template <int Threads> struct logical_warp {
  AP_VERB static int rank() { return lanes<Threads>().rank(); }
  AP_VERB static void sync(ap::place at) { __syncwarp(lanes<Threads>().mask, at); }
};
template <class K, class V, int Threads, int N, class Group = whole_block> class block_sort {
  static constexpr int all = Threads * N;
  static constexpr bool pairs = !std::is_same_v<V, NullType>;

 public:
  union storage {
    alignas(K) unsigned char key[all * sizeof(K)];
    alignas(V) unsigned char value[pairs ? all * sizeof(V) : 1];
  };
  template <class Less> AP_VERB static void sort(storage& s, K (&keys)[N], V* values, bool to_striped,
                                                 const Less& less, ap::place at) {
    unsigned short order[all];
    K* const key = reinterpret_cast<K*>(s.key);
    bring(key, keys, at);
    if (Group::rank() == 0) {
      unsigned short half[all];
      for (int i = 0; i < all; ++i) order[i] = static_cast<unsigned short>(i % N * Threads + i / N);
      for (int run = 1; run < all; run *= 2) {  // merges runs, so that equal keys stay in order
        for (int first = 0; first < all; first += 2 * run) {
          const int middle = first + run < all ? first + run : all,
                    end = first + 2 * run < all ? first + 2 * run : all;
          for (int a = first, b = middle, to = first; to < end; ++to)
            half[to] =
                a < middle && (b == end || !less(key[order[b]], key[order[a]])) ? order[a++] : order[b++];
        }
        for (int i = 0; i < all; ++i) order[i] = half[i];
      }
      permute(key, order);
    }
    take(key, keys, to_striped, at);
    if constexpr (pairs) {
      V* const value = reinterpret_cast<V*>(s.value);
      V(&mine)[N] = reinterpret_cast<V(&)[N]>(*values);
      Group::sync(at);
      bring(value, mine, at);
      if (Group::rank() == 0) permute(value, order);
      take(value, mine, to_striped, at);
    }
  }

 private:
  template <class T> AP_VERB static void bring(T* in, const T (&mine)[N], ap::place at) {
    for (int i = 0; i < N; ++i) in[i * Threads + Group::rank()] = mine[i];
    Group::sync(at);
  }
  template <class T> AP_VERB static void take(const T* in, T (&mine)[N], bool to_striped, ap::place at) {
    Group::sync(at);
    for (int i = 0; i < N; ++i)
      mine[i] = in[to_striped ? i * Threads + Group::rank() : Group::rank() * N + i];
  }
  // in[i] = in[order[i]], by cycles.
  template <class T> AP_VERB static void permute(T* in, const unsigned short* order) {
    bool done[all] = {};
    for (int start = 0; start < all; ++start) {
      if (done[start]) continue;
      const T first = in[start];
      int i = start;
      for (; order[i] != start; i = order[i]) {
        in[i] = in[order[i]];
        done[i] = true;
      }
      in[i] = first;
      done[i] = true;
    }
  }
};
// `key` between two bits, as CUB orders it: of a signed integer or a floating-point number the sign counts.
template <class K> struct by_bits {
  int from, to;
  bool down;
  static unsigned long long bits(K k) {
    using word = ap::word_of<K>;
    word w;
    std::memcpy(&w, &k, sizeof w);
    constexpr word sign = static_cast<word>(word{1} << (8 * sizeof(K) - 1));
    if constexpr (std::is_integral_v<K>)
      return std::is_signed_v<K> ? static_cast<word>(w ^ sign) : w;
    else
      return k == K(0) ? sign : static_cast<word>((w & sign) != 0 ? ~w : w | sign);
  }
  bool operator()(const K& a, const K& b) const {
    if (from == 0 && to >= static_cast<int>(8 * sizeof(K)))
      return down ? bits(b) < bits(a) : bits(a) < bits(b);
    const unsigned long long mask = to - from >= 64 ? ~0ull : (1ull << (to - from)) - 1;
    const unsigned long long x = bits(a) >> from & mask, y = bits(b) >> from & mask;
    return down ? y < x : x < y;
  }
};
}  // namespace detail

template <class K, int X, int N, class V = NullType, int = 4, bool = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, cudaSharedMemConfig = cudaSharedMemBankSizeFourByte,
          int Y = 1, int Z = 1, int = 0>
class BlockRadixSort {
  using sorter = detail::block_sort<K, V, X * Y * Z, N>;
  using storage = typename sorter::storage;
  AP_STORAGE(BlockRadixSort)

 public:
#define AP_SORT(Name, down, to_striped)                                                        \
  AP_VERB void Name(K(&keys)[N], int from = 0, int to = sizeof(K) * 8, AP_AT) {                \
    static_assert(std::is_same_v<V, NullType>, "with values: the class's fourth argument");    \
    sorter::sort(temp_, keys, nullptr, to_striped, detail::by_bits<K>{from, to, down}, ap_at); \
  }                                                                                            \
  template <class W>                                                                           \
  AP_VERB void Name(K(&keys)[N], W(&values)[N], int from = 0, int to = sizeof(K) * 8, AP_AT) { \
    sorter::sort(temp_, keys, values, to_striped, detail::by_bits<K>{from, to, down}, ap_at);  \
  }
  AP_SORT(Sort, false, false)
  AP_SORT(SortDescending, true, false)
  AP_SORT(SortBlockedToStriped, false, true)
  AP_SORT(SortDescendingBlockedToStriped, true, true)
#undef AP_SORT
};

namespace detail {
template <class K, class V, int Threads, int N, class Group> class merge_sort {
  using sorter = block_sort<K, V, Threads, N, Group>;
  using storage = typename sorter::storage;
  AP_STORAGE(merge_sort)
  AP_VERB static void replace(K (&keys)[N], int valid, const K& other) {
    for (int i = 0; i < N; ++i)
      if (Group::rank() * N + i >= valid) keys[i] = other;
  }

 public:
#define AP_SORT(Name)                                                                          \
  template <class Less> AP_VERB void Name(K(&keys)[N], Less less, AP_AT) {                     \
    sorter::sort(temp_, keys, nullptr, false, less, ap_at);                                    \
  }                                                                                            \
  template <class Less> AP_VERB void Name(K(&keys)[N], Less less, int valid, K other, AP_AT) { \
    replace(keys, valid, other), Name(keys, less, ap_at);                                      \
  }                                                                                            \
  template <class Less> AP_VERB void Name(K(&keys)[N], V(&values)[N], Less less, AP_AT) {      \
    sorter::sort(temp_, keys, values, false, less, ap_at);                                     \
  }                                                                                            \
  template <class Less>                                                                        \
  AP_VERB void Name(K(&keys)[N], V(&values)[N], Less less, int valid, K other, AP_AT) {        \
    replace(keys, valid, other), Name(keys, values, less, ap_at);                              \
  }
  AP_SORT(Sort)
  AP_SORT(StableSort)
#undef AP_SORT
};
}  // namespace detail
template <class K, int X, int N, class V = NullType, int Y = 1, int Z = 1> class BlockMergeSort
    : public detail::merge_sort<K, V, X * Y * Z, N, detail::whole_block> {
 public:
  using detail::merge_sort<K, V, X * Y * Z, N, detail::whole_block>::merge_sort;
};
template <class K, int N, int Threads = 32, class V = NullType> class WarpMergeSort
    : public detail::merge_sort<K, V, Threads, N, detail::logical_warp<Threads>> {
 public:
  using detail::merge_sort<K, V, Threads, N, detail::logical_warp<Threads>>::merge_sort;
};

// Counts into a histogram in the caller's shared memory.
template <class T, int X, int N, int Bins, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int Y = 1, int Z = 1,
          int = 0>
class BlockHistogram {
  struct storage {};
  AP_STORAGE(BlockHistogram)

 public:
  template <class C> AP_VERB void InitHistogram(C (&histogram)[Bins]) {
    for (int i = detail::tid(); i < Bins; i += X * Y * Z) histogram[i] = 0;
  }
  template <class C> AP_VERB void Composite(T (&items)[N], C (&histogram)[Bins], AP_AT) {
    for (int i = 0; i < N; ++i) atomicAdd(&histogram[items[i]], C(1), ap_at);
  }
  template <class C> AP_VERB void Histogram(T (&items)[N], C (&histogram)[Bins], AP_AT) {
    InitHistogram(histogram);
    __syncthreads(ap_at);
    Composite(items, histogram, ap_at);
  }
};

namespace detail {
// op with or without the item's index
template <class Op, class T> AP_VERB bool differ(Op& op, const T& a, const T& b, int at) {
  if constexpr (std::is_invocable_v<Op&, const T&, const T&, int>)
    return op(a, b, at);
  else
    return op(a, b);
}
}  // namespace detail

template <class T, int X, int Y = 1, int Z = 1, int = 0> class BlockDiscontinuity {
  static constexpr int block = X * Y * Z;
  struct storage {
    T edge[block], other[block];  // the second one if heads and tails are flagged
  };
  AP_STORAGE(BlockDiscontinuity)
  template <int N, class F, class Op>
  AP_VERB static void heads(F (&flags)[N], T (&in)[N], Op op, const T* before) {
    for (int i = 0; i < N; ++i)
      flags[i] = i > 0               ? F(detail::differ(op, in[i - 1], in[i], detail::tid() * N + i))
                 : before == nullptr ? F(1)
                                     : F(detail::differ(op, *before, in[0], detail::tid() * N));
  }
  template <int N, class F, class Op>
  AP_VERB static void tails(F (&flags)[N], T (&in)[N], Op op, const T* behind) {
    for (int i = 0; i < N; ++i)
      flags[i] = i + 1 < N           ? F(detail::differ(op, in[i], in[i + 1], detail::tid() * N + i + 1))
                 : behind == nullptr ? F(1)
                                     : F(detail::differ(op, in[N - 1], *behind, detail::tid() * N + N));
  }
  AP_VERB static const T* before(const T* edge, const T* of_tile) {
    return detail::tid() > 0 ? edge + detail::tid() - 1 : of_tile;
  }
  AP_VERB static const T* behind(const T* edge, const T* of_tile) {
    return detail::tid() + 1 < block ? edge + detail::tid() + 1 : of_tile;
  }

 public:
  template <int N, class F, class Op> AP_VERB void FlagHeads(F (&flags)[N], T (&in)[N], Op op, AP_AT) {
    temp_.edge[detail::tid()] = in[N - 1];
    __syncthreads(ap_at);
    heads(flags, in, op, before(temp_.edge, nullptr));
  }
  template <int N, class F, class Op>
  AP_VERB void FlagHeads(F (&flags)[N], T (&in)[N], Op op, T tile, AP_AT) {
    temp_.edge[detail::tid()] = in[N - 1];
    __syncthreads(ap_at);
    heads(flags, in, op, before(temp_.edge, &tile));
  }
  template <int N, class F, class Op> AP_VERB void FlagTails(F (&flags)[N], T (&in)[N], Op op, AP_AT) {
    temp_.edge[detail::tid()] = in[0];
    __syncthreads(ap_at);
    tails(flags, in, op, behind(temp_.edge, nullptr));
  }
  template <int N, class F, class Op>
  AP_VERB void FlagTails(F (&flags)[N], T (&in)[N], Op op, T tile, AP_AT) {
    temp_.edge[detail::tid()] = in[0];
    __syncthreads(ap_at);
    tails(flags, in, op, behind(temp_.edge, &tile));
  }
  template <int N, class F, class Op>
  AP_VERB void FlagHeadsAndTails(F (&head)[N], F (&tail)[N], T (&in)[N], Op op, AP_AT) {
    temp_.edge[detail::tid()] = in[0];
    temp_.other[detail::tid()] = in[N - 1];
    __syncthreads(ap_at);
    heads(head, in, op, before(temp_.other, nullptr));
    tails(tail, in, op, behind(temp_.edge, nullptr));
  }
};

template <class T, int X, int Y = 1, int Z = 1> class BlockAdjacentDifference {
  static constexpr int block = X * Y * Z;
  struct storage {
    T edge[block];
  };
  AP_STORAGE(BlockAdjacentDifference)

 public:
  template <int N, class Out, class Op> AP_VERB void SubtractLeft(T (&in)[N], Out (&out)[N], Op op, AP_AT) {
    temp_.edge[detail::tid()] = in[N - 1];
    __syncthreads(ap_at);
    for (int i = N - 1; i > 0; --i) out[i] = op(in[i], in[i - 1]);
    out[0] = detail::tid() > 0 ? Out(op(in[0], temp_.edge[detail::tid() - 1])) : Out(in[0]);
  }
  template <int N, class Out, class Op> AP_VERB void SubtractRight(T (&in)[N], Out (&out)[N], Op op, AP_AT) {
    temp_.edge[detail::tid()] = in[0];
    __syncthreads(ap_at);
    for (int i = 0; i + 1 < N; ++i) out[i] = op(in[i], in[i + 1]);
    out[N - 1] =
        detail::tid() + 1 < block ? Out(op(in[N - 1], temp_.edge[detail::tid() + 1])) : Out(in[N - 1]);
  }
};

template <class T, int X, int Y = 1, int Z = 1, int = 0> class BlockShuffle {
  static constexpr int block = X * Y * Z;
  struct storage {
    T item[block];
  };
  AP_STORAGE(BlockShuffle)

 public:
  AP_VERB void Offset(T in, T& out, int by = 1, AP_AT) {
    temp_.item[detail::tid()] = in;
    __syncthreads(ap_at);
    if (const int from = detail::tid() + by; from >= 0 && from < block) out = temp_.item[from];
  }
  AP_VERB void Rotate(T in, T& out, unsigned by = 1, AP_AT) {
    temp_.item[detail::tid()] = in;
    __syncthreads(ap_at);
    out = temp_.item[(static_cast<unsigned>(detail::tid()) + by) % block];
  }
  template <int N> AP_VERB void Up(T (&in)[N], T (&out)[N], AP_AT) {
    temp_.item[detail::tid()] = in[N - 1];
    __syncthreads(ap_at);
    for (int i = N - 1; i > 0; --i) out[i] = in[i - 1];
    if (detail::tid() > 0) out[0] = temp_.item[detail::tid() - 1];
  }
  template <int N> AP_VERB void Down(T (&in)[N], T (&out)[N], AP_AT) {
    temp_.item[detail::tid()] = in[0];
    __syncthreads(ap_at);
    for (int i = 0; i + 1 < N; ++i) out[i] = in[i + 1];
    if (detail::tid() + 1 < block) out[N - 1] = temp_.item[detail::tid() + 1];
  }
};
#undef AP_STORAGE

inline cudaError_t Debug(cudaError_t e, const char*, int) { return e; }

}  // namespace cub

#define CubDebug(e) (e)
#define CubDebugExit(e) (e)
#define CUB_VERSION 200200
#define CUB_RUNTIME_FUNCTION
#define CUB_MIN(a, b) ((a) > (b) ? (b) : (a))
#define CUB_MAX(a, b) ((b) > (a) ? (b) : (a))
#define CUB_QUOTIENT_CEILING(x, y) (((x) + (y)-1) / (y))
#define CUB_ROUND_UP_NEAREST(x, y) (((x) + (y)-1) / (y) * (y))
#define CUB_PTX_WARP_THREADS 32
#define CUB_LOG_WARP_THREADS(arch) 5
#define CUB_PTX_LOG_WARP_THREADS 5
#define CUB_WARP_THREADS(arch) 32

#include <antiphase/plain/letters.h>
