// SPDX-License-Identifier: Apache-2.0
// The worker: which fiber runs next.
#include "worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <chrono>
#include <thread>
#include <utility>

namespace antiphase::machine {
thread_local constinit const thread_view* current = nullptr;
thread_local constinit scope next_scope = scope::device;
}  // namespace antiphase::machine

namespace antiphase::cpu_detail {
namespace {

// Rounds unsuccessfully before a launch is given up; fewer of many threads.
constexpr std::uint64_t idle_limit = 150'000, idle_limit_of_many = 1'000, idle_turns = 300'000;
constexpr std::int64_t idle_nanoseconds = 30'000'000'000;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

thread_state& here() {
  // `current` is only set in worker.cpp, always to a thread_state.
  return *const_cast<thread_state*>(static_cast<const thread_state*>(machine::current));
}

kernel_fault fault_of(const thread_state& self, fault kind, place where, const std::string& what) {
  const extent3& b = self.block->index;
  const std::string kernel = self.owner->launch().kernel.name;
  return kernel_fault(fmt::format("kernel {}, block ({}, {}, {}), thread {}: {} ({})", kernel, b.x, b.y, b.z,
                                  self.index, what, text(where)),
                      kind, kernel, what, b, self.index, where, self.code);
}
void fail(const thread_state& self, fault kind, place where, const std::string& what) {
  throw fault_of(self, kind, where, what);
}

namespace {
bool is_later(const thread_state* a, const thread_state* b) {
  return a->time.now() != b->time.now() ? a->time.now() > b->time.now() : a->turn > b->turn;
}
}  // namespace

void worker::order_in_time(thread_state& t) {
  t.turn = ++turns_;
  std::ranges::push_heap(ready_, is_later);
}
void worker::in_turn(thread_state& self) {
  if (!in_time()) return;
  const std::int64_t next = ready_.empty() ? never : ready_.front()->time.now();
  if (std::min(next, next_landing_) >= self.time.now()) return;
  make_ready(self);
  suspend(self, condition::ready, self.place);
}
void worker::begin_work(thread_state& self) {
  if (self.time.pay()) in_turn(self);
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
  const bool changed = unchanged_turns_++ == 0;
  if (watch() != nullptr && (all_repeat_ || ++idle_turns_ >= watch()->most_idle_turns())) return nullptr;
  if (!schedule_.tracks()) return draw();
  if (last_ != nullptr) {
    const stop why = last_->now == condition::polling    ? stop::polls
                     : gave_way_ && !wrote_              ? stop::gives_way
                     : wrote_ || last_->loads.did_more() ? stop::has_done_something
                                                         : stop::meets;
    schedule_.stopped(last_->number, why, progressed_, changed);
  }
  progressed_ = gave_way_ = wrote_ = false;
  track();
  schedule_.stuck(some_repeat_ && unchanged_turns_ > turns_before_states());
  last_ = schedule_.draws() ? draw() : choose();
  return last_;
}

// Reports newly ready threads to the scheduler.
void worker::track() {
  for (; known_ < ready_.size(); ++known_)
    schedule_.made_ready(ready_[known_]->number, std::exchange(ready_[known_]->met_again, false));
}

// Counts a round in which all runnable threads polled unsuccessfully. True if there have been too many,
// unless states of threads tell better.
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

void worker::suspend(thread_state& self, condition why, place where) {
  self.place = where;
  settle_writes(self);
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

void worker::give_way(thread_state& self) {
  gave_way_ = true;
  make_ready(self);
  suspend(self, condition::ready, self.place);
}

void worker::abandon(thread_state& self, std::exception_ptr why) {
  failure_ = std::move(why);
  abandoned_ = &self;
  machine::current = nullptr;
  switch_.go(self.self, main_);
}

void worker::run(launch_state& launch, unsigned index, int resident) {
  launch_ = &launch;
  schedule_ = scheduler(launch.options, index, static_cast<std::size_t>(launch.kernel.threads),
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
    memory_ = {};
    const int count = ceil_div(resident, launch.on_multiprocessor);
    multiprocessors_.assign(static_cast<std::size_t>(count),
                            {.memory = &memory_,
                             .sharing = count,
                             .warps = std::min(resident, launch.on_multiprocessor) * ceil_div(threads_, 32)});
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
        std::make_exception_ptr(interrupted(fmt::format("kernel {} was interrupted", launch.kernel.name)));
  const std::exception_ptr report = failure_ ? failure_ : stall();
  for (auto& block : blocks_) {
    if (!failure_) tell_apart(*block, false);  // no one can go on
    block->running = 0;
  }
  discard();
  if (failure_ || first) std::rethrow_exception(report);
}

}  // namespace antiphase::cpu_detail
