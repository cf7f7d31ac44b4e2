// SPDX-License-Identifier: Apache-2.0
// CUB's collectives of warps and blocks, under the checker. They touch TempStorage, and meet at barriers, as
// CUB's documentation says: barriers inside, and none at the end, so that the storage's next use needs one
// before it.
#pragma once
#include <type_traits>

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

// blocks
// -----------------------------------------------------------------------------------------------------------
template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
  static constexpr int block = X * Y * Z, warps = (block + 31) / 32;
  struct storage {
    T of_warp[warps];
    T result;
  };
  AP_STORAGE(BlockReduce)

 public:
  // Right in thread 0 only.
  template <class Op> AP_VERB T Reduce(T v, Op op, int valid, AP_AT) {
    const detail::lanes<32> w;
    const int warp = detail::tid() / 32, left = valid - warp * 32;
    v = detail::reduced(w, v, op, left < w.count ? left : w.count, ap_at);
    if (ap::lane() == 0) temp_.of_warp[warp] = v;
    __syncthreads(ap_at);
    if (detail::tid() == 0)
      for (int i = 1; i < warps && i * 32 < valid; ++i) v = static_cast<T>(op(v, temp_.of_warp[i]));
    return v;
  }
  template <class Op> AP_VERB T Reduce(T v, Op op, AP_AT) { return Reduce(v, op, block, ap_at); }
  template <class Op, int N> AP_VERB T Reduce(T (&items)[N], Op op, AP_AT) {
    return Reduce(detail::thread_reduced(items, op), op, block, ap_at);
  }
  AP_VERB T Sum(T v, AP_AT) { return Reduce(v, cub::Sum(), block, ap_at); }
  AP_VERB T Sum(T v, int valid, AP_AT) { return Reduce(v, cub::Sum(), valid, ap_at); }
  template <int N> AP_VERB T Sum(T (&items)[N], AP_AT) { return Reduce(items, cub::Sum(), ap_at); }
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
  static constexpr int block = X * Y * Z, warps = (block + 31) / 32;
  struct storage {
    T of_warp[warps];
    T prefix;
  };
  AP_STORAGE(BlockScan)

  struct parts {
    T exclusive, all;
    bool any_before;  // else `exclusive` is nothing
  };
  template <class Op> AP_VERB parts scan(const T& v, T& inclusive, Op op, ap::place at) {
    const detail::lanes<32> w;
    const int warp = detail::tid() / 32;
    inclusive = detail::scanned(w, v, op, at);
    parts p{detail::from_lane(w.mask, inclusive, ap::lane() > 0 ? ap::lane() - 1 : 0, at), inclusive,
            detail::tid() > 0};
    if constexpr (warps == 1) {
      p.all = detail::from_lane(w.mask, inclusive, w.count - 1, at);
      return p;
    }
    if (ap::lane() == w.count - 1) temp_.of_warp[warp] = inclusive;
    __syncthreads(at);
    T before = temp_.of_warp[0], upto = before;
    for (int i = 1; i < warps; ++i) {
      const T next = temp_.of_warp[i];
      if (i == warp) before = upto;
      upto = static_cast<T>(op(upto, next));
    }
    p.all = upto;
    if (warp > 0) {
      p.exclusive = ap::lane() > 0 ? static_cast<T>(op(before, p.exclusive)) : before;
      inclusive = static_cast<T>(op(before, inclusive));
    }
    return p;
  }
  // What a callback of the first warp says comes before the block.
  template <class Prefix> AP_VERB T prefix(const T& all, Prefix& callback, ap::place at) {
    if (detail::tid() < 32) {
      const T before = callback(all);
      if (detail::tid() == 0) temp_.prefix = before;
    }
    __syncthreads(at);
    return temp_.prefix;
  }
  template <class F> static constexpr bool is_callback = std::is_invocable_v<F&, T>;
  template <int N, class Op>
  AP_VERB static void within(T (&in)[N], T (&out)[N], T mine, bool any, Op op, bool inclusive) {
    for (int i = 0; i < N; ++i) {
      const T v = in[i], upto = any ? static_cast<T>(op(mine, v)) : v;
      if (inclusive || any) out[i] = inclusive ? upto : mine;
      mine = upto;
      any = true;
    }
  }

 public:
  template <int N, class Op> AP_VERB void InclusiveScan(T (&in)[N], T (&out)[N], Op op, T& all, AP_AT) {
    T mine;
    const parts p = scan(detail::thread_reduced(in, op), mine, op, ap_at);
    all = p.all;
    within(in, out, p.exclusive, p.any_before, op, true);
  }
  template <int N, class Op> AP_VERB void InclusiveScan(T (&in)[N], T (&out)[N], Op op, AP_AT) {
    T all;
    InclusiveScan(in, out, op, all, ap_at);
  }
  template <int N, class Op, class Prefix>
  requires is_callback<Prefix> AP_VERB void InclusiveScan(T (&in)[N], T (&out)[N], Op op, Prefix& callback,
                                                          AP_AT) {
    T mine;
    const parts p = scan(detail::thread_reduced(in, op), mine, op, ap_at);
    const T before = prefix(p.all, callback, ap_at);
    within(in, out, p.any_before ? static_cast<T>(op(before, p.exclusive)) : before, true, op, true);
  }
  template <int N, class Op>
  AP_VERB void ExclusiveScan(T (&in)[N], T (&out)[N], T first, Op op, T& all, AP_AT) {
    T mine;
    const parts p = scan(detail::thread_reduced(in, op), mine, op, ap_at);
    all = p.all;
    within(in, out, p.any_before ? static_cast<T>(op(first, p.exclusive)) : first, true, op, false);
  }
  template <int N, class Op> AP_VERB void ExclusiveScan(T (&in)[N], T (&out)[N], T first, Op op, AP_AT) {
    T all;
    ExclusiveScan(in, out, first, op, all, ap_at);
  }
  template <int N, class Op> AP_VERB void ExclusiveScan(T (&in)[N], T (&out)[N], Op op, T& all, AP_AT) {
    T mine;
    const parts p = scan(detail::thread_reduced(in, op), mine, op, ap_at);
    all = p.all;
    within(in, out, p.exclusive, p.any_before, op, false);
  }
  template <int N, class Op> AP_VERB void ExclusiveScan(T (&in)[N], T (&out)[N], Op op, AP_AT) {
    T all;
    ExclusiveScan(in, out, op, all, ap_at);
  }
  template <int N, class Op, class Prefix>
  requires is_callback<Prefix> AP_VERB void ExclusiveScan(T (&in)[N], T (&out)[N], Op op, Prefix& callback,
                                                          AP_AT) {
    T mine;
    const parts p = scan(detail::thread_reduced(in, op), mine, op, ap_at);
    const T before = prefix(p.all, callback, ap_at);
    within(in, out, p.any_before ? static_cast<T>(op(before, p.exclusive)) : before, true, op, false);
  }
#define AP_ONE_ITEM(Name, ...)                                             \
  template <class... A> AP_VERB void Name(const T& in, T& out, A&&... a) { \
    T items[1] = {in};                                                     \
    T& alias = out;                                                        \
    Name(items, reinterpret_cast<T(&)[1]>(alias), a...);                   \
  }
  AP_ONE_ITEM(InclusiveScan)
  AP_ONE_ITEM(ExclusiveScan)
  AP_ONE_ITEM(InclusiveSum)
  AP_ONE_ITEM(ExclusiveSum)
#undef AP_ONE_ITEM
  template <int N> AP_VERB void InclusiveSum(T (&in)[N], T (&out)[N], AP_AT) {
    InclusiveScan(in, out, cub::Sum(), ap_at);
  }
  template <int N> AP_VERB void InclusiveSum(T (&in)[N], T (&out)[N], T& all, AP_AT) {
    InclusiveScan(in, out, cub::Sum(), all, ap_at);
  }
  template <int N, class Prefix>
  requires is_callback<Prefix> AP_VERB void InclusiveSum(T (&in)[N], T (&out)[N], Prefix& callback, AP_AT) {
    InclusiveScan(in, out, cub::Sum(), callback, ap_at);
  }
  template <int N> AP_VERB void ExclusiveSum(T (&in)[N], T (&out)[N], AP_AT) {
    ExclusiveScan(in, out, T{}, cub::Sum(), ap_at);
  }
  template <int N> AP_VERB void ExclusiveSum(T (&in)[N], T (&out)[N], T& all, AP_AT) {
    ExclusiveScan(in, out, T{}, cub::Sum(), all, ap_at);
  }
  template <int N, class Prefix>
  requires is_callback<Prefix> AP_VERB void ExclusiveSum(T (&in)[N], T (&out)[N], Prefix& callback, AP_AT) {
    ExclusiveScan(in, out, cub::Sum(), callback, ap_at);
  }
};

template <class T, int X, int N, bool = false, int Y = 1, int Z = 1, int = 0> class BlockExchange {
  static constexpr int block = X * Y * Z;
  struct storage {
    T item[block * N];
  };
  AP_STORAGE(BlockExchange)
  enum order { blocked, striped, warp_striped };
  AP_VERB static int place_of(order o, int i) {
    const int t = detail::tid();
    return o == blocked ? t * N + i : o == striped ? i * block + t : t / 32 * 32 * N + i * 32 + t % 32;
  }
  template <class In, class Out> AP_VERB void move(In& in, Out& out, order from, order to, ap::place at) {
    for (int i = 0; i < N; ++i) temp_.item[place_of(from, i)] = in[i];
    if (from == warp_striped || to == warp_striped)
      __syncwarp(detail::lanes<32>().mask, at);
    else
      __syncthreads(at);
    for (int i = 0; i < N; ++i) out[i] = temp_.item[place_of(to, i)];
  }
  template <class In, class Out, class R>
  AP_VERB void scatter(In& in, Out& out, R& ranks, order to, ap::place at) {
    for (int i = 0; i < N; ++i)
      if (ranks[i] >= 0) temp_.item[ranks[i]] = in[i];
    __syncthreads(at);
    for (int i = 0; i < N; ++i) out[i] = temp_.item[place_of(to, i)];
  }

 public:
#define AP_MOVE(Name, from, to)                                                  \
  template <class Out> AP_VERB void Name(const T(&in)[N], Out(&out)[N], AP_AT) { \
    move(in, out, from, to, ap_at);                                              \
  }                                                                              \
  AP_VERB void Name(T(&items)[N], AP_AT) { move(items, items, from, to, ap_at); }
  AP_MOVE(StripedToBlocked, striped, blocked)
  AP_MOVE(BlockedToStriped, blocked, striped)
  AP_MOVE(WarpStripedToBlocked, warp_striped, blocked)
  AP_MOVE(BlockedToWarpStriped, blocked, warp_striped)
#undef AP_MOVE
#define AP_SCATTER(Name, to)                                                                            \
  template <class Out, class R> AP_VERB void Name(const T(&in)[N], Out(&out)[N], R(&ranks)[N], AP_AT) { \
    scatter(in, out, ranks, to, ap_at);                                                                 \
  }                                                                                                     \
  template <class R> AP_VERB void Name(T(&items)[N], R(&ranks)[N], AP_AT) {                             \
    scatter(items, items, ranks, to, ap_at);                                                            \
  }
  AP_SCATTER(ScatterToBlocked, blocked)
  AP_SCATTER(ScatterToStriped, striped)
  AP_SCATTER(ScatterToStripedGuarded, striped)
#undef AP_SCATTER
};

namespace detail {
template <class T, int Block, int N, bool Used> struct exchange_storage
    : BlockExchange<T, Block, N>::TempStorage {};
template <class T, int Block, int N> struct exchange_storage<T, Block, N, false> {};
}  // namespace detail

template <class T, int X, int N, BlockLoadAlgorithm How = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad {
  static constexpr int block = X * Y * Z;
  static constexpr bool by_warps = How >= BLOCK_LOAD_WARP_TRANSPOSE, exchanges = How >= BLOCK_LOAD_TRANSPOSE;
  using storage = detail::exchange_storage<T, block, N, exchanges>;
  AP_STORAGE(BlockLoad)

 public:
  template <class I, class... A> AP_VERB void Load(I from, T (&items)[N], A... valid_and_other) {
    const int t = detail::tid();
    if constexpr (by_warps)
      LoadDirectWarpStriped(t, from, items, valid_and_other...);
    else if constexpr (How == BLOCK_LOAD_STRIPED || How == BLOCK_LOAD_TRANSPOSE)
      LoadDirectStriped<block>(t, from, items, valid_and_other...);
    else
      LoadDirectBlocked(t, from, items, valid_and_other...);
    if constexpr (exchanges) {
      BlockExchange<T, block, N> e(temp_);
      if constexpr (by_warps)
        e.WarpStripedToBlocked(items);
      else
        e.StripedToBlocked(items);
    }
  }
};

template <class T, int X, int N, BlockStoreAlgorithm How = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore {
  static constexpr int block = X * Y * Z;
  static constexpr bool by_warps = How >= BLOCK_STORE_WARP_TRANSPOSE,
                        exchanges = How >= BLOCK_STORE_TRANSPOSE;
  using storage = detail::exchange_storage<T, block, N, exchanges>;
  AP_STORAGE(BlockStore)

 public:
  template <class I, class... A> AP_VERB void Store(I to, T (&items)[N], A... valid) {
    const int t = detail::tid();
    if constexpr (exchanges) {
      BlockExchange<T, block, N> e(temp_);
      if constexpr (by_warps)
        e.BlockedToWarpStriped(items);
      else
        e.BlockedToStriped(items);
    }
    if constexpr (by_warps)
      StoreDirectWarpStriped(t, to, items, valid...);
    else if constexpr (How == BLOCK_STORE_STRIPED || How == BLOCK_STORE_TRANSPOSE)
      StoreDirectStriped<block>(t, to, items, valid...);
    else
      StoreDirectBlocked(t, to, items, valid...);
  }
};

template <class T, int N, WarpLoadAlgorithm How = WARP_LOAD_DIRECT, int Threads = 32, int = 0>
class WarpLoad {
  struct storage {
    T item[How == WARP_LOAD_TRANSPOSE ? Threads * N : 1];
  };
  AP_STORAGE(WarpLoad)

 public:
  template <class I, class... A> AP_VERB void Load(I from, T (&items)[N], A... valid_and_other) {
    const detail::lanes<Threads> w;
    if constexpr (How == WARP_LOAD_DIRECT || How == WARP_LOAD_VECTORIZE)
      LoadDirectBlocked(w.rank(), from, items, valid_and_other...);
    else
      LoadDirectStriped<Threads>(w.rank(), from, items, valid_and_other...);
    if constexpr (How == WARP_LOAD_TRANSPOSE) {
      StoreDirectStriped<Threads>(w.rank(), temp_.item, items);
      __syncwarp(w.mask);
      LoadDirectBlocked(w.rank(), temp_.item, items);
    }
  }
};
template <class T, int N, WarpStoreAlgorithm How = WARP_STORE_DIRECT, int Threads = 32, int = 0>
class WarpStore {
  struct storage {
    T item[How == WARP_STORE_TRANSPOSE ? Threads * N : 1];
  };
  AP_STORAGE(WarpStore)

 public:
  template <class I, class... A> AP_VERB void Store(I to, T (&items)[N], A... valid) {
    const detail::lanes<Threads> w;
    if constexpr (How == WARP_STORE_TRANSPOSE) {
      StoreDirectBlocked(w.rank(), temp_.item, items);
      __syncwarp(w.mask);
      LoadDirectStriped<Threads>(w.rank(), temp_.item, items);
    }
    if constexpr (How == WARP_STORE_DIRECT || How == WARP_STORE_VECTORIZE)
      StoreDirectBlocked(w.rank(), to, items, valid...);
    else
      StoreDirectStriped<Threads>(w.rank(), to, items, valid...);
  }
};

// Sorting: thread 0 puts the items in order between two barriers.
namespace detail {
template <class K, class V, int Block, int N> class block_sort {
  static constexpr int all = Block * N;
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
    if (tid() == 0) {
      unsigned short half[all];
      for (int i = 0; i < all; ++i) order[i] = static_cast<unsigned short>(i % N * Block + i / N);
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
      __syncthreads(at);
      bring(value, mine, at);
      if (tid() == 0) permute(value, order);
      take(value, mine, to_striped, at);
    }
  }

 private:
  template <class T> AP_VERB static void bring(T* in, const T (&mine)[N], ap::place at) {
    for (int i = 0; i < N; ++i) in[i * Block + tid()] = mine[i];
    __syncthreads(at);
  }
  template <class T> AP_VERB static void take(const T* in, T (&mine)[N], bool to_striped, ap::place at) {
    __syncthreads(at);
    for (int i = 0; i < N; ++i) mine[i] = in[to_striped ? i * Block + tid() : tid() * N + i];
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

template <class K, int X, int N, class V = NullType, int Y = 1, int Z = 1> class BlockMergeSort {
  using sorter = detail::block_sort<K, V, X * Y * Z, N>;
  using storage = typename sorter::storage;
  AP_STORAGE(BlockMergeSort)

 public:
#define AP_SORT(Name)                                                                     \
  template <class Less> AP_VERB void Name(K(&keys)[N], Less less, AP_AT) {                \
    sorter::sort(temp_, keys, nullptr, false, less, ap_at);                               \
  }                                                                                       \
  template <class Less> AP_VERB void Name(K(&keys)[N], V(&values)[N], Less less, AP_AT) { \
    sorter::sort(temp_, keys, values, false, less, ap_at);                                \
  }
  AP_SORT(Sort)
  AP_SORT(StableSort)
#undef AP_SORT
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
