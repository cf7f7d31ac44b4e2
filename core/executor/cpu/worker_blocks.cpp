// SPDX-License-Identifier: Apache-2.0
// How a worker's blocks and threads begin and end.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "worker.hpp"

#if ANTIPHASE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace antiphase::cpu_detail {
namespace {

constexpr std::size_t shared_alignment = 1024;

std::size_t shared_stride(std::size_t bytes) {
  return (bytes + shared_alignment - 1) / shared_alignment * shared_alignment + shared_alignment;
}

}  // namespace

worker::~worker() { discard(); }

// Ends every fiber, even one stuck in a kernel: Boost.Context unwinds its stack.
void worker::discard() {
  fiber here_for_good;
  for (auto& block : blocks_)
    for (auto& t : block->thread) {
      if (t.get() == abandoned_ || t->inside_hook)
        switch_.leave(t->self);
      else
        switch_.end(here_for_good, t->self);
    }
  abandoned_ = nullptr;
  blocks_.clear();
  clusters_.clear();
  ready_.clear();
  polling_.clear();
  threads_ = 0;
}

void worker::prepare(int resident) {
  const int threads = launch_->kernel.threads;
  if (threads != threads_ || static_cast<int>(blocks_.size()) < resident) {
    discard();
    const std::size_t count = static_cast<std::size_t>(threads) * static_cast<std::size_t>(resident);
    if (stacks_.count() < count) stacks_.reserve(count);
    threads_ = threads;
    for (int b = 0; b < resident; ++b) {
      auto& block = *blocks_.emplace_back(std::make_unique<block_state>());
      block.threads = threads;
      block.warp.resize(static_cast<std::size_t>((threads + 31) / 32));
      block.lanes.resize(block.warp.size());
      block.past.resize(block.warp.size());
      block.whole.resize(block.warp.size());
      block.matrices.resize(static_cast<std::size_t>((threads + 31) / 32));
      block.warpgroup.resize(static_cast<std::size_t>((threads + 127) / 128));
      for (int i = 0; i < threads; ++i) {
        auto& t = *block.thread.emplace_back(std::make_unique<thread_state>());
        t.index = i;
        t.block = &block;
        t.home = &block;
        t.owner = this;
        t.number =
            static_cast<std::size_t>(b) * static_cast<std::size_t>(threads) + static_cast<std::size_t>(i);
        const auto stack = stacks_.stack(t.number);
        t.self.bottom = static_cast<const unsigned char*>(stack.sp) - stack.size;
        t.self.size = stack.size;
        t.self.context = boost::context::fiber(std::allocator_arg, borrowed_stack{stack},
                                               [this, &t](boost::context::fiber&& from) {
                                                 switch_.arrived(t.self, std::move(from));
                                                 switch_.leaves_for_good([&] { enter_fiber(t); });
                                                 return boost::context::fiber{};
                                               });
      }
    }
  }
  const std::size_t stride = shared_stride(launch_->kernel.shared_bytes);
#if ANTIPHASE_ASAN
  // poisoned by the previous launch
  __asan_unpoison_memory_region(shared_storage_.data(), shared_storage_.size());
#endif
  const std::size_t bytes = stride * static_cast<std::size_t>(resident) + shared_alignment;
  unsigned char* storage = nullptr;
  if (watch() != nullptr) {
    storage = watch()->shared_memory(bytes);
  } else {
    shared_storage_.assign(bytes, 0);
    storage = shared_storage_.data();
  }
  const auto start = reinterpret_cast<std::uintptr_t>(storage);
  unsigned char* base =
      storage + ((start + shared_alignment - 1) / shared_alignment * shared_alignment - start);
  for (auto& block : blocks_) {
    block->shared = base;
    block->shared_bytes = launch_->kernel.shared_bytes;
    base += stride;
    if (block == blocks_[static_cast<std::size_t>(resident) - 1]) break;
  }
  const auto extent = static_cast<std::size_t>(launch_->kernel.cluster);
  clusters_ = std::vector<cluster_state>(static_cast<std::size_t>(resident) / extent);
  for (std::size_t c = 0; c < clusters_.size(); ++c) {
    clusters_[c].blocks = std::span(blocks_).subspan(c * extent, extent);
    for (std::size_t rank = 0; rank < extent; ++rank) {
      block_state& block = *clusters_[c].blocks[rank];
      block.cluster = &clusters_[c];
      block.cluster_rank = static_cast<int>(rank);
      block.cluster_extent = static_cast<int>(extent);
    }
  }
}

// A fiber runs one thread after another, for the life of the worker.
void worker::enter_fiber(thread_state& self) {
  for (;;) {
    std::exception_ptr thrown;
    try {
      launch_->kernel.body(launch_->params);
      finish_thread(self);
    } catch (const boost::context::detail::forced_unwind&) {
      throw;
    } catch (...) {
      thrown = std::current_exception();
    }
    if (thrown) {
      failure_ = thrown;
      switch_.go(self.self, main_);
    } else {
      switch_from(self.self);
    }
  }
}

// Blocks of a cluster are neighbours along x; the grid's x is a multiple of the cluster.
bool worker::begin_cluster(cluster_state& cluster) {
  if (launch_->watch != nullptr && launch_->watch->enough()) return false;
  const std::uint64_t first = launch_->next_block.fetch_add(cluster.blocks.size(), std::memory_order_relaxed);
  if (first >= launch_->blocks() || launch_->failed.load(std::memory_order_relaxed)) return false;
  cluster.number = first / cluster.blocks.size();
  cluster.unfinished = static_cast<int>(cluster.blocks.size());
  cluster.running = cluster.missing = cluster.unfinished * launch_->kernel.threads;
  for (const auto& block : cluster.blocks) {
    const std::uint64_t number = first + static_cast<unsigned>(block->cluster_rank);
    begin_block(*block, launch_->chosen.empty() ? number : launch_->chosen[number]);
  }
  return true;
}

extent3 worker::index_of(std::uint64_t block) const {
  return {static_cast<unsigned>(block % launch_->grid.x),
          static_cast<unsigned>(block / launch_->grid.x % launch_->grid.y),
          static_cast<unsigned>(block / launch_->grid.x / launch_->grid.y)};
}
extent3 worker::cancel_cluster() {
  const std::uint64_t size = static_cast<std::uint64_t>(launch_->kernel.cluster),
                      first = launch_->next_block.fetch_add(size, std::memory_order_relaxed);
  if (first >= launch_->blocks()) return {~0u, ~0u, ~0u};
  progress();
  return index_of(launch_->chosen.empty() ? first : launch_->chosen[first]);
}

void worker::begin_block(block_state& block, std::uint64_t index) {
  block.index = index_of(index);
  block.grid = launch_->grid;
  block.running = block.threads;
#if ANTIPHASE_ASAN
  __asan_unpoison_memory_region(block.shared, shared_stride(block.shared_bytes) - shared_alignment);
#endif
  std::memset(block.shared, unwritten_byte, block.shared_bytes);
#if ANTIPHASE_ASAN
  __asan_poison_memory_region(block.shared + block.shared_bytes,
                              shared_stride(block.shared_bytes) - block.shared_bytes - 1);
#endif
  block.barrier.reset();
  block.gone.clear();
  block.warp_at.assign(block.lanes.size(), nullptr);
  block.aligned_turns.assign(block.lanes.size(), {});
  block.barriers_before.clear();
  block.warps_apart.reset();
  for (auto& m : block.named) {
    m.reset();
    m.incomplete = 0;
    m.counted = 0;
    m.goes_on = false;
    m.before.clear();
    for (auto& w : m.warps) w = {};
  }
  for (auto& meetings : block.warp) meetings.clear();
  for (auto& m : block.whole) m.waiting.clear();
  for (std::size_t warp = 0; warp < block.lanes.size(); ++warp) {
    block.lanes[warp] = lanes_present(block, warp);
    block.past[warp].clear();
  }
  block.at_mbarriers.clear();
  block.loads.clear();
  multiprocessor* const on =
      in_time() ? &multiprocessors_[block.thread[0]->number / static_cast<std::size_t>(threads_) /
                                    static_cast<std::size_t>(launch_->on_multiprocessor)]
                : nullptr;
  block.mbarriers.clear();
  block.delays = random_source(index + 1);
  for (auto& m : block.matrices) m.clear();
  for (auto& m : block.warpgroup) m.arrived = 0;
  for (auto& t : block.thread) {
    t->time = thread_clock(launch_->costs, on, t->index / 32, block.ended);
    t->copies.clear();
    t->stores = {};
    t->cluster_arrived = false;
    t->registers_fenced = false;
    t->used.clear();
    t->at_fence = {};
    t->loads = {};
    t->leaves = {};
    t->arms = 0;
    t->block_barriers = 0;
    t->met_again = false;
    t->loop = nullptr;
    for (unsigned& turns : t->aligned_turns) turns = 0;
    t->registers_set.clear();
    make_ready(*t);
  }
  if (watch() != nullptr) watch()->block_begins(block);
}

void worker::finish_thread(thread_state& self) {
  block_state& block = *self.home;
  bulk_store_queue& stores = self.stores;
  if (watch() != nullptr) watch()->thread_ends(self, self.place);
  if (!stores.open.empty() || stores.read < stores.groups.size())
    fail(self, fault::never_waited_for, place::current(),
         "the thread ended before its bulk stores had read shared memory");
  if (!block.matrices[static_cast<std::size_t>(self.index / 32)].operations.empty())
    fail(self, fault::never_waited_for, place::current(),
         "the thread ended with Tensor Core operations in flight");
  for (auto& group : stores.groups)
    for (auto& store : group) finish(store);
  stores = {};
  self.now = condition::finished;
  block.ended = std::max(block.ended, self.time.now());
  progress();
  cluster_state& cluster = *block.cluster;
  --cluster.running;
  if (!self.cluster_arrived || self.cluster_phase != cluster.phase) arrive(cluster);
  block.lanes[static_cast<std::size_t>(self.index / 32)] &= ~(1u << self.index % 32);
  if (const whole_warp_meeting& m = block.whole[static_cast<std::size_t>(self.index / 32)];
      !m.waiting.empty())
    lanes_missing(*m.waiting.front(), m.name, m.place);
  note_way_out(self);
  if (block.running > 1 && self.leaves.last > 0) {
    self.leaves.arms = self.arms;
    const auto known = std::ranges::find_if(block.gone, [&](const block_state::gone_thread& g) {
      return g.exit.last == self.leaves.last && g.exit.arms == self.arms;
    });
    block_state::gone_thread& gone =
        known != block.gone.end()
            ? *known
            : block.gone.emplace_back(block_state::gone_thread{self.index, self.leaves});
    if (block.barrier.arrived > 0 && self.leaves.goes_past(block.barrier.place))
      gone_past(*block.barrier.waiting.front(), gone, block.barrier.place);
  }
  if (--block.running > 0) return no_longer_missing(self);
  tell_apart(block, true);
  require_alike(block);
  if (watch() != nullptr)
    watch()->block_ends(block);  // reports loads in flight, by what was waited for
  else if (!block.loads.empty())
    fail(self, fault::never_waited_for, place::current(),
         fmt::format(
             "the block ended with {} {} in flight", block.loads.size(),
             block.loads.front().copies_of == nullptr ? "bulk loads" : "arrivals of asynchronous copies"));
  block.loads.clear();
  if (--cluster.unfinished == 0) begin_cluster(cluster);
}

// A thread has ended: the block barrier and its warp's operations now wait for the others only, and complete
// if these have all arrived. A named barrier counts warps, so it still misses a warp that has ended, just as
// a Tensor Core operation, which needs the whole warp, misses a lane.
void worker::no_longer_missing(const thread_state& self) {
  block_state& block = *self.home;
  if (block.barrier.arrived == block.running) complete(block.barrier);
  const auto warp = static_cast<std::size_t>(self.index / 32);
  for (auto& m : block.warp[warp])
    if (m->arrived != 0 && m->arrived == (m->mask & block.lanes[warp])) complete(*m);
  for (auto& m : block.named) {
    if (m.arrived == 0 && m.incomplete == 0) continue;
    if (m.warps[warp].lanes != 0 && m.warps[warp].lanes == block.lanes[warp])
      come(block, m, warp);
    else
      end_if_complete(block, m);
  }
}

// Fails threads of its warp that wait at an operation which needs this lane and which it has gone past.
// Records the lane for threads that arrive later.
void worker::note_way_out(const thread_state& self) {
  block_state& block = *self.home;
  const auto warp = static_cast<std::size_t>(self.index / 32);
  if (block.lanes[warp] == 0 || self.leaves.last == 0) return;
  const unsigned lane = 1u << self.index % 32;
  auto& past = block.past[warp];
  const auto same_way =
      std::ranges::find_if(past, [&](const lanes_gone& g) { return g.exit.last == self.leaves.last; });
  if (same_way == past.end())
    past.push_back({lane, self.leaves});
  else
    same_way->lanes |= lane;
  for (const auto& m : block.warp[warp])
    if (m->arrived != 0) require_none_past(*m->waiting.front(), m->mask & lane, m->place, named_by_mask);
  for (const auto& m : block.named)
    if (m.incomplete > 0 && m.warps[warp].aligned)
      require_none_past(*m.warps[warp].coming.front(), lane, m.warps[warp].place, all_of_warp);
}

}  // namespace antiphase::cpu_detail
