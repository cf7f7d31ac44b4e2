// SPDX-License-Identifier: Apache-2.0
// A checked run: what its parts are, and what happens in several of them at once.
#pragma once
#include <functional>

#include "async_work.hpp"
#include "atomic_order.hpp"
#include "finding_list.hpp"
#include "lockstep.hpp"
#include "loop_watch.hpp"
#include "old_values.hpp"
#include "place_table.hpp"

namespace antiphase::checker_detail {

// The model of one run. Order: `launches`, `clocks`, and what passes knowledge on, `barriers` and `atomics`.
// Memory: `memory`, `host`, and the `history` of accesses, `async` ones included. Findings: `findings` and
// the `places` of them. What concerns one part is told to that part; what concerns several is told here:
// accesses of the thread that runs, launches and blocks, copies that the host orders.
//
// It assumes that one OS thread tells everything, in the order in which it happens, and that accesses are
// told before they happen.
class model {
 public:
  model();
  model(const model&) = delete;
  model& operator=(const model&) = delete;
  void reset();                                            // between runs
  void write_down_run() { clocks.log = &log_.emplace(); }  // to be drawn; most are not

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
  finding_list findings{clocks, launches, barriers, memory};
  access_history history{memory, clocks, launches, host,
                         [this](const accessor& w, const conflict& c) { report(w, c); }};
  async_work async{clocks, barriers, history};
  lockstep_watch lockstep{memory, clocks, [this](const accessor& w, const conflict& c) { report(w, c); }};
  loop_watch loops{memory};

  void begin_launch(const char* kernel, const void* params, std::size_t params_bytes, stream on,
                    overlap with_previous = overlap::no);
  void end_launch();
  block_model* begin_block(extent3 index, int threads, unsigned char* shared, std::size_t shared_bytes,
                           std::uint32_t cluster = 0);
  void end_block(block_model& b);
  void end_thread(const thread_model& t);
  void set_current(thread_model* t);
  thread_model* current() { return current_; }
  void meet(std::span<thread_model* const> threads, meeting of);

  // accesses of the current thread; address of the instruction behind it
  void access(const void* p, std::size_t bytes, access_kind kind, const void* code);
  // Quick ways for whole words, which find nothing. False: take the long one.
  bool reads_anew(const void* p, std::size_t bytes, const void* code);
  bool writes_anew(const void* p, std::size_t bytes, const void* code);
  // into the log, which there is
  void write_down(event_kind kind, const void* p, std::size_t bytes, place_number place);
  // An atomic operation, before it is performed.
  void atomic(const void* p, std::size_t bytes, atomic_kind kind, order how, const void* code);
  // Whether the current thread's load, about to happen, brings what stood there before the last write; then
  // it has been judged.
  bool brings_old(const void* p, std::size_t bytes, order how, const void* code, std::uint64_t& value);
  void fence(order how);
  // A load that has brought an old value, and the write that it has not seen.
  struct old_load {
    finding_side load, write;
    place_number at = 0, written_at = 0;
  };
  std::optional<old_load> brought_old;

  // A copy by the host's order: `on` says after what it comes. False if there is no such memory to touch.
  bool host_access(const void* p, std::size_t bytes, access_kind kind, stream on, const char* what);
  machine::place host_place;  // of such copies, where it is known
  // The host's own access to memory that it shares with the device; `reach`: of an atomic one.
  void host_touch(const void* p, std::size_t bytes, access_kind kind, const void* code, scope reach = {});
  // How a host's access to any memory is judged; null: not at all.
  void (*host_touches)(const void* p, std::size_t bytes, access_kind kind, const void* code) = nullptr;
  // Called before the first thing that depends on the schedule; null: nobody asks.
  std::function<void()> schedule_begins;

  // A finding of the current thread's own.
  finding_side side_here(place_number at, const char* action) const;
  void note_here(finding_kind kind, place_number at, const std::string& action, std::string memory,
                 std::string missing);
  void say_misled();

 private:
  void report(const accessor& w, const conflict& c);
  void left_behind(block_number block, int thread, place_number at, const char* what, const char* missing);

  std::optional<event_log> log_;
  thread_model* current_ = nullptr;
  // a thread of this run was, of a launch before this one
  bool misled_before_ = false;
  std::pair<const void*, const void*> last_slow_read_;  // and the code
};

// The model of the run on this OS thread; null: nothing is followed.
extern thread_local constinit model* active;

}  // namespace antiphase::checker_detail
