// SPDX-License-Identifier: Apache-2.0
// The model of a checked run: its parts, and the events that concern several of them.
#pragma once
#include <functional>
#include <map>
#include <string_view>

#include "checker/findings/atomic_hints.hpp"
#include "checker/findings/custom_races.hpp"
#include "checker/findings/finding_list.hpp"
#include "checker/memory/async_work.hpp"
#include "checker/memory/lockstep.hpp"
#include "checker/memory/loop_watch.hpp"
#include "checker/memory/old_values.hpp"
#include "checker/order/atomic_order.hpp"
#include "checker/order/place_table.hpp"
#include "checker/timing/access_counts.hpp"
#include "checker/timing/timed_block.hpp"

namespace antiphase::checker_detail {

// The model of one run. Order: `launches`, `clocks`, and what synchronises, `barriers` and `atomics`. Memory:
// `memory`, `host`, and the `history` of accesses, those of `async` included. Findings: `findings` and their
// `places`. Events that concern one part are reported to that part; those that concern several are reported
// here: accesses of the running thread, launches and blocks, copies by the host's order.
//
// Assumes: one OS thread reports everything, in the order in which it happens; accesses are reported before
// they happen.
class model {
 public:
  model();
  model(const model&) = delete;
  model& operator=(const model&) = delete;
  void reset();            // between runs
  void write_down_run() {  // log this run, to draw it
    if (clocks.log == nullptr) clocks.log = &log_.emplace();
    writes_down = true;
  }
  void keep_all() {  // log it to the last access
    write_down_run();
    clocks.log->keep_all();
  }
  void count_run() {  // count what its lines access
    streams.emplace(places, counts.emplace(places));
    writes_down = true;
  }
  void time_run(std::uint64_t block) {  // record what the warps of this block of each kernel do
    streams.emplace(places, times.emplace(block));
    writes_down = true;
  }

  // order
  launch_order launches;
  happens_before clocks{launches};
  // memory
  shadow memory;
  host_memory host;
  mbarrier_order barriers{clocks, memory.lowest()};
  atomic_order atomics{clocks};
  old_values old{clocks};
  // findings
  place_table places;
  atomic_hints hints{clocks};
  finding_list findings{clocks, launches, barriers, memory, hints};
  access_history history{memory, clocks, launches, host,
                         [this](const accessor& w, const conflict& c) { report(w, c); }};
  async_work async{clocks, barriers, history};
  lockstep_watch lockstep{memory, clocks, places,
                          [this](const accessor& w, const conflict& c) { report(w, c); }};
  loop_watch loops{memory};
  custom_races custom{memory, clocks, launches, history, findings};

  std::optional<access_counts> counts;
  std::optional<timed_blocks> times;
  std::optional<warp_streams> streams;  // to `counts` or `times`
  ring_wait without = ring_wait::none;  // set anew for every run
  bool writes_down = false;             // accesses go to clocks.log or to `streams`

  void begin_launch(const char* kernel, const void* params, std::size_t params_bytes, stream on,
                    overlap with_previous = overlap::no);
  void end_launch();
  std::uint64_t effort_of_launch() const { return history.effort.total() - effort_before_; }
  bool starts_dependents = false;  // a kernel has called one of these two
  bool patient = false;            // no launch is given up by a bound
  bool begins_few = false;         // of the launch in progress: no more blocks begin once it has taken long
  place_number unfinished_at = 0;  // if the run was ended within a few blocks that did not end; else 0
  void wait_for_launch(thread_model& t);  // for those that the launch in progress overlaps
  void start_next_launch(thread_model& t);
  block_model* begin_block(extent3 index, int threads, unsigned char* shared, std::size_t shared_bytes,
                           std::uint32_t cluster = 0);
  void end_block(block_model& b);
  void end_thread(const thread_model& t);
  void set_current(thread_model* t);
  thread_model* current() { return current_; }
  // `code`: the return address of the last that came
  void meet(std::span<thread_model* const> threads, meeting of, const void* code);

  // Accesses of the current thread. `code`: the return address of the hook, after the instruction.
  void access(const void* p, std::size_t bytes, access_kind kind, const void* code);
  // Fast paths for whole words of accesses without a finding. False: call access().
  bool reads_anew(const void* p, std::size_t bytes, const void* code);
  bool writes_anew(const void* p, std::size_t bytes, const void* code);
  // A load of the current thread by __ldg or ld.global.nc, or `by_cache`, such as a texture fetch, by a cache
  // that the launch's own writes do not reach.
  void read_constant(const void* p, std::size_t bytes, const void* code, const char* by_cache = nullptr);
  // A write of the current thread that leaves the bytes undefined.
  void discard(const void* p, std::size_t bytes, const void* code);
  // If writes_down: an access of the current thread.
  void write_down(event_kind kind, const void* p, std::size_t bytes, place_number place);
  void looked_at(std::uint64_t value);  // by the current thread, see event_log::looked_at()
  // If `streams`: an access of any thread.
  void count(const thread_model& t, line_action what, const void* p, std::size_t bytes, place_number place);
  // If `times`: what else a thread does, see lane_event. `at`: of an mbarrier or a named barrier.
  void did(const thread_model& t, lane_event::kind is, const void* code, const void* at = nullptr,
           std::uint32_t bytes = 0);
  void bulk_load(const thread_model& t, const void* to, std::uint32_t bytes, const void* word,
                 place_number place);
  void arithmetic(std::uint32_t instructions, const void* code);  // of the current thread
  // An operation of Tensor Cores by a warp. `from`: shared memory that an asynchronous one reads.
  void matrix(std::span<thread_model* const> warp, const void* from, std::uint32_t multiply_adds,
              place_number place);
  address_range constants;  // of the program's variables
  // An atomic operation, before it is performed. `reads`: an update's result depends on what was there.
  // `overwrites`: what it leaves does not.
  void atomic(const void* p, std::size_t bytes, atomic_kind kind, order how, scope reach, const void* code,
              bool reads = true, bool overwrites = false);
  // True if no thread has written some of these bytes, which is to be checked.
  bool unwritten(const void* p, std::size_t bytes);
  // True if the current thread's load, about to happen, returns `value` from before the last write. It has
  // then been checked. `change`, called with `with`: it is an update, which leaves that value as it is.
  bool brings_old(const void* p, std::size_t bytes, order how, scope reach, const void* code,
                  std::uint64_t& value, old_values::change_of change = nullptr, const void* with = nullptr,
                  bool reads = true);
  void fence(order how, scope reach);
  // The first load of the run that returned an old value, and the write it missed; if there is one, the first
  // of a write that relaxed reads had heard of.
  struct old_load {
    finding_side load, write;
    place_number place = 0, written_at = 0;
    sentence missing = {};
  };
  std::optional<old_load> brought_old;
  // For a load that the program makes itself after the hook: memory holds the old value until settle().
  void lend(const void* p, std::size_t bytes, std::uint64_t value) {
    old.lend(p, bytes, value);
    unsettled_ = true;
  }
  // Before anything else happens: what had to wait for the access that the last hook announced.
  void settle() {
    if (unsettled_) [[unlikely]]
      settle_now();
  }
  // The current thread's compare-and-swap, before atomic().
  void compares(const void* p, std::size_t bytes, std::uint64_t expected);

  // A copy by the host's order, on stream `on`. False: not the executor's memory, so do not copy.
  bool host_access(const void* p, std::size_t bytes, access_kind kind, stream on, const char* what);
  // fresh memory, allocated in the order of the stream
  void host_allocates(const void* p, std::size_t bytes, stream on);
  machine::place host_place;  // where such copies were asked for, if known
  bool host_stages = false;  // they are from pageable memory, and the call may return before they have landed
  // Work in the order of a stream that is no kernel, such as a host function: a launch of one thread.
  struct stream_work {
    thread_model thread;
    std::string launched;  // the kernel before, which findings name again at the end
  };
  stream_work begin_stream_work(const char* what, stream on);
  void end_stream_work(const stream_work& w);
  // An access by a host function to memory shared with the device.
  void host_function_touch(thread_model& t, const void* p, std::size_t bytes, access_kind kind,
                           const void* code);
  // A direct access by the host to managed memory; `reach`: scope of an atomic one.
  void host_touch(const void* p, std::size_t bytes, access_kind kind, const void* code, scope reach = {});
  // Called at accesses by the host to any memory, with the reach of an atomic one; null: not checked.
  void (*host_touches)(const void* p, std::size_t bytes, access_kind kind, const void* code,
                       scope reach) = nullptr;
  // Called at reads by threads of memory that nothing was written to; true: it finds out whether the value is
  // used. Null, or false: the read is a finding.
  bool (*reads_unwritten)(const accessor& w, std::size_t offset) = nullptr;
  // An atomic load of the host may find what was there before; null: never.
  std::optional<std::uint64_t> (*host_finds_old)(const void* p, std::size_t bytes) = nullptr;
  // Called at those of its atomic operations that read, before host_touches; null: nothing to learn there.
  void (*host_reads_atomically)(const void* p) = nullptr;
  // An atomic operation of the host, which other processors see: as one of system scope.
  void host_atomic(const void* p, std::size_t bytes, atomic_kind kind, order how, const void* code);
  // A write that the documents allow and GPUs do not do, by the running thread or, for pinned memory, by the
  // host. A conflict with it is pedantic, unless `in_practice` is none. `what` outlives the model.
  void write_pedantic(const void* p, std::size_t bytes, place_number at, const char* what,
                      sentence in_practice);
  void host_fence(order how);
  // Called before the first event that depends on the schedule; may be null.
  void (*block_ends)(block_number b) = nullptr;  // all of its threads have ended
  std::function<void()> schedule_begins;

  // For the message of a deadlock: of these words, what they hold and who has written it; empty: not known.
  std::string polled_words(std::span<const void* const> polled);
  // What has ended main early, in words; empty: nothing has, or another note says so.
  std::string ended_at;
  // Findings of the current thread that are no conflicts.
  finding_side side_here(place_number at, const char* action) const;
  void note_here(finding f, place_number place);  // its access: the action alone
  void note_here(finding_kind kind, place_number place, std::string action, std::string memory_text,
                 explanation missing, explanation in_practice = {});
  void say_misled();
  void finish_findings();  // at the end of the run

 private:
  void report(const accessor& w, const conflict& c);
  void settle_now();
  void host_acquires(const knowledge_ptr& released);
  void left_behind(block_number block, int thread, place_number place, const char* action, sentence missing);

  std::optional<event_log> log_;
  knowledge_ptr host_read_;  // released with what the host has read by relaxed operations
  thread_model* current_ = nullptr;
  std::map<place_number, sentence> pedantic_;  // writes of write_pedantic(): what GPUs do
  bool unsettled_ = false;
  bool constants_written_ = false;   // by the launch in progress
  std::uint64_t effort_before_ = 0;  // the launch in progress
  // a thread of an earlier launch of this run was misled
  bool misled_before_ = false;
  std::pair<const void*, const void*> last_slow_read_;  // address and code
};

// The model of the run on this OS thread; null: nothing is tracked.
extern thread_local constinit model* active;

}  // namespace antiphase::checker_detail
