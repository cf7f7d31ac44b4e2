// SPDX-License-Identifier: Apache-2.0
// The clock of the simulation: what costs how much, and the time of a thread.
#pragma once
#include <algorithm>
#include <cstdint>

namespace antiphase::cpu_detail {

// A model, not a measurement. Every thread has a time of its own, which begins at 0 with its block. What it
// does moves its time on by what that costs; what it waits for moves it on to the moment when that has
// happened. So times follow from the kernel and its arguments alone: neither the schedule, nor the seed, nor
// when copies land in memory, nor the machine that simulates makes a difference; but for what a kernel does
// by the order of its threads, such as drawing tiles from an atomic counter, which is why a recorded launch
// has an order of its own (src/trace/recording_executor.cpp). The clock sees the verbs of `device` and what a
// kernel tells it (device/clock.cuh); ordinary code, polling and what blocks wait for from each other take no
// time. A Tensor Core operation counts as one instruction.
//
// A tick is a cycle of a multiprocessor. The figures are of the size of those of a large GPU, and round.
namespace ticks {
// that execute an instruction in one tick; one of each thread of a larger block takes longer
constexpr int threads_at_once = 128;
constexpr int barrier = 30;  // from the last arrival until all go on
// from the end of a transfer from or to global memory until it has landed
constexpr int latency = 500;
constexpr int load_bytes = 4;  // that an instruction loads to registers
// that a block transfers from or to global memory in a tick, while its threads go on
constexpr int bytes = 32;
}  // namespace ticks

// Transfers one after the other, in the background.
class transfer_lane {
 public:
  // When one that is asked for at `now`, and takes so long, has landed.
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
  // Begins to load: when the bytes have landed. Each thread of the block has an equal share of its bandwidth.
  std::int64_t load(int bytes_of_thread) {
    return lane_.land(now_, (std::int64_t{bytes_of_thread} * threads_ + ticks::bytes - 1) / ticks::bytes);
  }
  // Of loads to registers, and their use.
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

// Of an mbarrier: when the last arrival or landing of the phase under way was, and when the phase before it
// ended.
struct mbarrier_clock {
  const std::uint64_t* word;
  std::int64_t latest = 0, ended = 0;
};

}  // namespace antiphase::cpu_detail
