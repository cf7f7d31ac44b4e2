// SPDX-License-Identifier: Apache-2.0
// CUB's collectives of blocks under the checker, as those of warps: sums, scans, exchanges, loads and stores.
#pragma once
#include "cub_warp.h"

#include <antiphase/plain/letters.h>

namespace cub {

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

template <class T, int N, int Threads = 32, WarpExchangeAlgorithm = WARP_EXCHANGE_SMEM> class WarpExchange {
  struct storage {
    T item[Threads * N];
  };
  AP_STORAGE(WarpExchange)

 public:
  template <class Out> AP_VERB void BlockedToStriped(const T (&in)[N], Out (&out)[N], AP_AT) {
    const detail::lanes<Threads> w;
    StoreDirectBlocked(w.rank(), temp_.item, in);
    __syncwarp(w.mask, ap_at);
    LoadDirectStriped<Threads>(w.rank(), temp_.item, out);
  }
  template <class Out> AP_VERB void StripedToBlocked(const T (&in)[N], Out (&out)[N], AP_AT) {
    const detail::lanes<Threads> w;
    StoreDirectStriped<Threads>(w.rank(), temp_.item, in);
    __syncwarp(w.mask, ap_at);
    LoadDirectBlocked(w.rank(), temp_.item, out);
  }
  template <class Out, class R>
  AP_VERB void ScatterToStriped(const T (&in)[N], Out (&out)[N], R (&ranks)[N], AP_AT) {
    const detail::lanes<Threads> w;
    for (int i = 0; i < N; ++i) temp_.item[ranks[i]] = in[i];
    __syncwarp(w.mask, ap_at);
    LoadDirectStriped<Threads>(w.rank(), temp_.item, out);
  }
  template <class R> AP_VERB void ScatterToStriped(T (&items)[N], R (&ranks)[N], AP_AT) {
    ScatterToStriped(items, items, ranks, ap_at);
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

}  // namespace cub

#include <antiphase/plain/letters.h>
