// SPDX-License-Identifier: Apache-2.0
// Callbacks for observing a launch. The checker is the only observer so far.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/core/finding_kind.hpp>
#include <antiphase/executor/cpu/machine_tensor_memory.hpp>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#include <span>
#include <string>
#include <vector>

namespace antiphase::cpu_detail {

using machine::place;
struct thread_state;
struct block_state;
struct cluster_state;
struct launch_state;
struct async_copy;
struct bulk_load_state;
struct bulk_store_state;

// A failed launch: the parts of the message; what() is the whole sentence.
using fault = finding_kind;
struct kernel_fault : device_error {
  kernel_fault(const std::string& sentence, fault k, std::string kernel_name, std::string sentence_part,
               extent3 b, int t, place p, const void* c)
      : device_error(sentence),
        kind(k),
        kernel(std::move(kernel_name)),
        happened(std::move(sentence_part)),
        block(b),
        thread(t),
        place(p),
        code(c) {}
  fault kind;
  std::string kernel;
  std::string happened;
  extent3 block;
  int thread;  // -1: not a single one
  machine::place place;
  const void* code;  // return address of the device function's call; null: unknown
  // The launch goes on, as on GPUs, although CUDA's documents do not allow it: threads have ended without the
  // barrier, or warps came to different barriers equally often.
  enum class tolerance { none, ended_threads, equal_counts } tolerated = tolerance::none;
  std::vector<const void*> polled = {};  // of a deadlock: what polling threads have looked at
  bool by_bound = false;                 // a deadlock that is no more than likely
};

std::uint32_t parties_of(std::uint64_t word);  // of an mbarrier

// For data of asynchronous copies, for a slot of a ring that is released, or of a barrier of threads.
enum class wait_kind { data, slot, barrier };

// Called on the worker's OS thread when the event happens. Observed launches have one worker.
class observer {
 public:
  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer() = default;

  // for all blocks of a launch together
  virtual unsigned char* shared_memory(std::size_t bytes) = 0;
  virtual void launch_begins(const launch_state& launch, stream on) = 0;
  virtual void launch_ends() = 0;
  virtual bool enough() { return false; }  // true: no further block of the launch begins
  // Turns in which no thread has written, until the launch is given up although states of threads are new, as
  // in a loop that counts its rounds. A bound, no proof.
  virtual std::uint64_t most_idle_turns() const { return 10'000'000; }
  virtual void block_begins(block_state& block) = 0;
  virtual void block_ends(block_state& block) = 0;
  virtual void runs(thread_state* t) = 0;  // the thread that runs from now on; null: the scheduler
  virtual void thread_ends(thread_state& t, place where) = 0;

  virtual void previous_grid_waited(thread_state& t) = 0;
  virtual void next_grid_started(thread_state& t) = 0;

  // A fault with which the launch goes on, or which did not end it by itself.
  virtual void found(const kernel_fault& f) = 0;

  // Whether waits of this kind return at once, as if they were not in the kernel.
  virtual bool leaves_out(wait_kind) const { return false; }

  // The thread comes to a block barrier; `frame`: of the machine's function.
  virtual void comes_to_barrier(thread_state&, const void* /*frame*/) {}
  // Where the calls that led another thread to the same barrier are not this thread's; empty: they are.
  virtual std::string other_way(const thread_state&, const thread_state& /*other*/) { return {}; }

  // All of `threads` have met: what each did before happens before what each does next.
  virtual void met(block_state& block, std::span<thread_state* const> threads) = 0;
  // A named barrier: each arrival; and after the last one, the threads that waited continue.
  virtual void arrived(thread_state& t, const void* barrier) = 0;
  virtual void passed(const void* barrier, std::span<thread_state* const> waiting) = 0;

  // The cluster barrier: an arrival, the end of a phase, and a thread that continues after its wait.
  virtual void cluster_arrived(thread_state& t, bool releases) = 0;
  virtual void cluster_phase_ended(cluster_state& c) = 0;
  virtual void cluster_waited(thread_state& t) = 0;

  virtual void copy_issued(thread_state& t, const async_copy& copy, place where) = 0;
  virtual void copies_committed(thread_state& t) = 0;
  virtual void copies_waited(thread_state& t, int groups_left) = 0;

  virtual void mbarrier_initialised(thread_state& t, const std::uint64_t* word, place where) = 0;
  virtual void mbarrier_invalidated(thread_state& t, const std::uint64_t* word, place where) = 0;
  // "the phase of NAME ends", for messages; empty: it has no name
  virtual std::string name_of(const thread_state&, const std::uint64_t*) const { return {}; }
  // What these words hold, which threads poll, and who has written them, for messages; empty: not known
  virtual std::string polled_words(std::span<const void* const> /*polled*/) { return {}; }
  // before any other use of it
  virtual void mbarrier_touched(thread_state& t, const std::uint64_t* word, place where) = 0;
  virtual void mbarrier_arrived(thread_state& t, const std::uint64_t* word,
                                machine::mbarrier_semantics how) = 0;
  virtual void mbarrier_phase_ended(block_state& block, const std::uint64_t* word) = 0;
  // the thread has seen the end of the previous phase
  virtual void mbarrier_waited(thread_state& t, const std::uint64_t* word,
                               machine::mbarrier_semantics how) = 0;
  // The thread's asynchronous copies so far will arrive at the mbarrier when they have landed: returns a
  // number for them. And they have arrived.
  virtual std::uint32_t copies_tracked(thread_state& t, const std::uint64_t* word) = 0;
  virtual void copies_arrived(thread_state& t, const std::uint64_t* word, std::uint32_t tracked) = 0;
  virtual void bulk_load_issued(thread_state& t, const bulk_load_state& load, place where) = 0;
  virtual void bulk_store_issued(thread_state& t, const bulk_store_state& store, place where) = 0;
  virtual void bulk_stores_committed(thread_state& t) = 0;
  virtual void bulk_stores_waited(thread_state& t, int groups_left, machine::bulk_done what) = 0;
  // Asynchronous work on Tensor Memory: its number; that up to a number is done; an arrival follows it.
  virtual std::uint64_t tensor_begun(thread_state&, machine::tensor_work, const char* /*name*/,
                                     std::span<const machine::memory_range>, place /*where*/) {
    return 0;
  }
  virtual void tensor_waited(thread_state&, machine::tensor_work, std::uint64_t /*last*/) {}
  virtual void tensor_committed(thread_state&, const std::uint64_t* /*word*/) {}
  virtual void proxy_fence(thread_state& t, machine::proxy of) = 0;
  virtual void mbarrier_fence(thread_state& t) = 0;

  // Before an atomic operation.
  virtual void atomic_begins(thread_state& t, const void* at, const machine::atomic_step& step,
                             std::uint64_t expected, place where) = 0;

  virtual void read_by_verb(thread_state& t, const void* from, std::size_t bytes) = 0;
  // Tensor Core operations of a whole warp, with the shared memory they read, and their multiply-adds,
  // counted for the time that those of f16 take.
  virtual void matrix_issued(std::span<thread_state* const> warp,
                             std::span<const std::span<const unsigned char>> reads, int multiply_adds,
                             place where) = 0;
  // The same of operands in registers, done at once.
  virtual void matrix_multiplied(std::span<thread_state* const> warp, int multiply_adds, place where) = 0;
  virtual void matrices_committed(std::span<thread_state* const> warp) = 0;
  virtual void matrices_waited(std::span<thread_state* const> warp, int groups_left) = 0;
};

}  // namespace antiphase::cpu_detail
