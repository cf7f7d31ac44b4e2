// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: the block, tiles of a warp, coalesced threads, the grid. Plain CUDA under the checker.
#pragma once
#include "cuda/atomic"

#include "letters.h"

namespace antiphase::plain {
void grid_barrier(place where);
unsigned grid_arrives(place where);
void grid_waits(unsigned phase, place where);
// Linear index in the block.
inline unsigned rank_in_block() { return static_cast<unsigned>(machine::current->index); }
inline unsigned threads_of_block() { return static_cast<unsigned>(machine::current->block->threads); }
inline dim3 times(dim3 a, dim3 by, dim3 plus = {0, 0, 0}) {
  return {a.x * by.x + plus.x, a.y * by.y + plus.y, a.z * by.z + plus.z};
}
}  // namespace antiphase::plain

namespace cooperative_groups {
namespace ap = antiphase::plain;
#define AP_CG_AT ap::place at = ap::place::current()

class thread_block {
 public:
  // barrier.sync, which is not the aligned form
  AP_VERB void sync(AP_CG_AT) const {
    antiphase::machine::barrier(0, 0, {.waits = true, .aligned = false}, at);
  }
  AP_VERB void barrier_sync(AP_CG_AT) const { sync(at); }
  // A block that is no cluster's has the cluster barrier to itself. Others wait for all at the end, as GPUs
  // do.
  struct arrival_token {};
  AP_VERB arrival_token barrier_arrive(AP_CG_AT) const {
    if (__clusterSizeInBlocks() == 1) antiphase::machine::cluster_arrive(at);
    return {};
  }
  AP_VERB void barrier_wait(arrival_token&&, AP_CG_AT) const {
    if (__clusterSizeInBlocks() == 1)
      antiphase::machine::cluster_wait(at);
    else
      antiphase::machine::block_barrier(at);
  }
  static unsigned thread_rank() { return ap::rank_in_block(); }
  static unsigned size() { return ap::threads_of_block(); }
  static unsigned num_threads() { return ap::threads_of_block(); }
  static dim3 group_index() { return ap::block_idx(); }
  static dim3 thread_index() { return ap::thread_idx(); }
  static dim3 group_dim() { return ap::block_dim(); }
  static dim3 dim_threads() { return ap::block_dim(); }
};
inline thread_block this_thread_block() { return {}; }
template <unsigned Threads = 1024> struct block_tile_memory {};  // what large tiles need on older GPUs
template <unsigned Threads> thread_block this_thread_block(block_tile_memory<Threads>&) { return {}; }

class grid_group {
 public:
  AP_VERB void sync(AP_CG_AT) const { ap::grid_barrier(at); }
  struct arrival_token {
    unsigned phase;
  };
  AP_VERB arrival_token barrier_arrive(AP_CG_AT) const { return {ap::grid_arrives(at)}; }
  AP_VERB void barrier_wait(arrival_token&& t, AP_CG_AT) const { ap::grid_waits(t.phase, at); }
  bool is_valid() const { return true; }
  static unsigned long long thread_rank() {
    return block_rank() * ap::threads_of_block() + ap::rank_in_block();
  }
  static unsigned long long block_rank() {
    const uint3 b = ap::block_idx();
    const dim3 g = ap::grid_dim();
    return (static_cast<unsigned long long>(b.z) * g.y + b.y) * g.x + b.x;
  }
  static unsigned long long num_blocks() {
    const dim3 g = ap::grid_dim();
    return static_cast<unsigned long long>(g.x) * g.y * g.z;
  }
  static unsigned long long size() { return num_blocks() * ap::threads_of_block(); }
  static unsigned long long num_threads() { return size(); }
  static dim3 group_dim() { return ap::grid_dim(); }
  static dim3 dim_blocks() { return ap::grid_dim(); }
  static dim3 block_index() { return ap::block_idx(); }
  static dim3 dim_threads() { return ap::times(ap::grid_dim(), ap::block_dim()); }
  static dim3 thread_index() { return ap::times(ap::block_idx(), ap::block_dim(), ap::thread_idx()); }
  static dim3 dim_clusters() { return __clusterGridDimInClusters(); }
  static dim3 cluster_index() { return __clusterIdx(); }
  static unsigned long long num_clusters() { return num_blocks() / __clusterSizeInBlocks(); }
  static unsigned long long cluster_rank() {
    const dim3 c = cluster_index(), g = dim_clusters();
    return (static_cast<unsigned long long>(c.z) * g.y + c.y) * g.x + c.x;
  }
};
inline grid_group this_grid() { return {}; }

class cluster_group {
 public:
  struct arrival_token {};
  AP_VERB static void sync(AP_CG_AT) {
    antiphase::machine::cluster_arrive(at);
    antiphase::machine::cluster_wait(at);
  }
  AP_VERB static arrival_token barrier_arrive(AP_CG_AT) {
    return antiphase::machine::cluster_arrive(at), arrival_token();
  }
  AP_VERB static void barrier_wait(AP_CG_AT) { antiphase::machine::cluster_wait(at); }
  AP_VERB static void barrier_wait(arrival_token&&, AP_CG_AT) { antiphase::machine::cluster_wait(at); }
  AP_VERB static unsigned query_shared_rank(const void* p, AP_CG_AT) {
    return static_cast<unsigned>(ap::block_of(p, at));
  }
  template <class T> AP_VERB static T* map_shared_rank(T* mine, int rank, AP_CG_AT) {
    return static_cast<T*>(ap::in_block(const_cast<std::remove_cv_t<T>*>(mine), rank, at));
  }
  static dim3 block_index() { return __clusterRelativeBlockIdx(); }
  static unsigned block_rank() { return __clusterRelativeBlockRank(); }
  static dim3 thread_index() { return ap::times(block_index(), ap::block_dim(), ap::thread_idx()); }
  static unsigned thread_rank() { return block_rank() * ap::threads_of_block() + ap::rank_in_block(); }
  static dim3 dim_blocks() { return ap::cluster_dim(); }
  static unsigned num_blocks() { return __clusterSizeInBlocks(); }
  static dim3 dim_threads() { return ap::times(dim_blocks(), ap::block_dim()); }
  static unsigned num_threads() { return num_blocks() * ap::threads_of_block(); }
  static unsigned size() { return num_threads(); }
};
inline cluster_group this_cluster() { return {}; }

// Some lanes of the warp, given by a mask.
class lanes_of_warp {
 public:
  explicit lanes_of_warp(unsigned mask) : mask_(mask) {}
  AP_VERB void sync(AP_CG_AT) const { __syncwarp(mask_, at); }
  unsigned thread_rank() const { return static_cast<unsigned>(__popc(mask_ & ((1u << ap::lane()) - 1))); }
  unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  template <class T> AP_VERB T shfl(T v, int from, AP_CG_AT) const {
    return ap::moved(mask_, v, lane_of(from % static_cast<int>(size())), at);
  }
  template <class T> AP_VERB T shfl_down(T v, unsigned by, AP_CG_AT) const {
    const unsigned to = thread_rank() + by;
    return ap::moved(mask_, v, to < size() ? lane_of(static_cast<int>(to)) : ap::lane(), at);
  }
  template <class T> AP_VERB T shfl_up(T v, unsigned by, AP_CG_AT) const {
    const unsigned rank = thread_rank();
    return ap::moved(mask_, v, rank >= by ? lane_of(static_cast<int>(rank - by)) : ap::lane(), at);
  }
  template <class T> AP_VERB T shfl_xor(T v, unsigned by, AP_CG_AT) const {
    const unsigned to = thread_rank() ^ by;
    return ap::moved(mask_, v, to < size() ? lane_of(static_cast<int>(to)) : ap::lane(), at);
  }
  AP_VERB unsigned ballot(int p, AP_CG_AT) const {
    const unsigned votes = ap::vote(mask_, p != 0, at);
    unsigned ranks = 0;
    for (int r = 0; r < static_cast<int>(size()); ++r) ranks |= (votes >> lane_of(r) & 1u) << r;
    return ranks;
  }
  template <class T> AP_VERB unsigned match_any(T v, AP_CG_AT) const {
    return __match_any_sync(mask_, v, at);
  }
  AP_VERB int any(int p, AP_CG_AT) const { return ap::vote(mask_, p != 0, at) != 0; }
  AP_VERB int all(int p, AP_CG_AT) const { return ap::vote(mask_, p == 0, at) == 0; }
  unsigned mask() const { return mask_; }
  int lane_of(int rank) const {
    unsigned left = mask_;
    while (rank-- > 0) left &= left - 1;
    return __ffs(static_cast<int>(left)) - 1;
  }

 protected:
  unsigned mask_;
};

class coalesced_group : public lanes_of_warp {
 public:
  using lanes_of_warp::lanes_of_warp;
};
AP_VERB coalesced_group coalesced_threads(AP_CG_AT) {
  return coalesced_group(antiphase::plain::lanes_of_group(at));
}

// The lanes of a group with the same label, or the same answer.
template <class Group, class T> AP_VERB coalesced_group labeled_partition(const Group& g, T label, AP_CG_AT) {
  return coalesced_group(__match_any_sync(g.mask(), label, at));
}
template <class Group> AP_VERB coalesced_group binary_partition(const Group& g, bool answer, AP_CG_AT) {
  const unsigned yes = ap::vote(g.mask(), answer, at);
  return coalesced_group(answer ? yes : g.mask() & ~yes);
}

// A tile of a block, or of another tile; Parent is void where it does not matter.
template <unsigned Size, class Parent = void> class thread_block_tile : public lanes_of_warp {
  static_assert(
      Size > 0 && Size <= 32 && (Size & (Size - 1)) == 0,
      "antiphase check: tiles of more than 32 threads are not supported here: use tiles of 1, 2, 4, 8, 16 "
      "or 32 threads, or this_thread_block()");

 public:
  static constexpr unsigned ap_size = Size;
  thread_block_tile()
      : lanes_of_warp((Size == 32 ? ~0u : (1u << Size % 32) - 1)
                      << ap::lane() / static_cast<int>(Size) * static_cast<int>(Size)),
        rank_(ap::rank_in_block() / Size),
        size_((ap::threads_of_block() + Size - 1) / Size) {
    if constexpr (requires { Parent::ap_size; }) {
      rank_ %= Parent::ap_size / Size;
      size_ = Parent::ap_size / Size;
    }
  }
  template <class P> thread_block_tile(const thread_block_tile<Size, P>& t) requires std::is_void_v<Parent>
      : lanes_of_warp(t), rank_(t.meta_group_rank()), size_(t.meta_group_size()) {}
  static unsigned thread_rank() { return static_cast<unsigned>(ap::lane()) % Size; }
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned meta_group_rank() const { return rank_; }
  unsigned meta_group_size() const { return size_; }

 private:
  unsigned rank_, size_;
};
template <unsigned Size, class Parent> thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}
namespace experimental {  // where CUDA 11 has what large tiles need
template <unsigned Bytes = 8, unsigned Threads = 1024> struct block_tile_memory {};
template <unsigned Bytes, unsigned Threads>
thread_block this_thread_block(block_tile_memory<Bytes, Threads>&) {
  return {};
}
using cooperative_groups::tiled_partition;
}  // namespace experimental

// A group of the block, chosen at run time: the block or a tile of it.
class thread_group {
 public:
  thread_group(const thread_block&) {}
  thread_group(const lanes_of_warp& lanes) : mask_(lanes.mask()) {}
  AP_VERB void sync(AP_CG_AT) const {
    if (mask_ != 0)
      __syncwarp(mask_, at);
    else
      antiphase::machine::block_barrier(at);
  }
  unsigned thread_rank() const {
    return mask_ != 0 ? lanes_of_warp(mask_).thread_rank() : thread_block::thread_rank();
  }
  unsigned size() const { return mask_ != 0 ? lanes_of_warp(mask_).size() : thread_block::size(); }
  unsigned num_threads() const { return size(); }

 private:
  unsigned mask_ = 0;  // 0: the block
};
inline lanes_of_warp tile_of(unsigned size) {
  return lanes_of_warp((size == 32 ? ~0u : (1u << size % 32) - 1)
                       << static_cast<unsigned>(ap::lane()) / size * size);
}
inline thread_group tiled_partition(const thread_group&, unsigned size) { return tile_of(size); }
inline coalesced_group tiled_partition(const coalesced_group& g, unsigned size) {
  unsigned mask = 0;
  for (unsigned r = g.thread_rank() / size * size, last = r + size; r < last && r < g.size(); ++r)
    mask |= 1u << g.lane_of(static_cast<int>(r));
  return coalesced_group(mask);
}

template <class Group> AP_VERB void sync(const Group& g, AP_CG_AT) { g.sync(at); }
template <class Group> auto thread_rank(const Group& g) { return g.thread_rank(); }

template <class T> struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};
template <class Group, class T, class Op> AP_VERB T reduce(const Group& g, T v, Op op, AP_CG_AT) {
  return ap::warp_reduced(g.mask(), v, op, at);
}
// One lane brings what the group has computed to an atomic variable; its value before.
template <class Atomic, class T, class Op> AP_VERB T updated(Atomic& to, T v, const Op& op) {
  constexpr auto relaxed = cuda::memory_order_relaxed;
  if constexpr (std::is_same_v<Op, plus<T>>) {
    return to.fetch_add(v, relaxed);
  } else {
    T before = to.load(relaxed);
    while (!to.compare_exchange_weak(before, op(before, v), relaxed, relaxed)) {
    }
    return before;
  }
}
template <class Group, class Atomic, class T, class Op>
AP_VERB void reduce_update_async(const Group& g, Atomic& to, T v, Op op, AP_CG_AT) {
  const T all = reduce(g, v, op, at);
  if (g.thread_rank() == 0) updated(to, all, op);
}
template <class Group, class Atomic, class T, class Op>
AP_VERB void reduce_store_async(const Group& g, Atomic& to, T v, Op op, AP_CG_AT) {
  const T all = reduce(g, v, op, at);
  if (g.thread_rank() == 0) to.store(all, cuda::memory_order_relaxed);
}
template <class Group, class T, class Op> AP_VERB T inclusive_scan(const Group& g, T v, Op op, AP_CG_AT) {
  for (unsigned by = 1; by < g.size(); by *= 2) {
    const T other = g.shfl_up(v, by, at);
    if (g.thread_rank() >= by) v = op(other, v);
  }
  return v;
}
template <class Group, class T> AP_VERB T inclusive_scan(const Group& g, T v, AP_CG_AT) {
  return inclusive_scan(g, v, plus<T>(), at);
}
template <class Group, class T, class Op> AP_VERB T exclusive_scan(const Group& g, T v, Op op, AP_CG_AT) {
  const T all = g.shfl_up(inclusive_scan(g, v, op, at), 1, at);
  return g.thread_rank() == 0 ? T() : all;
}
template <class Group, class T> AP_VERB T exclusive_scan(const Group& g, T v, AP_CG_AT) {
  return exclusive_scan(g, v, plus<T>(), at);
}
template <class Group, class Atomic, class T, class Op>
AP_VERB T inclusive_scan_update(const Group& g, Atomic& to, T v, Op op, AP_CG_AT) {
  const T mine = inclusive_scan(g, v, op, at);
  T before{};
  if (g.thread_rank() == g.size() - 1) before = updated(to, mine, op);
  return op(g.shfl(before, static_cast<int>(g.size()) - 1, at), mine);
}
template <class Group, class Atomic, class T, class Op>
AP_VERB T exclusive_scan_update(const Group& g, Atomic& to, T v, Op op, AP_CG_AT) {
  const T mine = inclusive_scan(g, v, op, at), others = g.shfl_up(mine, 1, at);
  T before{};
  if (g.thread_rank() == g.size() - 1) before = updated(to, mine, op);
  before = g.shfl(before, static_cast<int>(g.size()) - 1, at);
  return g.thread_rank() == 0 ? before : op(before, others);
}
// One thread of the group calls the function; the others may take its result.
template <class Group, class F, class... A> AP_VERB void invoke_one(const Group& g, F&& f, A&&... a) {
  if (g.thread_rank() == 0) std::forward<F>(f)(std::forward<A>(a)...);
}
template <class Group, class F, class... A>
AP_VERB auto invoke_one_broadcast(const Group& g, F&& f, A&&... a) {
  std::remove_cvref_t<decltype(std::forward<F>(f)(std::forward<A>(a)...))> result{};
  if (g.thread_rank() == 0) result = std::forward<F>(f)(std::forward<A>(a)...);
  return g.shfl(result, 0);
}
#undef AP_CG_AT

}  // namespace cooperative_groups

#include "letters.h"
