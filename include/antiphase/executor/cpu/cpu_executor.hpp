// The executor that runs kernels on the CPU: every GPU thread a fiber, every schedule replayable.
#pragma once
#include <antiphase/executor/executor.hpp>
#include <memory>

namespace antiphase {

// When an asynchronous copy lands. Early: as it is issued, which shows what it overwrites too soon. Late: at the last moment the
// rules allow, which shows a missing wait. Mixed: each copy one or the other, drawn from the seed.
enum class landing { early, late, mixed };

// The device that the CPU executor simulates where nothing else is asked for. Its name is "CPU executor".
device_limits simulated_device();

struct cpu_options {
  unsigned seed = 1;  // of the order in which fibers run
  landing copies = landing::late;
  int workers = 0;          // OS threads, each with blocks of its own; 0: one per core. 1 makes a run replayable.
  int resident_blocks = 0;  // blocks in flight per worker; 0: one, or two per simulated multiprocessor where blocks wait for each other
  device_limits limits = simulated_device();
};

// A launch returns when the whole grid has run. Throws device_error, with the kernel, the block and who waits where, if a barrier is
// not reached by all, blocks wait for each other in a circle, a copy is misaligned, or a kernel traps.
std::shared_ptr<const executor> make_cpu_executor(const cpu_options& options = {});

}  // namespace antiphase
