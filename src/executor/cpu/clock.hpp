// SPDX-License-Identifier: Apache-2.0
// The clock of the simulation: costs, and the time of a thread.
#pragma once
#include <algorithm>
#include <cstdint>

namespace antiphase::cpu_detail {

// A model, not a measurement. Every thread has its own time, which begins at 0 with its block. An operation
// advances it by its cost, a wait to the time of the event. So times depend on the kernel and its arguments
// alone, not on the schedule, the seed, when copies land in memory, or the host machine. The exception is
// what a kernel does by the order of its threads, such as drawing tiles from an atomic counter; recorded
// launches therefore have a fixed order (src/trace/recording_executor.cpp). The clock counts the verbs of
// `device` and what a kernel reports (device/clock.cuh). Ordinary code, polling and waits between blocks take
// no time. A Tensor Core operation counts as one instruction.
//
// A tick is a cycle of a multiprocessor. The figures are round ones, of the magnitude of a large GPU's.
namespace ticks {
// threads that execute an instruction in one tick; larger blocks take more ticks per instruction
constexpr int threads_at_once = 128;
constexpr int barrier = 30;  // from the last arrival until all continue
// from the end of a transfer from or to global memory until it has landed
constexpr int latency = 500;
constexpr int load_bytes = 4;  // per instruction that loads to registers
// that a block transfers from or to global memory per tick, in the background
constexpr int bytes = 32;
}  // namespace ticks

// Background transfers, one after the other.
class transfer_lane {
 public:
  // The time when a transfer of that duration, requested at `now`, has landed.
  std::int64_t land(std::int64_t now, std::int64_t duration) {
    free_ = std::max(free_, now) + duration;
    return free_ + ticks::latency;
  }

 private:
  std::int64_t free_ = 0;
};

class thread_clock {
 public:
  thread_clock() = default;
  explicit thread_clock(int threads)
      : threads_(threads), instruction_((threads + ticks::threads_at_once - 1) / ticks::threads_at_once) {}

  std::int64_t now() const { return now_; }
  void instructions(int count) { now_ += std::int64_t{count} * instruction_; }
  void wait_until(std::int64_t time) { now_ = std::max(now_, time); }
  // Starts a load; returns when it has landed. The block's threads share its bandwidth equally.
  std::int64_t load(int bytes_of_thread) {
    return lane_.land(now_, (std::int64_t{bytes_of_thread} * threads_ + ticks::bytes - 1) / ticks::bytes);
  }
  // Loads to registers: issue, and first use.
  void load_registers(int bytes) {
    instructions((bytes + ticks::load_bytes - 1) / ticks::load_bytes);
    registers_land_ = load(bytes);
  }
  void wait_for_registers() { wait_until(registers_land_); }

 private:
  std::int64_t now_ = 0;
  int threads_ = 0, instruction_ = 1;
  transfer_lane lane_;
  std::int64_t registers_land_ = 0;
};

// An mbarrier's times: the latest arrival or landing of the current phase, and the end of the previous one.
// And what it means.
struct mbarrier_clock {
  const std::uint64_t* word;
  std::int64_t latest = 0, ended = 0;
  machine::ring_event of = {};  // in a ring
};

}  // namespace antiphase::cpu_detail
