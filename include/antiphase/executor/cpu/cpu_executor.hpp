// SPDX-License-Identifier: Apache-2.0
// The executor that runs kernels on the CPU: every GPU thread a fiber, every schedule replayable.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/executor/executor.hpp>
#include <cstdint>
#include <memory>
#include <vector>

namespace antiphase {

// When an asynchronous copy lands. Early: as it is issued, which shows what it overwrites too soon. Late: at
// the last moment the rules allow, which shows a missing wait. Mixed: each copy one or the other, drawn from
// the seed.
enum class landing { early, late, mixed };

// Which of the threads that can run goes on, wherever one stops. With one worker it depends on the options
// and the launch alone. Random: drawn from the seed. Forward, reversed: the first or last by block and
// thread. Starved: drawn, but one warp of each resident block, also drawn, runs only when nobody else can.
// Priority: the highest of priorities drawn for the threads, and at three drawn moments the running thread
// falls below all others (PCT: Burckhardt et al., ASPLOS 2010). Script: as written down, then forward. No
// thread waits for ever: who polls in vain lets others go first, and but for random, one choice in 1024
// starts at a thread that the schedule may not favour.
enum class schedule { random, forward, reversed, starved, priority, script };

// The decisions of a run: those to follow and those that were taken, whatever the schedule was. Threads are
// counted in forward order; those before the one chosen are passed over and count last from then on. Landings
// are decisions too: of a copy as it is issued (0: later, 1: at once) and of loads in flight. The launches of
// a run continue one list; before the next run, clear `taken`. One launch at a time.
struct schedule_script {
  struct decision {
    // worth trying; not counted, though they can be chosen, are threads that would poll in vain once more
    std::uint32_t candidates;
    std::uint32_t chosen;
    bool operator==(const decision&) const = default;
  };
  // one for each decision, modulo those who can be chosen; 0 from there on
  std::vector<std::uint32_t> choices;
  std::vector<decision> taken;  // nothing where there is no choice
};

// How the Tensor Cores add: bit for bit as Hopper's do (products and sum aligned to the largest, cut off 25
// bits below it), or with ordinary sums, which is faster and enough where the order of threads is the
// question.
enum class tensor_sums { as_hardware, plain };

// The device that the CPU executor simulates where nothing else is asked for. Its name is "CPU executor".
device_limits simulated_device();

struct cpu_options {
  unsigned seed = 1;  // of the order in which fibers run
  schedule order = schedule::random;
  landing copies = landing::late;
  int workers = 0;  // OS threads, each with blocks of its own; 0: one per core. 1 makes a run replayable.
  // Blocks in flight per worker, in whole clusters; 0: one, or two per simulated multiprocessor where blocks
  // wait for earlier ones. Of a kernel whose blocks wait for any other (residency::together) always all; a
  // launch that has too many throws not_supported.
  int resident_blocks = 0;
  device_limits limits = simulated_device();
  // schedule::priority: launch_counts::switches of a run like this one; 0: not known
  unsigned expected_switches = 0;
  // to follow (schedule::script) and to write down what was taken; needs workers = 1
  std::shared_ptr<schedule_script> script = nullptr;
  tensor_sums sums = tensor_sums::as_hardware;
};

// From now on the calling thread's launches on CPU executors throw this soon after *flag is no longer 0, to
// which another thread or a signal handler may see; what they write is unspecified then. Null: they run to
// their end, as at first.
struct interrupted : error {
  using error::error;
};
void set_interrupt_flag(const int* flag) noexcept;

// A launch returns when the whole grid has run. Throws device_error, with the kernel, the block and who waits
// where, if threads or blocks wait for what does not come (at a barrier, in poll() or in a loop of their own
// around atomic loads of device/atomic.cuh), a copy is misaligned, or a kernel traps. A kernel that loops for
// ever over anything else never ends.
std::shared_ptr<const executor> make_cpu_executor(const cpu_options& options = {});

}  // namespace antiphase
