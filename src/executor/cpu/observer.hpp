// SPDX-License-Identifier: Apache-2.0
// What the executor tells somebody who watches a launch. The checker is the only one so far.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#include <span>
#include <string>

namespace antiphase::cpu_detail {

using machine::place;
struct thread_state;
struct block_state;
struct cluster_state;
struct launch_state;
struct async_copy;
struct bulk_load_state;
struct bulk_store_state;

// A launch that failed, in parts; what() says it in a sentence.
enum class fault { divergent_barrier, deadlock, never_waited_for, barrier_misuse, bad_copy, gave_up };
struct kernel_fault : device_error {
  kernel_fault(const std::string& sentence, fault k, std::string kernel_name, std::string sentence_part,
               extent3 b, int t, place p, const void* c)
      : device_error(sentence),
        kind(k),
        kernel(std::move(kernel_name)),
        happened(std::move(sentence_part)),
        block(b),
        thread(t),
        where(p),
        code(c) {}
  fault kind;
  std::string kernel;
  std::string happened;
  extent3 block;
  int thread;  // -1: no single one
  place where;
  const void* code;  // behind the call of the verb; null: not known
};

// Called on the worker's OS thread, at the moment the thing happens; launches that are observed have one
// worker.
class observer {
 public:
  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer() = default;

  // for the blocks of a launch; `bytes` covers all of them
  virtual unsigned char* shared_memory(std::size_t bytes) = 0;
  virtual void launch_begins(const launch_state& launch, stream on) = 0;
  virtual void launch_ends() = 0;
  virtual bool enough() { return false; }  // whether no more blocks of the launch need to begin
  virtual void block_begins(block_state& block) = 0;
  virtual void block_ends(block_state& block) = 0;
  virtual void runs(thread_state* t) = 0;  // from now on; null: the scheduler
  virtual void thread_ends(thread_state& t, place where) = 0;

  virtual void previous_grid_waited(thread_state& t) = 0;

  // All of `threads` have met: what each did before is ordered before what each does next.
  virtual void met(block_state& block, std::span<thread_state* const> threads) = 0;
  // A named barrier: one arrival; and, at the last one, those that wait for it go on.
  virtual void arrived(thread_state& t, const void* barrier) = 0;
  virtual void passed(const void* barrier, std::span<thread_state* const> waiting) = 0;

  // The barrier of a cluster: one arrival, the last one, and a thread that has waited and goes on.
  virtual void cluster_arrived(thread_state& t, bool releases) = 0;
  virtual void cluster_phase_ended(cluster_state& c) = 0;
  virtual void cluster_waited(thread_state& t) = 0;

  virtual void copy_issued(thread_state& t, const async_copy& copy, place where) = 0;
  virtual void copies_committed(thread_state& t) = 0;
  virtual void copies_waited(thread_state& t, int groups_left) = 0;

  virtual void mbarrier_initialised(thread_state& t, const std::uint64_t* word, place where) = 0;
  // before any other use of it
  virtual void mbarrier_touched(thread_state& t, const std::uint64_t* word, place where) = 0;
  virtual void mbarrier_arrived(thread_state& t, const std::uint64_t* word) = 0;
  virtual void mbarrier_phase_ended(block_state& block, const std::uint64_t* word) = 0;
  // has seen the end of the phase before the present one
  virtual void mbarrier_waited(thread_state& t, const std::uint64_t* word) = 0;
  // An arrival there is to follow when the thread's asynchronous copies so far have landed; a number for
  // those copies. It has followed.
  virtual std::uint32_t copies_tracked(thread_state& t, const std::uint64_t* word) = 0;
  virtual void copies_arrived(thread_state& t, const std::uint64_t* word, std::uint32_t tracked) = 0;
  virtual void bulk_load_issued(thread_state& t, const bulk_load_state& load, place where) = 0;
  virtual void bulk_store_issued(thread_state& t, const bulk_store_state& store, place where) = 0;
  virtual void bulk_stores_committed(thread_state& t) = 0;
  virtual void bulk_stores_waited(thread_state& t, int groups_left, machine::bulk_done what) = 0;
  virtual void proxy_fence(thread_state& t, machine::proxy of) = 0;
  virtual void mbarrier_fence(thread_state& t) = 0;

  // An atomic operation that is about to be performed.
  virtual void atomic_begins(thread_state& t, const void* at, const machine::atomic_step& step,
                             std::uint64_t expected, place where) = 0;

  virtual void read_by_verb(thread_state& t, const void* from, std::size_t bytes) = 0;
  // Tensor Core operations of all lanes of a warp, and what of shared memory they read.
  virtual void matrix_issued(std::span<thread_state* const> warp,
                             std::span<const std::span<const unsigned char>> reads, place where) = 0;
  virtual void matrices_committed(std::span<thread_state* const> warp) = 0;
  virtual void matrices_waited(std::span<thread_state* const> warp, int groups_left) = 0;
};

}  // namespace antiphase::cpu_detail
