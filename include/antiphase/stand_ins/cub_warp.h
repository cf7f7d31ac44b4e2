// SPDX-License-Identifier: Apache-2.0
// CUB's operators, loads and stores, and collectives of warps, under the checker. They touch TempStorage, and
// meet at barriers, as CUB's documentation says: barriers inside, and none at the end, so that the storage's
// next use needs one before it.
#pragma once
#include <type_traits>

#include <antiphase/plain/cuda_std_more.h>
#include <antiphase/plain/cuda/atomic>

#include <antiphase/plain/letters.h>

namespace cub {
namespace ap = antiphase::plain;

// operators and small types
// -----------------------------------------------------------------------------------------------------------
#define AP_OPERATOR(name, ...)                                                            \
  struct name {                                                                           \
    template <class A, class B> constexpr auto operator()(const A& a, const B& b) const { \
      return __VA_ARGS__;                                                                 \
    }                                                                                     \
  };
AP_OPERATOR(Sum, a + b)
AP_OPERATOR(Difference, a - b)
AP_OPERATOR(Division, a / b)
AP_OPERATOR(Min, b < a ? b : a)
AP_OPERATOR(Max, a < b ? b : a)
AP_OPERATOR(Equality, a == b)
AP_OPERATOR(Inequality, !(a == b))
// pairs: the smaller key where values are equal
AP_OPERATOR(ArgMin, (b.value < a.value || (b.value == a.value && b.key < a.key)) ? b : a)
AP_OPERATOR(ArgMax, (a.value < b.value || (b.value == a.value && b.key < a.key)) ? b : a)
#undef AP_OPERATOR
template <class To> struct CastOp {
  template <class A> constexpr To operator()(const A& a) const { return static_cast<To>(a); }
};
template <class Op> struct InequalityWrapper {
  Op op;
  template <class T> bool operator()(const T& a, const T& b) const { return !op(a, b); }
};
template <class Key, class Value> struct KeyValuePair {
  typedef Key Key_;
  Key key;
  Value value;
  bool operator!=(const KeyValuePair& o) const { return value != o.value || key != o.key; }
};
struct NullType {
  bool operator==(const NullType&) const { return true; }
};
template <class T> struct DoubleBuffer {
  T* d_buffers[2] = {};
  int selector = 0;
  DoubleBuffer() = default;
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};
template <class T> struct Uninitialized {
  alignas(T) unsigned char bytes[sizeof(T)];
  T& Alias() { return reinterpret_cast<T&>(*this); }
};
template <class T> struct Int2Type {};

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
  BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};
enum WarpLoadAlgorithm { WARP_LOAD_DIRECT, WARP_LOAD_STRIPED, WARP_LOAD_VECTORIZE, WARP_LOAD_TRANSPOSE };
enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };
enum WarpStoreAlgorithm { WARP_STORE_DIRECT, WARP_STORE_STRIPED, WARP_STORE_VECTORIZE, WARP_STORE_TRANSPOSE };
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };
enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };

// threads and lanes
// -----------------------------------------------------------------------------------------------------------
AP_VERB unsigned LaneId() { return static_cast<unsigned>(ap::lane()); }
AP_VERB unsigned WarpId() { return static_cast<unsigned>(antiphase::machine::current->index) / 32; }
AP_VERB int RowMajorTid(int x, int y, int) {
  const uint3 t = ap::thread_idx();
  return (static_cast<int>(t.z) * y + static_cast<int>(t.y)) * x + static_cast<int>(t.x);
}
namespace detail {
AP_VERB int tid() { return antiphase::machine::current->index; }
AP_VERB int threads_of_warp() {  // the block's last warp may be short
  const int left = antiphase::machine::current->block->threads - tid() / 32 * 32;
  return left < 32 ? left : 32;
}
template <class T> AP_VERB T from_lane(unsigned mask, const T& value, int lane, ap::place where) {
  Uninitialized<T> bytes;
  std::memcpy(bytes.bytes, &value, sizeof(T));
  ap::exchange(mask, bytes.bytes, sizeof(T), lane, where);
  return bytes.Alias();
}
// lanes of a logical warp
template <int Threads> struct lanes {
  int first, count;
  unsigned mask;
  AP_VERB lanes() {
    first = Threads < 32 ? ap::lane() / Threads * Threads : 0;
    const int there = threads_of_warp() - first;
    count = Threads < there ? Threads : there;
    mask = (count == 32 ? ~0u : (1u << count) - 1) << first;
  }
  AP_VERB int rank() const { return ap::lane() - first; }
};
// the sum of the first `valid` lanes, right in the first one
template <int Threads, class T, class Op>
AP_VERB T reduced(const lanes<Threads>& w, T value, Op op, int valid, ap::place where) {
  for (int by = 1; by < Threads; by *= 2) {
    const int other = w.rank() + by;
    const T theirs = from_lane(w.mask, value, w.first + (other < w.count ? other : w.rank()), where);
    if (other < valid) value = static_cast<T>(op(value, theirs));
  }
  return value;
}
template <int Threads, class T, class Op>
AP_VERB T scanned(const lanes<Threads>& w, T value, Op op, ap::place where) {
  for (int by = 1; by < Threads; by *= 2) {
    const int other = w.rank() - by;
    const T theirs = from_lane(w.mask, value, w.first + (other >= 0 ? other : w.rank()), where);
    if (other >= 0) value = static_cast<T>(op(theirs, value));
  }
  return value;
}
template <class T, int N, class Op> AP_VERB T thread_reduced(const T (&items)[N], Op op) {
  T all = items[0];
  for (int i = 1; i < N; ++i) all = static_cast<T>(op(all, items[i]));
  return all;
}
// TempStorage of the caller, or a variable of the class's own.
#define AP_STORAGE(Class)                                                                      \
 public:                                                                                       \
  struct TempStorage : Uninitialized<storage> {};                                              \
  AP_VERB Class() : temp_(own()) {}                                                            \
  AP_VERB explicit Class(TempStorage& t) : temp_(t.Alias()) {}                                 \
                                                                                               \
 private:                                                                                      \
  static storage& own() {                                                                      \
    return ap::shared<TempStorage, alignof(storage), -1>(#Class "'s own TempStorage").Alias(); \
  }                                                                                            \
  storage& temp_;
}  // namespace detail

template <CacheLoadModifier = LOAD_DEFAULT, class I> AP_VERB auto ThreadLoad(I at) { return *at; }
template <CacheStoreModifier = STORE_DEFAULT, class I, class T> AP_VERB void ThreadStore(I at, T v) {
  *at = v;
}
template <int N, class T, class Op> AP_VERB T ThreadReduce(const T (&items)[N], Op op) {
  return detail::thread_reduced(items, op);
}
template <class T, int N, class Op> AP_VERB T ThreadReduce(const T (&items)[N], Op op) {
  return detail::thread_reduced(items, op);
}
template <int Threads = 32, class T> AP_VERB T ShuffleUp(T v, int by, int first, unsigned mask, AP_AT) {
  const int from = ap::lane() % Threads - by;
  return detail::from_lane(mask, v, from >= first ? ap::lane() - by : ap::lane(), ap_at);
}
template <int Threads = 32, class T> AP_VERB T ShuffleDown(T v, int by, int last, unsigned mask, AP_AT) {
  const int from = ap::lane() % Threads + by;
  return detail::from_lane(mask, v, from <= last ? ap::lane() + by : ap::lane(), ap_at);
}
template <int Threads = 32, class T> AP_VERB T ShuffleIndex(T v, int from, unsigned mask, AP_AT) {
  return detail::from_lane(mask, v, ap::lane() / Threads * Threads + from, ap_at);
}

// loads and stores without TempStorage
// -----------------------------------------------------------------------------------------------------------
#define AP_BY_ITEM(Name, index)                                                                        \
  template <class T, int N, class I> AP_VERB void Load##Name(int t, I from, T(&items)[N]) {            \
    for (int i = 0; i < N; ++i) items[i] = from[index];                                                \
  }                                                                                                    \
  template <class T, int N, class I> AP_VERB void Load##Name(int t, I from, T(&items)[N], int valid) { \
    for (int i = 0; i < N; ++i)                                                                        \
      if (index < valid) items[i] = from[index];                                                       \
  }                                                                                                    \
  template <class T, class D, int N, class I>                                                          \
  AP_VERB void Load##Name(int t, I from, T(&items)[N], int valid, D other) {                           \
    for (int i = 0; i < N; ++i) items[i] = other;                                                      \
    Load##Name(t, from, items, valid);                                                                 \
  }                                                                                                    \
  template <class T, int N, class I> AP_VERB void Store##Name(int t, I to, T(&items)[N]) {             \
    for (int i = 0; i < N; ++i) to[index] = items[i];                                                  \
  }                                                                                                    \
  template <class T, int N, class I> AP_VERB void Store##Name(int t, I to, T(&items)[N], int valid) {  \
    for (int i = 0; i < N; ++i)                                                                        \
      if (index < valid) to[index] = items[i];                                                         \
  }
AP_BY_ITEM(DirectBlocked, t* N + i)
AP_BY_ITEM(DirectBlockedVectorized, t* N + i)
AP_BY_ITEM(DirectWarpStriped, t / 32 * 32 * N + i * 32 + t % 32)
#define AP_STRIPES template <int Block, class T, int N, class I>
AP_STRIPES AP_VERB void LoadDirectStriped(int t, I from, T (&items)[N]) {
  for (int i = 0; i < N; ++i) items[i] = from[i * Block + t];
}
AP_STRIPES AP_VERB void LoadDirectStriped(int t, I from, T (&items)[N], int valid) {
  for (int i = 0; i < N; ++i)
    if (i * Block + t < valid) items[i] = from[i * Block + t];
}
template <int Block, class T, class D, int N, class I>
AP_VERB void LoadDirectStriped(int t, I from, T (&items)[N], int valid, D other) {
  for (int i = 0; i < N; ++i) items[i] = i * Block + t < valid ? static_cast<T>(from[i * Block + t]) : other;
}
AP_STRIPES AP_VERB void StoreDirectStriped(int t, I to, T (&items)[N]) {
  for (int i = 0; i < N; ++i) to[i * Block + t] = items[i];
}
AP_STRIPES AP_VERB void StoreDirectStriped(int t, I to, T (&items)[N], int valid) {
  for (int i = 0; i < N; ++i)
    if (i * Block + t < valid) to[i * Block + t] = items[i];
}
#undef AP_STRIPES
#undef AP_BY_ITEM

// warps
// -----------------------------------------------------------------------------------------------------------
template <class T, int Threads = 32, int = 0> class WarpReduce {
  struct storage {};
  AP_STORAGE(WarpReduce)
  using w = detail::lanes<Threads>;

 public:
  template <class Op> AP_VERB T Reduce(T v, Op op, AP_AT) {
    return detail::reduced(used(ap_at), v, op, w().count, ap_at);
  }
  template <class Op> AP_VERB T Reduce(T v, Op op, int valid, AP_AT) {
    return detail::reduced(used(ap_at), v, op, valid, ap_at);
  }
  AP_VERB T Sum(T v, AP_AT) { return Reduce(v, cub::Sum(), ap_at); }
  AP_VERB T Sum(T v, int valid, AP_AT) { return Reduce(v, cub::Sum(), valid, ap_at); }
  AP_VERB T Max(T v, AP_AT) { return Reduce(v, cub::Max(), ap_at); }
  AP_VERB T Max(T v, int valid, AP_AT) { return Reduce(v, cub::Max(), valid, ap_at); }
  AP_VERB T Min(T v, AP_AT) { return Reduce(v, cub::Min(), ap_at); }
  AP_VERB T Min(T v, int valid, AP_AT) { return Reduce(v, cub::Min(), valid, ap_at); }
  template <class F, class Op> AP_VERB T HeadSegmentedReduce(T v, F head, Op op, AP_AT) {
    return segmented(v, op, head ? 0 : 1, true, ap_at);
  }
  template <class F, class Op> AP_VERB T TailSegmentedReduce(T v, F tail, Op op, AP_AT) {
    return segmented(v, op, tail ? 0 : 1, false, ap_at);
  }
  template <class F> AP_VERB T HeadSegmentedSum(T v, F head, AP_AT) {
    return HeadSegmentedReduce(v, head, cub::Sum(), ap_at);
  }
  template <class F> AP_VERB T TailSegmentedSum(T v, F tail, AP_AT) {
    return TailSegmentedReduce(v, tail, cub::Sum(), ap_at);
  }

 private:
  // Logical warps that share a storage race there.
  AP_VERB w used(ap::place where) {
    const w me;
    if (me.rank() == 0) ap::uses_storage(&temp_, (Threads & (Threads - 1)) == 0, where);
    return me;
  }

  template <class Op> AP_VERB T segmented(T v, Op op, int inner, bool heads, ap::place where) {
    const w me = used(where);
    const unsigned flags = ap::vote(me.mask, inner == 0, where) >> me.first;
    int end = me.rank();  // the last lane of this one's segment
    while (end + 1 < me.count && (flags >> (heads ? end + 1 : end) & 1) == 0) ++end;
    return detail::reduced(me, v, op, end + 1, where);
  }
};

template <class T, int Threads = 32, int = 0> class WarpScan {
  struct storage {};
  AP_STORAGE(WarpScan)
  using w = detail::lanes<Threads>;

 public:
  template <class Op> AP_VERB void InclusiveScan(T v, T& out, Op op, AP_AT) {
    out = detail::scanned(used(ap_at), v, op, ap_at);
  }
  template <class Op> AP_VERB void InclusiveScan(T v, T& out, Op op, T& all, AP_AT) {
    const T mine = detail::scanned(used(ap_at), v, op, ap_at);
    all = last(mine, ap_at);
    out = mine;
  }
  template <class Op> AP_VERB void ExclusiveScan(T v, T& out, T first, Op op, AP_AT) {
    T all;
    ExclusiveScan(v, out, first, op, all, ap_at);
  }
  template <class Op> AP_VERB void ExclusiveScan(T v, T& out, T first, Op op, T& all, AP_AT) {
    const T mine = detail::scanned(used(ap_at), v, op, ap_at), before = previous(mine, ap_at);
    all = last(mine, ap_at);
    out = w().rank() == 0 ? first : static_cast<T>(op(first, before));
  }
  template <class Op> AP_VERB void ExclusiveScan(T v, T& out, Op op, AP_AT) {
    out = previous(detail::scanned(used(ap_at), v, op, ap_at), ap_at);
  }
  template <class Op> AP_VERB void ExclusiveScan(T v, T& out, Op op, T& all, AP_AT) {
    const T mine = detail::scanned(used(ap_at), v, op, ap_at);
    out = previous(mine, ap_at);
    all = last(mine, ap_at);
  }
  template <class Op> AP_VERB void Scan(T v, T& inclusive, T& exclusive, Op op, AP_AT) {
    inclusive = detail::scanned(used(ap_at), v, op, ap_at);
    exclusive = previous(inclusive, ap_at);
  }
  AP_VERB void InclusiveSum(T v, T& out, AP_AT) { InclusiveScan(v, out, cub::Sum(), ap_at); }
  AP_VERB void InclusiveSum(T v, T& out, T& all, AP_AT) { InclusiveScan(v, out, cub::Sum(), all, ap_at); }
  AP_VERB void ExclusiveSum(T v, T& out, AP_AT) { ExclusiveScan(v, out, T{}, cub::Sum(), ap_at); }
  AP_VERB void ExclusiveSum(T v, T& out, T& all, AP_AT) {
    ExclusiveScan(v, out, T{}, cub::Sum(), all, ap_at);
  }
  AP_VERB T Broadcast(T v, unsigned from, AP_AT) {
    return detail::from_lane(used(ap_at).mask, v, w().first + static_cast<int>(from), ap_at);
  }

 private:
  // Logical warps that share a storage race there.
  AP_VERB w used(ap::place where) {
    const w me;
    if (me.rank() == 0) ap::uses_storage(&temp_, (Threads & (Threads - 1)) == 0, where);
    return me;
  }

  AP_VERB T previous(const T& v, ap::place where) {
    const w me;
    return detail::from_lane(me.mask, v, me.rank() > 0 ? ap::lane() - 1 : ap::lane(), where);
  }
  AP_VERB T last(const T& v, ap::place where) {
    const w me;
    return detail::from_lane(me.mask, v, me.first + me.count - 1, where);
  }
};

}  // namespace cub

#include <antiphase/plain/letters.h>
