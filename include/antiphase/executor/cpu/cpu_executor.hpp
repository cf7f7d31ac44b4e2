// SPDX-License-Identifier: Apache-2.0
// The executor that runs kernels on the CPU: each GPU thread is a fiber, and schedules can be replayed.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/executor/executor.hpp>
#include <antiphase/executor/machine.hpp>
#include <cstdint>
#include <memory>
#include <vector>

namespace antiphase {

// When an asynchronous copy lands. Early: when issued, which exposes data that it overwrites too soon. Late:
// at the last moment that the rules allow, which exposes a missing wait. Mixed: either, drawn for each copy
// from the seed.
enum class landing { early, late, mixed };

// Which runnable thread continues when one stops. With one worker it depends on the options and the launch
// only.
//   random              drawn from the seed
//   forward, reversed   the first or the last by block and thread
//   starved             drawn, but one drawn warp of each resident block runs only when nothing else can
//   priority            the highest of priorities drawn for the threads; at three drawn moments the running
//                       thread falls below all others (PCT: Burckhardt et al., ASPLOS 2010)
//   script              as recorded in a schedule_script, then forward
// No thread starves for ever: a thread that polls unsuccessfully yields to others, and, except with random,
// one choice in 1024 starts at a thread that the schedule may not favour.
enum class schedule { random, forward, reversed, starved, priority, script };

// The decisions of a run: those to follow, and those that were taken, under any schedule. Threads are
// numbered in forward order; those before the chosen one are passed over and come last from then on. Landings
// are decisions too: of a copy when it is issued (0: later, 1: at once) and of loads in flight. The launches
// of a run continue one list; clear `taken` before the next run. One launch at a time.
struct schedule_script {
  struct decision {
    // alternatives worth trying: threads that would only poll unsuccessfully again are not counted, but may
    // be chosen
    std::uint32_t candidates;
    std::uint32_t chosen;
    bool operator==(const decision&) const = default;
  };
  // one for each decision, modulo the number of threads that can be chosen; after the last one, 0
  std::vector<std::uint32_t> choices;
  std::vector<decision> taken;  // only where there was a choice
};

// Sums of simulated Tensor Cores: as Hopper's, bit for bit (products and sum aligned to the largest,
// truncated 25 bits below it), or plain sums, which are faster and enough for checking schedules.
enum class tensor_sums { as_hardware, plain };

// The machine that timed launches model, docs/learn/timelines.md. They run on one worker, in the order of
// their threads' times: seed, order, copies and workers make no difference to them.
struct timed_machine {
  machine_profile profile;
  // resident on a multiprocessor, which they share; 0: as many as fit there, with the grid spread over all
  int blocks = 0;
  int fit = 0;  // on one, where more is known than the limits tell, such as of registers; 0: it is not
  int multiprocessors = 1;  // modelled at a time, each with its blocks
  bool in_memory = false;   // what is loaded comes from memory, not from the L2 cache
};

// The device that the CPU executor simulates by default. Its name is "CPU executor".
device_limits simulated_device();

struct cpu_options {
  unsigned seed = 1;  // of the order in which fibers run
  schedule order = schedule::random;
  landing copies = landing::late;
  int workers = 0;  // OS threads, each with blocks of its own; 0: one per core. 1 makes a run replayable.
  // Resident blocks per worker, in whole clusters; 0: one, or two per simulated multiprocessor where blocks
  // wait for earlier ones. With residency::together always all blocks; a launch with too many throws
  // not_supported.
  int resident_blocks = 0;
  device_limits limits = simulated_device();
  // schedule::priority: launch_counts::switches of a run like this one; 0: not known
  unsigned expected_switches = 0;
  // decisions to follow (schedule::script), and where those taken are recorded; needs workers = 1
  std::shared_ptr<schedule_script> script = nullptr;
  tensor_sums sums = tensor_sums::as_hardware;
  // null: launches are not timed, and their clocks know no other thread
  std::shared_ptr<const timed_machine> timed = nullptr;
};

// set_interrupt_flag(): from now on the calling thread's launches on CPU executors throw `interrupted` soon
// after another thread or a signal handler has set *flag to other than 0. What such a launch writes is
// unspecified. Null (the default): launches run to their end.
struct interrupted : error {
  using error::error;
};
void set_interrupt_flag(const int* flag) noexcept;

// Makes an executor whose launches return when the whole grid has run. A launch throws device_error, with the
// kernel, the block and the waiting threads, if there is a deadlock (at a barrier, in poll(), or in a loop
// around atomic loads of device/atomic.cuh), a copy is misaligned, or a kernel traps. An infinite loop of any
// other kind never ends.
std::shared_ptr<const executor> make_cpu_executor(const cpu_options& options = {});

}  // namespace antiphase
