// SPDX-License-Identifier: Apache-2.0
// The worker: which fiber runs next, how blocks begin and end.
#include "worker.hpp"

#include <fmt/format.h>
#include <unwind.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#if ANTIPHASE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace antiphase::machine {
thread_local constinit const thread_view* current = nullptr;
thread_local constinit scope next_scope = scope::device;
}  // namespace antiphase::machine

namespace antiphase::cpu_detail {
namespace {

constexpr std::size_t shared_alignment = 1024;
constexpr unsigned char poison = 0xFF;  // NaN in every floating-point format
// Rounds in vain before a launch is given up; fewer of many threads.
constexpr std::uint64_t idle_limit = 150'000, idle_limit_of_many = 1'000, idle_turns = 300'000;
// Turns in which nothing has changed, until states of threads are compared: at least so many, and so many of
// each thread, as threads that meet write nothing meanwhile. The most states that are kept.
constexpr std::uint64_t least_turns_before_states = 3'000, turns_of_a_thread_before_states = 8;
#if defined(__x86_64__) && !ANTIPHASE_ASAN
constexpr bool knows_states = true;
#else
constexpr bool knows_states = false;
#endif
constexpr std::size_t most_states = 100'000;
constexpr std::uint64_t rounds_of_known = 16;  // of all threads, without a new state, until they repeat
constexpr std::int64_t idle_nanoseconds = 30'000'000'000;

std::size_t shared_stride(std::size_t bytes) {
  return (bytes + shared_alignment - 1) / shared_alignment * shared_alignment + shared_alignment;
}

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void reset(meeting& m) {
  m.waiting.clear();
  m.arrived = 0;
  m.yes = 0;
  m.latest = 0;
}

// A hash of what lanes brought to an exchange: if it repeats, they may be waiting in a loop.
std::uint64_t number_of_exchange(const warp_meeting& m) {
  std::uint64_t n = m.arrived;
  for (unsigned left = m.bytes > 0 ? m.arrived : 0; left != 0; left &= left - 1) {
    std::uint64_t words[2] = {};
    std::memcpy(words, m.values[m.buffer][__builtin_ctz(left)].bytes, static_cast<std::size_t>(m.bytes));
    n = (n ^ words[0]) * 0x9E3779B97F4A7C15u + words[1];
    n ^= n >> 29;
  }
  return n | 1;
}
// Whether threads that meet once more with the same values may be waiting in a loop: one of them has looked
// at memory in vain, and none has done more. A loop that works may bring the same values for long.
bool may_wait(std::span<thread_state* const> all) {
  bool in_vain = false, more = false;
  for (thread_state* t : all) t->loads.meets(in_vain, more);
  return in_vain && !more;
}

}  // namespace

thread_state& here() {
  // `current` is only set in worker.cpp, always to a thread_state.
  return *const_cast<thread_state*>(static_cast<const thread_state*>(machine::current));
}

kernel_fault fault_of(const thread_state& self, fault kind, place where, const std::string& what) {
  const extent3& b = self.block->index;
  const std::string kernel = self.owner->launch().what.name;
  return kernel_fault(fmt::format("kernel {}, block ({}, {}, {}), thread {}: {} ({})", kernel, b.x, b.y, b.z,
                                  self.index, what, text(where)),
                      kind, kernel, what, b, self.index, where, self.code);
}
void fail(const thread_state& self, fault kind, place where, const std::string& what) {
  throw fault_of(self, kind, where, what);
}

bool way_out::goes_past(place barrier) const {
  const bool to_the_end = behind == ~0u;
  return to_the_end || (barrier.line() >= from && barrier.line() < behind &&
                        std::strcmp(barrier.file_name(), where.file_name()) == 0);
}
void gone_past(const thread_state& waiting, block_state::gone_thread& gone, place barrier) {
  if (std::exchange(gone.told, true)) return;
  kernel_fault f = fault_of(
      waiting, fault::divergent_barrier, barrier,
      fmt::format("divergent block barrier: all threads of the block that have not returned have to come to "
                  "it, or none, but thread {} has ended without it at {}; it is waited at",
                  gone.thread, text(gone.by.where)));
  observer* const watch = waiting.owner->watch();
  if (gone.by.behind != ~0u || (waiting.arms & ~gone.by.arms) == 0 || watch == nullptr) {
    waiting.owner->tell_apart(*waiting.home, false);
    throw f;
  }
  f.tolerated = kernel_fault::tolerance::ended_threads;
  watch->found(f);
}

void require_none_past(const thread_state& self, unsigned lanes, place where, const char* who) {
  for (const lanes_gone& g : self.home->past[static_cast<std::size_t>(self.index / 32)])
    if ((g.lanes & lanes) != 0 && g.by.goes_past(where))
      fail(self, fault::divergent_barrier, where,
           fmt::format("divergent warp operation: lanes {:#010x} of warp {} have gone past it without it, "
                       "and ended at {}. {} that have not "
                       "returned come to it",
                       g.lanes & lanes, self.index / 32, text(g.by.where), who));
}

bool load_history::waits(const void* code, const void* at, std::uint64_t value) {
  const auto same =
      std::find_if(seen_.begin(), seen_.end(), [&](const load& l) { return l.code == code && l.at == at; });
  if (same == seen_.end()) {
    if (seen_.size() == most) seen_.clear();
    seen_.push_back({code, at, value});
    in_vain_ = 0;
    again_ = false;
  } else if (std::exchange(same->value, value) != value) {
    in_vain_ = 0;
    again_ = false;
  } else if (++in_vain_ >= (again_ ? std::min<std::size_t>(patience, seen_.size()) : patience)) {
    in_vain_ = 0;
    return waited_ = again_ = true;
  }
  return false;
}
bool load_history::goes_on() { return in_vain_ == 0 && !again_ && std::exchange(waited_, false); }

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
  const int threads = launch_->what.threads;
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
  const std::size_t stride = shared_stride(launch_->what.shared_bytes);
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
    block->shared_bytes = launch_->what.shared_bytes;
    base += stride;
    if (block == blocks_[static_cast<std::size_t>(resident) - 1]) break;
  }
  const auto extent = static_cast<std::size_t>(launch_->what.cluster);
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
      launch_->what.body(launch_->params);
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
  cluster.running = cluster.missing = cluster.unfinished * launch_->what.threads;
  for (const auto& block : cluster.blocks) {
    const std::uint64_t number = first + static_cast<unsigned>(block->cluster_rank);
    begin_block(*block, launch_->chosen.empty() ? number : launch_->chosen[number]);
  }
  return true;
}

void worker::begin_block(block_state& block, std::uint64_t index) {
  block.index = {static_cast<unsigned>(index % launch_->grid.x),
                 static_cast<unsigned>(index / launch_->grid.x % launch_->grid.y),
                 static_cast<unsigned>(index / launch_->grid.x / launch_->grid.y)};
  block.grid = launch_->grid;
  block.running = block.threads;
#if ANTIPHASE_ASAN
  __asan_unpoison_memory_region(block.shared, shared_stride(block.shared_bytes) - shared_alignment);
#endif
  std::memset(block.shared, poison, block.shared_bytes);
#if ANTIPHASE_ASAN
  __asan_poison_memory_region(block.shared + block.shared_bytes,
                              shared_stride(block.shared_bytes) - block.shared_bytes - 1);
#endif
  reset(block.barrier);
  block.gone.clear();
  block.warp_at.assign(block.lanes.size(), nullptr);
  block.aligned_turns.assign(block.lanes.size(), {});
  block.barriers_before.clear();
  block.warps_apart.reset();
  for (auto& m : block.named) {
    reset(m);
    m.incomplete = 0;
    m.counted = 0;
    for (auto& w : m.warps) w = {};
  }
  for (auto& meetings : block.warp) meetings.clear();
  for (auto& m : block.whole) m.waiting.clear();
  for (std::size_t warp = 0; warp < block.lanes.size(); ++warp) {
    const int present = block.threads - static_cast<int>(warp) * 32;
    block.lanes[warp] = present < 32 ? (1u << present) - 1 : ~0u;
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
  if (watch() != nullptr) watch()->thread_ends(self, self.where);
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
    lanes_missing(*m.waiting.front(), m.what, m.where);
  note_way_out(self);
  if (block.running > 1 && self.leaves.behind > 0) {
    self.leaves.arms = self.arms;
    const auto known = std::ranges::find_if(block.gone, [&](const block_state::gone_thread& g) {
      return g.by.behind == self.leaves.behind && g.by.arms == self.arms;
    });
    block_state::gone_thread& gone =
        known != block.gone.end()
            ? *known
            : block.gone.emplace_back(block_state::gone_thread{self.index, self.leaves});
    if (block.barrier.arrived > 0 && self.leaves.goes_past(block.barrier.where))
      gone_past(*block.barrier.waiting.front(), gone, block.barrier.where);
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
  if (block.lanes[warp] == 0 || self.leaves.behind == 0) return;
  const unsigned lane = 1u << self.index % 32;
  auto& past = block.past[warp];
  const auto same_way =
      std::ranges::find_if(past, [&](const lanes_gone& g) { return g.by.behind == self.leaves.behind; });
  if (same_way == past.end())
    past.push_back({lane, self.leaves});
  else
    same_way->lanes |= lane;
  for (const auto& m : block.warp[warp])
    if (m->arrived != 0) require_none_past(*m->waiting.front(), m->mask & lane, m->where, named_by_mask);
  for (const auto& m : block.named)
    if (m.incomplete > 0 && m.warps[warp].aligned)
      require_none_past(*m.warps[warp].coming.front(), lane, m.warps[warp].where, all_of_warp);
}

namespace {
bool is_later(const thread_state* a, const thread_state* b) {
  return a->time.now() != b->time.now() ? a->time.now() > b->time.now() : a->turn > b->turn;
}
}  // namespace

void worker::make_ready(thread_state& t) {
  t.now = condition::ready;
  ready_.push_back(&t);
  if (!in_time()) return;
  t.turn = ++turns_;
  std::ranges::push_heap(ready_, is_later);
}
void worker::in_turn(thread_state& self) {
  if (!in_time()) return;
  const std::int64_t next = ready_.empty() ? never : ready_.front()->time.now();
  if (std::min(next, next_landing_) >= self.time.now()) return;
  make_ready(self);
  suspend(self, condition::ready, self.where);
}

// In a timed launch, the thread with the earliest time, after what has landed by then. A thread that polls
// looks again and again.
thread_state* worker::earliest() {
  for (;;) {
    const std::int64_t next = ready_.empty() ? never : ready_.front()->time.now();
    if (next_landing_ <= next && next_landing_ != never) {
      std::int64_t first = never, second = never;
      std::size_t which = 0, at = 0;
      for (const auto& block : blocks_)
        for (const bulk_load_state& l : block->loads) {
          if (l.lands < first) {
            second = first;
            first = l.lands;
            which = at;
          } else {
            second = std::min(second, l.lands);
          }
          ++at;
        }
      next_landing_ = first <= next ? second : first;
      if (first <= next && first != never) land_load(which);
      continue;
    }
    if (ready_.empty()) return nullptr;
    std::ranges::pop_heap(ready_, is_later);
    thread_state* const t = ready_.back();
    ready_.pop_back();
    constexpr std::uint64_t most_looks = 10'000'000;
    if (t->now == condition::polling && ++idle_rounds_ > most_looks) return nullptr;
    t->now = condition::ready;
    return t;
  }
}

void worker::complete(meeting& m) {
  block_state& block = *m.waiting.front()->home;
  const bool waits = may_wait(m.waiting),
             again = block.barriers_before.again(m.where, static_cast<std::uint64_t>(m.yes) << 32 |
                                                              static_cast<unsigned>(m.arrived)) &&
                     waits;
  block.votes = {m.yes, m.arrived};
  block.warp_at.assign(block.lanes.size(), nullptr);
  if (watch() != nullptr) watch()->met(block, m.waiting);
  let_go(m, again && watch() != nullptr);
}
void worker::complete(warp_meeting& m) {
  // Values of lanes that have not arrived: poison, which no lane may use.
  for (unsigned missing = m.bytes > 0 ? ~m.arrived : 0; missing != 0; missing &= missing - 1)
    std::memset(m.values[m.buffer][__builtin_ctz(missing)].bytes, poison, static_cast<std::size_t>(m.bytes));
  m.came[m.buffer] = m.arrived;
  const std::uint64_t brought = number_of_exchange(m);
  const bool waits = may_wait(m.waiting);
  m.brought = brought;
  m.again = m.before.again(m.where, brought) && waits;
  // Exchanges of values do not order memory.
  if (watch() != nullptr && m.bytes == 0) watch()->met(*m.waiting.front()->home, m.waiting);
  meet_in_time(m.waiting);
  for (thread_state* t : m.waiting) make_ready(*t);
  m.waiting.clear();
  m.arrived = 0;
  ++counts.warp_operations;
  if (!m.again || watch() == nullptr) met();
}
void worker::complete_named(named_barrier& m) {
  if (watch() != nullptr) watch()->passed(&m, m.waiting);
  m.counted = 0;
  let_go(m);
}
void worker::come(block_state& block, named_barrier& m, std::size_t warp) {
  named_barrier::of_warp& w = m.warps[warp];
  for (thread_state* t : w.coming) {
    if (watch() != nullptr) watch()->arrived(*t, &m);
    m.latest = std::max(m.latest, t->time.now());
    if ((w.staying >> t->index % 32 & 1u) != 0)
      m.waiting.push_back(t);
    else
      make_ready(*t);
  }
  m.incomplete -= std::popcount(w.lanes);
  w.lanes = w.staying = 0;
  w.coming.clear();
  w.aligned = false;
  m.arrived += 32;
  m.counted |= 1u << warp;
  met();
  end_if_complete(block, m);
}
void worker::end_if_complete(const block_state& block, named_barrier& m) {
  bool ends = m.whole;
  for (std::size_t warp = 0; ends && warp < block.lanes.size(); ++warp)
    ends = block.lanes[warp] == 0 || (m.counted >> warp & 1u) != 0;
  if (m.arrived > 0 && (ends || m.arrived == m.expected)) complete_named(m);
}
// Warps of the block have met at different barriers: an error, unless they came to as many in the end.
void worker::tell_apart(block_state& block, bool ended) {
  if (!block.warps_apart) return;
  auto& [barriers, what] = *block.warps_apart;
  const auto came = [at = barriers](const auto& t) { return t->block_barriers > at; };
  const auto first = std::ranges::find_if(block.thread, came);
  const bool alike = std::ranges::all_of(
      block.thread, [&](const auto& t) { return !came(t) || t->block_barriers == (*first)->block_barriers; });
  if (ended && alike) what.tolerated = kernel_fault::tolerance::equal_counts;
  watch()->found(what);
  block.warps_apart.reset();
}
void worker::let_go(meeting& m, bool again) {
  bool computed = false;
  for (thread_state* t : m.waiting) computed |= t->time.has_computed();
  const std::int64_t warps = computed ? static_cast<std::int64_t>(m.waiting.size() + 31) / 32 : 0;
  for (thread_state* t : m.waiting) {
    t->time.wait_until(m.latest + t->time.costs().barrier_of_warp * warps);
    make_ready(*t);
  }
  reset(m);
  ++counts.barriers;
  if (!again) met();
}

// One thread arrives. Ended threads count as arrived.
void worker::arrive(cluster_state& c) {
  if (--c.missing > 0 || c.running == 0) return;
  if (watch() != nullptr) watch()->cluster_phase_ended(c);
  ++c.phase;
  c.ended = c.latest + launch_->costs.barrier_of_warp * c.running / 32;
  c.missing = c.running;
  for (thread_state* t : c.waiting) {
    t->time.wait_until(c.ended);
    make_ready(*t);
  }
  c.waiting.clear();
  ++counts.barriers;
  met();
}

void worker::wake_mbarrier(block_state& block, const void* word) {
  std::erase_if(block.at_mbarriers, [&](thread_state* t) {
    if (t->key != word || !mbarrier_ended(*static_cast<const std::uint64_t*>(word), t->parity)) return false;
    t->time.wait_until(block.clock_of(static_cast<const std::uint64_t*>(word)).ended);
    make_ready(*t);
    return true;
  });
  progress();
}

bool worker::lands_now() {
  if (in_time()) return false;
  switch (launch_->options.copies) {
    case landing::early: return true;
    case landing::late: return false;
    case landing::mixed: break;
  }
  return schedule_.lands_now();
}

std::size_t worker::loads() const {
  std::size_t count = 0;
  for (const auto& block : blocks_) count += block->loads.size();
  return count;
}

void worker::land_load(std::size_t which) {
  for (auto& block : blocks_) {
    if (which >= block->loads.size()) {
      which -= block->loads.size();
      continue;
    }
    const bulk_load_state load = block->loads[which];
    block->loads.erase(block->loads.begin() + static_cast<std::ptrdiff_t>(which));
    land(*block, *this, load);
    break;
  }
  if (!schedule_.tracks()) return;
  schedule_.memory_changed();
  track();
}

void worker::end_long_run(thread_state& self, std::exception_ptr why) {
  abandon(self, idle_turns_ > idle_turns_of_long_run ? stall() : std::move(why));
}

thread_state* worker::pick() {
  if (in_time()) return earliest();
  ++unchanged_turns_;
  if (watch() != nullptr && (all_repeat_ || ++idle_turns_ >= watch()->most_idle_turns())) return nullptr;
  if (!schedule_.tracks()) return draw();
  if (last_ != nullptr) {
    const stop why = last_->now == condition::polling ? stop::polls
                     : gave_way_ && !wrote_           ? stop::gives_way
                                                      : stop::has_done_something;
    schedule_.stopped(last_->number, why, progressed_);
  }
  progressed_ = gave_way_ = wrote_ = false;
  track();
  schedule_.stuck(some_repeat_ && unchanged_turns_ > turns_before_states());
  last_ = schedule_.draws() ? draw() : choose();
  return last_;
}

// Reports newly ready threads to the scheduler.
void worker::track() {
  for (; known_ < ready_.size(); ++known_) schedule_.made_ready(ready_[known_]->number);
}

// Counts a round in which all runnable threads polled in vain. True if there have been too many, unless
// states of threads tell better.
bool worker::gives_up() {
  if (idle_rounds_++ == 0) idle_since_ = now();
  const bool alone = launch_->options.workers == 1;
  if (!alone && idle_rounds_ % 64 == 0) std::this_thread::yield();  // another worker may need this core
  const std::uint64_t limit = std::clamp(idle_turns / static_cast<std::uint64_t>(threads_) / blocks_.size(),
                                         idle_limit_of_many, idle_limit);
  return idle_rounds_ > limit && (watch() == nullptr || !knows_states) &&
         (alone || (idle_rounds_ % 1024 == 0 && now() - idle_since_ > idle_nanoseconds));
}

// Pending bulk loads land when no thread can run (the latest legal moment), or earlier if landings are mixed.
thread_state* worker::draw() {
  const auto land_one = [&] {
    if (const std::size_t n = loads(); n > 0) land_load(schedule_.landing_of(n, schedule_.random.below(n)));
  };
  for (;;) {
    const bool stalled = ready_.empty();
    ++picks_;
    if (launch_->options.copies == landing::mixed && picks_ % 4 == 0) land_one();
    if (stalled) land_one();
    if ((ready_.empty() || picks_ % 64 == 0) && !polling_.empty()) {
      // With many polling threads, the first may have another turn before the last have had one: all_poll
      // needs a round without other progress.
      const bool all_poll = ready_.empty() || !std::exchange(moved_, false);
      if (all_poll && !stalled) land_one();
      if (all_poll && gives_up()) return nullptr;
      ready_.insert(ready_.end(), polling_.begin(), polling_.end());  // reports show them as polling
      polling_.clear();
    }
    if (!ready_.empty()) {
      const auto i = schedule_.random.below(ready_.size());
      thread_state* next = ready_[i];
      ready_[i] = ready_.back();
      ready_.pop_back();
      next->now = condition::ready;
      if (schedule_.tracks()) {
        if (const std::size_t n = loads(); n > 0 && schedule_.may_land()) schedule_.landing_of(n, n);
        schedule_.took(next->number);
        known_ = ready_.size();
      }
      return next;
    }
    if (loads() == 0) return nullptr;
  }
}

// The same by the scheduler, which has all information of ready_ and polling_.
thread_state* worker::choose() {
  for (std::size_t n = loads(); n > 0 && schedule_.may_land(); n = loads()) {
    const std::size_t which = schedule_.landing_of(n);
    if (which == n) break;
    land_load(which);
  }
  ready_.clear();
  polling_.clear();
  known_ = 0;
  if (!schedule_.any_candidate() && (!schedule_.all_in_vain() || gives_up())) return nullptr;
  const std::size_t number = schedule_.take();
  const auto threads = static_cast<std::size_t>(threads_);
  thread_state* next = blocks_[number / threads]->thread[number % threads].get();
  next->now = condition::ready;
  return next;
}

// The state of a thread that has called the machine from self.code: the kernel's frames on its stack, and the
// registers that calls keep. 0: not known.
std::uint64_t state_of(const thread_state& self) {
  if (!knows_states) return 0;
  struct search {
    const thread_state& self;
    std::uint64_t state;
  } of{self, 0};
  const auto at_frame = [](_Unwind_Context* frame, void* found) {
    // No structured bindings: clang 14's lambdas do not capture them.
    const thread_state& thread = static_cast<search*>(found)->self;
    std::uint64_t& state = static_cast<search*>(found)->state;
    if (_Unwind_GetIP(frame) != reinterpret_cast<std::uintptr_t>(thread.code)) return _URC_NO_REASON;
    state = thread.number + 1;
    const auto add = [&](std::uint64_t word) {
      state = (state ^ word) * 0x9E3779B97F4A7C15u;
      state ^= state >> 29;
    };
    const auto counts_rounds = [&](const unsigned char* p) {
      for (const machine::loop_rounds* loop = thread.loop; loop != nullptr; loop = loop->around)
        if (const auto* const n = reinterpret_cast<const unsigned char*>(&loop->number); n >= p && n < p + 8)
          return true;
      return false;
    };
    for (const int kept : {3, 6, 12, 13, 14, 15}) add(_Unwind_GetGR(frame, kept));  // rbx, rbp, r12 to r15
    const auto* const top = static_cast<const unsigned char*>(thread.self.bottom) + thread.self.size;
    const auto* at = reinterpret_cast<const unsigned char*>(_Unwind_GetCFA(frame));  // NOLINT: an address
    for (std::uint64_t word = 0; at < top; at += sizeof word) {
      std::memcpy(&word, at, sizeof word);
      if (!counts_rounds(at)) add(word);
    }
    return _URC_END_OF_STACK;
  };
  _Unwind_Backtrace(at_frame, &of);
  return of.state;
}

std::uint64_t worker::turns_before_states() const {
  const std::uint64_t threads = static_cast<std::uint64_t>(threads_) * blocks_.size();
  return std::max(least_turns_before_states, turns_of_a_thread_before_states * threads);
}

// If all threads that can run come back to states they have been in, and nothing changes that they look at,
// they will do so for ever.
void worker::look_at_state(thread_state& self) {
  if (unchanged_turns_ < looked_at_turn_) {
    states_.clear();
    turns_of_known_ = 0;
    some_repeat_ = false;
    ++news_;
  }
  looked_at_turn_ = unchanged_turns_;
  if (states_.size() == most_states) return;
  const std::uint64_t state = state_of(self);
  if (state == 0 || states_.insert(state).second) {
    turns_of_known_ = 0;
    ++news_;
    return;
  }
  self.news = news_;
  if (++turns_of_known_ < rounds_of_known * static_cast<std::uint64_t>(threads_) * blocks_.size()) return;
  for (const auto& block : blocks_)
    for (const auto& t : block->thread)
      if ((t->now == condition::ready || t->now == condition::polling) && t->news != news_) {
        some_repeat_ = true;
        return;
      }
  if (loads() > 0) return land_load(0);
  all_repeat_ = true;
}

void worker::suspend(thread_state& self, condition why, place where) {
  self.where = where;
  if (unchanged_turns_ > turns_before_states() && watch() != nullptr) look_at_state(self);
  if (why == condition::polling && in_time()) make_ready(self);
  self.now = why;
  if (why == condition::polling && !in_time())
    polling_.push_back(&self);
  else
    moved_ = true;
  switch_from(self.self);
}

// Switches to the next thread; to the worker's main fiber if no thread can run.
void worker::switch_from(fiber& from) {
  // If another worker has failed, no further thread runs.
  thread_state* next =
      launch_->failed.load(std::memory_order_relaxed) || launch_->is_interrupted() ? nullptr : pick();
  if (next == nullptr) {
    machine::current = nullptr;
    if (watch() != nullptr) watch()->runs(nullptr);
    if (&from != &main_) switch_.go(from, main_);
    return;
  }
  machine::current = next;
  if (watch() != nullptr) watch()->runs(next);
  if (&next->self == &from) return;
  ++counts.switches;
  switch_.go(from, next->self);
}

void worker::loaded(thread_state& self, const void* at, std::uint64_t value, place where) {
  if (in_time()) return;  // all go on: a loop that waits does so through poll()
  if (self.loads.waits(self.code, at, value))
    suspend(self, condition::polling, where);
  else if (self.loads.goes_on())
    met();
}

void worker::give_way(thread_state& self) {
  gave_way_ = true;
  make_ready(self);
  suspend(self, condition::ready, self.where);
}

void worker::abandon(thread_state& self, std::exception_ptr why) {
  failure_ = std::move(why);
  abandoned_ = &self;
  machine::current = nullptr;
  switch_.go(self.self, main_);
}

void worker::run(launch_state& launch, unsigned index, int resident) {
  launch_ = &launch;
  schedule_ = scheduler(launch.options, index, static_cast<std::size_t>(launch.what.threads),
                        static_cast<std::size_t>(resident));
  counts = {};
  failure_ = nullptr;
  idle_rounds_ = 0;
  idle_turns_ = unchanged_turns_ = 0;
  all_repeat_ = some_repeat_ = false;
  picks_ = 0;
  last_ = nullptr;
  progressed_ = gave_way_ = wrote_ = moved_ = false;
  known_ = 0;
  next_landing_ = never;
  turns_ = 0;
  prepare(resident);
  if (in_time()) {
    multiprocessors_.assign(static_cast<std::size_t>(ceil_div(resident, launch.on_multiprocessor)),
                            {.warps = std::min(resident, launch.on_multiprocessor) * ceil_div(threads_, 32)});
    for (auto& block : blocks_) block->ended = 0;
  }
  ready_.clear();
  polling_.clear();
  for (auto& cluster : clusters_)
    if (!begin_cluster(cluster)) break;
  if (!ready_.empty()) switch_from(main_);
  machine::current = nullptr;
  if (watch() != nullptr) watch()->runs(nullptr);
  bool stalled = false;
  for (const auto& block : blocks_) stalled |= block->running > 0;
  if (!stalled && !failure_) return;
  const bool first = !launch.failed.exchange(true);
  if (!failure_ && launch.is_interrupted())
    failure_ =
        std::make_exception_ptr(interrupted(fmt::format("kernel {} was interrupted", launch.what.name)));
  const std::exception_ptr report = failure_ ? failure_ : stall();
  for (auto& block : blocks_) {
    if (!failure_) tell_apart(*block, false);  // nobody can go on
    block->running = 0;
  }
  discard();
  if (failure_ || first) std::rethrow_exception(report);
}

}  // namespace antiphase::cpu_detail
