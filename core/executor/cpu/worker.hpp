// SPDX-License-Identifier: Apache-2.0
// One OS thread's share of a launch: blocks of fibers, which of them can run, and what the others wait for.
#pragma once
#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "block_state.hpp"

namespace antiphase::cpu_detail {

#if defined(__x86_64__) && !ANTIPHASE_ASAN
constexpr bool knows_states = true;
#else
constexpr bool knows_states = false;  // which states a thread's stack has been in
#endif

// A worker keeps its fibers and stacks from launch to launch.
class worker {
 public:
  worker() = default;
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker();

  // Runs blocks of the launch until none is left. Throws what a kernel or the scheduler reports.
  void run(launch_state& launch, unsigned index, int resident);

  // For the machine's functions (machine.cpp); all are called on the running fiber.
  launch_state& launch() { return *launch_; }
  observer* watch() { return launch_->watch; }
  launch_counts counts;
  void suspend(thread_state& self, condition why, place where);  // until it is made ready
  void make_ready(thread_state& t) {
    t.now = condition::ready;
    ready_.push_back(&t);
    if (in_time()) order_in_time(t);
  }
  void complete(meeting& m);
  void complete(warp_meeting& m);
  void complete_named(named_barrier& m);
  void come(block_state& block, named_barrier& m, std::size_t warp);  // all of the warp's lanes have arrived
  void end_if_complete(const block_state& block, named_barrier& m);
  void arrive(cluster_state& c);
  void tell_apart(block_state& block, bool ended);
  void wake_mbarrier(block_state& block, const void* word);
  bool lands_now();  // whether a copy issued now lands at once
  bool in_time() const { return launch_->on_multiprocessor > 0; }
  // Number of the machine's multiprocessors that each modelled one stands for.
  double multiprocessors_per_modelled() const {
    return in_time() ? static_cast<double>(launch_->options.timed->profile.limits.multiprocessors) /
                           static_cast<double>(multiprocessors_.size())
                     : 1;
  }
  // In a timed launch: runs the threads first whose time is earlier, and lands what has landed by then.
  // Called when the clock of a thread has advanced.
  void in_turn(thread_state& self);
  // Before a load, a copy or a computation: what barriers have left to pay.
  void begin_work(thread_state& self);
  void will_land(std::int64_t at) { next_landing_ = std::min(next_landing_, at); }
  void progress() {
    met();
    idle_turns_ = 0;
    changed();
  }
  // Threads have met: progress, unless they do it again and again.
  void met() {
    idle_rounds_ = 0;
    progressed_ = moved_ = true;
  }
  // Something that threads may look at: memory, an mbarrier, a clock.
  void changed() { unchanged_turns_ = 0; }
  // A load, at code address self.code, of memory that other threads may write has returned `value`. Suspends
  // a thread that waits in a loop of its own, without poll().
  void loaded(thread_state& self, const void* at, std::uint64_t value, place where);
  // Yields without waiting for anything: before an atomic operation of an observed kernel. The observer notes
  // whether the thread has written since it was last taken.
  void give_way(thread_state& self);
  void note_write() {
    wrote_ = true;
    idle_turns_ = 0;
    changed();
  }
  // Notes the thread's latest ordinary writes if they have changed memory.
  void settle_writes(thread_state& t) {
    if (!t.loads.have_writes_changed()) return;
    t.loads.something_else();
    note_write();
  }
  extent3 cancel_cluster();  // as machine::cancel_launch
  // Ends the launch from within a fiber that must not be unwound: the compiler assumes that the checker's
  // hooks do not throw.
  void abandon(thread_state& self, std::exception_ptr why);
  // The same where the launch has taken too long: as a deadlock, if no thread has written anything for long.
  void end_long_run(thread_state& self, std::exception_ptr why);

 private:
  void order_in_time(thread_state& t);
  void prepare(int resident);
  void discard();
  bool begin_cluster(cluster_state& cluster);
  void begin_block(block_state& block, std::uint64_t index);
  extent3 index_of(std::uint64_t block) const;
  void finish_thread(thread_state& self);
  void no_longer_missing(const thread_state& self);
  void note_way_out(const thread_state& self);
  thread_state* pick();
  thread_state* draw();
  thread_state* choose();
  thread_state* earliest();
  void track();
  bool gives_up();
  std::size_t loads() const;
  void land_load(std::size_t which);
  void let_go(meeting& m, bool again = false);
  bool may_wait(std::span<thread_state* const> all);
  std::exception_ptr stall() const;
  void enter_fiber(thread_state& self);
  void switch_from(fiber& from);
  // Turns in which nothing has changed, until states of threads are compared: at least so many, and so many
  // of each thread, as threads that meet write nothing meanwhile.
  std::uint64_t turns_before_states() const {
    const std::uint64_t threads = static_cast<std::uint64_t>(threads_) * blocks_.size();
    return std::max(std::uint64_t{3'000}, 8 * threads);
  }
  void look_at_state(thread_state& self);

  launch_state* launch_ = nullptr;
  scheduler schedule_;
  stack_arena stacks_;
  int threads_ = 0;
  std::vector<std::unique_ptr<block_state>> blocks_;
  std::vector<cluster_state> clusters_;
  std::vector<unsigned char> shared_storage_;
  std::vector<thread_state*> ready_, polling_;
  static constexpr std::uint64_t idle_turns_of_long_run = 2'000'000;
  std::uint64_t idle_rounds_ = 0, idle_turns_ = 0;
  // Since nothing has changed that threads look at: turns, the states that threads were in when they gave up
  // their turn, and turns since the latest of a new state. If there are no new ones, no thread will go on.
  std::uint64_t unchanged_turns_ = 0, looked_at_turn_ = 0, turns_of_known_ = 0, news_ = 0;
  std::unordered_set<std::uint64_t> states_;
  bool all_repeat_ = false, some_repeat_ = false;  // of the threads that can run
  std::uint64_t picks_ = 0;
  // not yet reported to the scheduler: the thread that ran, what it did, and ready_ from known_ on
  thread_state* last_ = nullptr;
  bool progressed_ = false, gave_way_ = false, wrote_ = false;
  // a thread has done something other than polling since the polling ones were last resumed
  bool moved_ = false;
  std::size_t known_ = 0;
  std::int64_t idle_since_ = 0;
  std::vector<multiprocessor> multiprocessors_;  // of a timed launch
  clock_unit memory_;                            // theirs
  std::uint64_t turns_ = 0;
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  std::int64_t next_landing_ = never;  // or earlier
  switching switch_;
  fiber main_;
  std::exception_ptr failure_;
  thread_state* abandoned_ = nullptr;
};

// Threads that have met continue at the same time.
inline void meet_in_time(std::span<thread_state* const> all) {
  std::int64_t latest = 0;
  for (const thread_state* t : all) latest = std::max(latest, t->time.now());
  for (thread_state* t : all) {
    t->time.wait_until(latest);
    t->time.instructions(1);
  }
}

// The running thread's state.
thread_state& here();
// Arrives at the block barrier and waits for all.
struct block_meeting {
  bool yes = false, votes = false, aligned = true;
};
void meet_block(thread_state& self, block_meeting how, place where, const void* frame);
// Fails: an operation of the whole warp is called by a part of it, since lanes of self's warp have ended
// without it.
[[noreturn]] void lanes_missing(const thread_state& self, const char* what, place where);
// Fails if one of these lanes of self's warp has ended after going past this place, where self waits or
// arrives. `who`: the threads that must arrive there, for the message.
constexpr const char *named_by_mask = "All lanes that its mask names and",
                     *all_of_warp = "All lanes of the warp";
void require_none_past(const thread_state& self, unsigned lanes, place where, const char* who);
// When the threads of a block have ended: fails unless all warps of each warpgroup made the same setmaxnreg
// calls.
void require_alike(block_state& block);
inline thread_state& called_from(const void* code) {
  thread_state& self = here();
  self.code = code;
  self.loads.something_else();
  return self;
}
// Whether the run leaves such waits out: the caller then returns at once.
inline bool left_out(const thread_state& self, wait_kind wait) {
  const observer* const watch = self.owner->watch();
  return watch != nullptr && watch->leaves_out(wait);
}
// Fails: a thread has ended after it went past the barrier where another waits. Pedantic, if that was
// all that the two did not do alike.
void gone_past(const thread_state& waiting, block_state::gone_thread& gone, place barrier);
kernel_fault fault_of(const thread_state& self, fault kind, place where, const std::string& what);
[[noreturn]] void fail(const thread_state& self, fault kind, place where, const std::string& what);
std::string text(place where);
bool same(place a, place b);

// mbarriers, mbarrier.cpp
bool mbarrier_ended(std::uint64_t word, unsigned parity);
void land(block_state& block, worker& owner, const bulk_load_state& load);
std::string describe_mbarrier(const std::uint64_t* word);
std::string describe_test(const std::string& name, const std::uint64_t* word, unsigned parity,
                          std::uint64_t phases);
std::string describe_test(const std::string& name, const std::uint64_t* word, unsigned parity,
                          std::uint64_t phases);
std::string describe_ring_event(const machine::ring_event& of, const std::uint64_t* word);
// `ranks`: the blocks of the cluster in which it lands; 0: the thread's own.
void issue(thread_state& self, const bulk_load_state& load, unsigned ranks, place where);
void land_arrivals(thread_state& self);  // arrivals whose copies have all landed

// Lands a thread's asynchronous copies up to this number. machine.cpp
void land_copies(thread_state& of, std::uint64_t end);

// bulk stores, bulk_store.cpp
void issue(thread_state& self, bulk_store_state store, place where);
void finish(bulk_store_state& store);  // writes the bytes, which have been read

// tensor maps, tensor_copy.cpp
tensor_map encode(const tensor_layout& tensor);
void land_box(const block_state& block, const bulk_load_state& load);
std::vector<unsigned char> rows_of_box(const block_state& block, const bulk_store_state& store);
void write_box(const bulk_store_state& store);
void update(void* to, const unsigned char* values, std::size_t bytes, const machine::bulk_step& step);
std::vector<std::span<const unsigned char>> sources(const bulk_load_state& load);         // in global memory
std::vector<std::span<const unsigned char>> destinations(const bulk_store_state& store);  // in global memory

}  // namespace antiphase::cpu_detail
