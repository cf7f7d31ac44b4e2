// SPDX-License-Identifier: Apache-2.0
// One OS thread's share of a launch: blocks of fibers, which of them can run, and what the others wait for.
#pragma once
#include <algorithm>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cpu/machine_plain.hpp>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "clock.hpp"
#include "fiber.hpp"
#include "matrix.hpp"
#include "observer.hpp"
#include "schedule.hpp"

namespace antiphase::cpu_detail {

class worker;

struct async_copy {
  void* to;
  const void* from;
  int bytes;
  int from_source;
};

// Asynchronous copies of one thread that have not landed yet, in order of issue.
struct copy_queue {
  struct group {
    std::size_t end;     // index one past its last copy
    std::int64_t lands;  // by the clock
  };
  std::vector<async_copy> copies;
  std::vector<group> groups;  // committed ones, oldest in flight first
  std::size_t landed = 0;     // copies[0, landed) have landed
  std::uint64_t gone = 0;     // copies removed before copies[0]
  std::int64_t lands = 0;     // when all issued copies have landed, by the clock
  std::uint64_t issued() const { return gone + copies.size(); }
  void forget_landed() {
    if (landed < copies.size() && landed < 4096) return;
    copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(landed));
    for (group& g : groups) g.end -= std::min(g.end, landed);
    gone += landed;
    landed = 0;
  }
  void clear() {
    copies.clear();
    groups.clear();
    landed = 0;
    gone = 0;
    lands = 0;
  }
};

// A box of a tensor on its way to or from shared memory.
struct tensor_box {
  tensor_layout of;
  machine::tensor_place first;
};

struct bulk_store_state {
  void* to;
  const unsigned char* from;
  std::uint32_t bytes;
  std::shared_ptr<const tensor_box> box = nullptr;       // null: contiguous bytes
  std::optional<machine::bulk_step> updates = {};        // a reduction: what it does
  std::optional<std::vector<unsigned char>> captured{};  // the bytes read
  bool written = false;
  std::int64_t lands = 0;  // by the clock
};
struct bulk_store_queue {
  // committed, oldest first
  std::vector<std::vector<bulk_store_state>> groups;
  std::vector<bulk_store_state> open;
  std::size_t read = 0;  // groups[0, read) have been read
};

enum class condition {
  idle,
  ready,
  polling,
  at_block_barrier,
  at_named_barrier,
  at_warp,
  at_whole_warp,
  at_warpgroup,
  at_mbarrier,
  at_cluster,
  finished
};

// What a thread's loads returned since it last did anything else, to distinguish a waiting loop from work.
class load_history {
 public:
  // Whether the thread waits in a loop: `patience` loads in a row have returned the same values at their
  // places as before.
  bool waits(const void* code, const void* at, std::uint64_t value);
  // Whether the latest load returned something new to a thread that had waited.
  bool goes_on();
  // or is about to: the latest load returned the same value as before
  bool is_waiting() const { return in_vain_ > 0 || again_; }
  template <class Do> void each_place(Do f) const {
    for (const load& l : seen_) f(l.at);
  }
  void something_else() {
    seen_.clear();
    in_vain_ = 0;
    again_ = false;
    did_more_ = true;
  }
  // An atomic or volatile load has returned the same value as before.
  void looked_in_vain() { looked_ = meetings_of_loop; }
  // Called when the thread meets others. Adds whether it has looked in vain lately, and whether it has done
  // anything but look since it last met any.
  void meets(bool& in_vain, bool& more) {
    in_vain |= looked_ > 0;
    more |= std::exchange(did_more_, false);
    if (looked_ > 0) --looked_;
  }

 private:
  static constexpr unsigned char meetings_of_loop = 8;
  struct load {
    const void* code;
    const void* at;
    std::uint64_t value;
  };
  static constexpr std::size_t most = 1024;  // places that a loop reads
  static constexpr unsigned patience = 16;   // loads in vain
  std::vector<load> seen_;
  unsigned in_vain_ = 0;
  bool waited_ = false;  // since the latest new value
  bool again_ = false;   // and did nothing else since: one more pass through the loop is enough
  bool did_more_ = false;
  unsigned char looked_ = 0;  // meetings left that count as close to a look in vain
};

// The block barriers that an ending thread has gone past: those in lines [from, behind) of the file. A thread
// that returns early, before it reaches them, has gone past none.
struct way_out {
  place where{};
  unsigned from = 0, behind = 0;
  // The arms of branches that end with the kernel which it has been in, one bit each.
  std::uint32_t arms = 0;
  bool goes_past(place barrier) const;
};
// Lanes of a warp that ended on one such way.
struct lanes_gone {
  unsigned lanes;
  way_out by;
};

struct thread_state : machine::thread_view {
  worker* owner = nullptr;
  block_state* home = nullptr;
  fiber self;
  condition now = condition::idle;
  place where{};
  thread_clock time;          // next to what every switch writes
  std::uint64_t turn = 0;     // of threads with the same time, the first runs first
  std::size_t number = 0;     // the scheduler's number
  const void* key = nullptr;  // the mbarrier waited for
  unsigned parity = 0;
  const std::uint64_t* tested = nullptr;  // the mbarrier whose phase the latest test found not ended
  place tested_in{};
  copy_queue copies;
  bulk_store_queue stores;
  const machine::exchange_slot* exchanged = nullptr;  // what the last exchange returned
  unsigned exchanged_by = 0;                          // the lanes that took part
  const void* brought = nullptr;                      // argument of the collective operation it waits in
  bool cluster_arrived = false;                       // at the cluster barrier, without a wait since
  unsigned cluster_phase = 0;                         // of its latest arrival
  bool registers_fenced = false;                      // by a wgmma_fence
  std::vector<used_registers> used;                   // since the latest fence
  used_registers at_fence{};                          // the stack at that fence, if an observer watches
  // return address of the kernel's latest call of the machine
  const void* code = nullptr;
  void* watched = nullptr;  // the observer's
  load_history loads;
  way_out leaves{};                            // set when it is about to end
  std::uint32_t arms = 0;                      // see way_out
  const machine::loop_rounds* loop = nullptr;  // the innermost that is followed
  std::vector<const void*> calls;              // return addresses at its latest block barrier, if followed
  unsigned aligned_turns[2] = {};              // aligned arrivals at the cluster's barrier, and waits
  int block_barriers = 0;                      // it has come to
  std::uint64_t news = 0;                      // of the worker, when last in a state it had been in
  bool may_diverge = false;                    // at the block barrier: barrier.sync without .aligned
  struct register_setting {
    int registers;
    place where;
    const void* code;
  };
  std::vector<register_setting> registers_set;  // setmaxnreg, in order
  bool inside_hook = false;                     // of the checker: a frame that must not be unwound
};

// What threads have brought to their latest meetings, by place, to distinguish a loop that waits from work.
class meetings_before {
 public:
  // Whether the latest one at this place has brought the same.
  bool again(place where, std::uint64_t brought) {
    const auto known = std::ranges::find_if(
        seen_, [&](const meeting& m) { return m.line == where.line() && m.column == where.column(); });
    if (known != seen_.end()) return std::exchange(known->brought, brought) == brought;
    if (seen_.size() == most) seen_.clear();
    seen_.push_back({where.line(), where.column(), brought});
    return false;
  }
  void clear() { seen_.clear(); }

 private:
  static constexpr std::size_t most = 16;  // meetings in a loop
  struct meeting {
    std::uint_least32_t line, column;
    std::uint64_t brought;
  };
  std::vector<meeting> seen_;
};

// Threads that have arrived at a barrier and wait for the rest.
struct meeting {
  std::vector<thread_state*> waiting;
  int arrived = 0;
  int expected = 0;
  int yes = 0;              // votes of those that have arrived
  std::int64_t latest = 0;  // arrival, by the clock
  place where{};
  bool votes = false;  // it counts votes
};

// A barrier that counts warps. A warp arrives when all of its lanes that have not ended have arrived.
struct named_barrier : meeting {
  struct of_warp {
    // arrived, while other lanes are missing; those of them that also wait for the other warps
    unsigned lanes = 0, staying = 0;
    std::vector<thread_state*> coming;  // these lanes
    bool aligned = false;               // one of them uses the aligned form: all lanes at one place
    place where{};
  };
  std::vector<of_warp> warps;
  int incomplete = 0;         // lanes waiting for others of their warp
  std::uint32_t counted = 0;  // warps that have arrived
  bool whole = false;         // expects all warps of the block that have not ended
};

// Lanes with one mask that exchange values. Two buffers alternate: a lane that arrives at the next exchange
// has read the previous one.
struct warp_meeting {
  unsigned mask = 0;
  unsigned arrived = 0;
  int bytes = 0;
  int buffer = 0;
  place where{};
  std::vector<thread_state*> waiting;
  machine::exchange_slot values[2][32];
  unsigned came[2] = {};      // lanes that arrived, by buffer
  std::uint64_t brought = 0;  // in the latest exchange: a hash of the values
  meetings_before before;
  bool again = false;  // the same hash as in the previous one there
};

// Lanes of a warp that have arrived at an instruction of the whole warp.
struct whole_warp_meeting {
  const char* what = "";
  std::vector<thread_state*> waiting;
  place where{};
};

struct bulk_load_state {
  void* to;
  const void* from;
  std::uint32_t bytes;
  std::uint64_t* word;
  std::shared_ptr<const tensor_box> box = nullptr;  // null: contiguous bytes
  bool is_generic = false;                          // a bound_copy, not of the async proxy
  std::int64_t lands = 0;                           // by the clock
  // If set, not a load, but an arrival that waits for this thread's asynchronous copies up to number
  // `copies`.
  thread_state* copies_of = nullptr;
  std::uint64_t copies = 0;
  std::uint32_t mark = 0;                       // the observer's, for these copies
  std::shared_ptr<const void> value = nullptr;  // holds what `from` points to, if it came from registers
};

// Warps that have met at different block barriers.
struct apart {
  int at = 0;  // how many block barriers they had come to
  kernel_fault what;
};

struct cluster_state;
struct block_state : machine::block_view {
  cluster_state* cluster = nullptr;
  std::vector<std::unique_ptr<thread_state>> thread;
  int running = 0;
  meeting barrier;
  std::vector<const thread_state*> warp_at;  // by warp: the first of its lanes at the block barrier
  struct aligned_turn {
    unsigned number = 0;
    place where{};
  };
  // by warp: the latest aligned arrival at the cluster's barrier that a lane has come to, and the latest wait
  std::vector<std::array<aligned_turn, 2>> aligned_turns;
  std::optional<apart> warps_apart;  // the first time
  // threads that have gone past barriers and ended, one per way
  struct gone_thread {
    int thread;
    way_out by;
    bool told = false;
  };
  std::vector<gone_thread> gone;
  machine::vote_count votes{};  // of the latest block barrier
  meetings_before barriers_before;
  named_barrier named[16];
  std::vector<std::vector<std::unique_ptr<warp_meeting>>> warp;
  std::vector<unsigned> lanes;                // per warp: those that have not ended
  std::vector<std::vector<lanes_gone>> past;  // per warp: those that went past its collective operations
  std::vector<whole_warp_meeting> whole;      // by warp
  std::vector<thread_state*> at_mbarriers;
  std::vector<bulk_load_state> loads;   // issued, not landed
  std::vector<warp_matrices> matrices;  // by warp
  std::vector<collective> warpgroup;    // by warpgroup
  random_source delays{1};              // of its loads
  std::int64_t ended = 0;               // its latest thread, by the clock
  std::vector<mbarrier_clock> mbarriers;
  void* watched = nullptr;  // the observer's

  // By how much a load of the copy engine from memory takes longer than others: drawn, exponentially.
  std::int64_t later(const clock_costs& costs) {
    if (costs.varies == 0) return 0;
    return static_cast<std::int64_t>(-std::log((delays() + 1.) / 4294967296.) *
                                     static_cast<double>(costs.varies));
  }
  mbarrier_clock& clock_of(const std::uint64_t* word) {
    for (mbarrier_clock& m : mbarriers)
      if (m.word == word) return m;
    return mbarriers.emplace_back(mbarrier_clock{.word = word});
  }
};

// Blocks that begin together; their slots are reused when all have ended.
struct cluster_state {
  std::span<const std::unique_ptr<block_state>> blocks;  // by rank
  std::uint64_t number = 0;                              // in the grid
  int unfinished = 0;                                    // blocks
  // The cluster barrier: running threads, and those of them still to arrive in this phase.
  int running = 0, missing = 0;
  unsigned phase = 0;
  std::int64_t latest = 0, ended = 0;  // by the clock: arrival in this phase, end of the previous one
  std::vector<thread_state*> waiting;
};

// What one launch shares between its workers.
struct launch_state {
  kernel what;
  extent3 grid;
  const void* params;
  cpu_options options;
  std::atomic<std::uint64_t> next_block{0};
  std::atomic<bool> failed{false};
  observer* watch = nullptr;
  // the blocks to run, if not all in their order; those of a cluster are neighbours
  std::span<const std::uint64_t> chosen = {};
  const int* interrupt_flag = nullptr;  // of the launching thread
  clock_costs costs{};
  int on_multiprocessor = 0;  // resident blocks, of a timed launch; 0: it is not timed
  bool is_interrupted() const {
    return interrupt_flag != nullptr && __atomic_load_n(interrupt_flag, __ATOMIC_RELAXED) != 0;
  }
  std::uint64_t blocks() const { return chosen.empty() ? grid.count() : chosen.size(); }
};

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
  void make_ready(thread_state& t);
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
  // In a timed launch: runs the threads first whose time is earlier, and lands what has landed by then.
  // Called when the clock of a thread has advanced.
  void in_turn(thread_state& self);
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
  // Ends the launch from within a fiber that must not be unwound: the compiler assumes that the checker's
  // hooks do not throw.
  void abandon(thread_state& self, std::exception_ptr why);
  // The same where the launch has taken too long: as a deadlock, if nobody has written anything for long.
  void end_long_run(thread_state& self, std::exception_ptr why);

 private:
  void prepare(int resident);
  void discard();
  bool begin_cluster(cluster_state& cluster);
  void begin_block(block_state& block, std::uint64_t index);
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
  std::exception_ptr stall() const;
  void enter_fiber(thread_state& self);
  void switch_from(fiber& from);
  std::uint64_t turns_before_states() const;
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
  // their turn, and turns since the latest of a new state. If there are no new ones, nobody will go on.
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
// Fails: a thread has ended after it went past the barrier where another waits. By the letter, if that was
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
std::vector<std::span<const unsigned char>> sources(const bulk_load_state& load);         // in global memory
std::vector<std::span<const unsigned char>> destinations(const bulk_store_state& store);  // in global memory

}  // namespace antiphase::cpu_detail
