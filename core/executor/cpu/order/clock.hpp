// SPDX-License-Identifier: Apache-2.0
// The clock of the simulation: what operations cost on a machine, the units that threads share, and the time
// of a thread.
#pragma once
#include <algorithm>
#include <antiphase/executor/cpu/machine.hpp>
#include <antiphase/executor/machine.hpp>
#include <array>
#include <cstdint>
#include <utility>

namespace antiphase::cpu_detail {

// A model, not a measurement, of a machine whose profile it is given. Every thread has its own time. An
// operation advances it, a wait sets it to the time of the event. The clock counts the device functions of
// `device` and what a kernel reports (device/clock.cuh); ordinary code takes no time.
//
// In a timed launch (worker::in_time) threads run in the order of their times. They queue for the units of
// their multiprocessor, which its resident blocks share, so that times depend on the kernel and its arguments
// alone. In other launches every thread has an equal share of the units for itself.
//
// Moments and durations are int64s of 1/1024 tick. A tick is a cycle of a multiprocessor.
constexpr std::int64_t one_tick = 1024;

// Durations; of a lane where a warp's 32 lanes share an operation.
struct clock_costs {
  std::int64_t instruction, multiply_add;  // by one of four schedulers
  std::int64_t wavefront;                  // of shared memory
  std::int64_t barrier;                    // from the last arrival until all go on
  std::int64_t barrier_of_warp;            // of a barrier after a computation, for each warp: see owe()
  std::int64_t latency;                    // of a load
  // mean of what a load from memory takes longer than others, where its block has so many bytes in flight
  double varies, busy_bytes;
  std::int64_t look;           // from one look at another block's word to the next
  double tensor_multiply_add;  // FP16, on the Tensor Core of a scheduler
  double bytes;                // of a byte from or to global memory, by the copy engine
  double bytes_of_lane;        // the same by a thread
  double of_link;              // share of these that a multiprocessor alone takes at least
  // longer for computing, for each warp of a scheduler: of threads that read ahead, and of others
  double stalls_ahead, stalls;
};
// `in_memory`: what is loaded comes from memory, not from the L2 cache.
clock_costs costs_on(const machine_profile& machine, bool in_memory);
// For a thread that has a share of the units, one of `threads`, for itself.
clock_costs shared_equally(clock_costs costs, int threads);

// A unit serves requests one after the other, and alternately with them what is to be done in the background.
class clock_unit {
 public:
  // The end of a request that a thread waits for.
  std::int64_t until(std::int64_t from, std::int64_t duration) {
    background_ -= std::min(background_, std::max<std::int64_t>(0, from - free_));
    const std::int64_t between = std::min(background_, duration);
    background_ -= between;
    free_ = std::max(free_, from) + duration + between;
    return free_;
  }
  // The earliest end of one that is served in the background.
  std::int64_t later(std::int64_t from, std::int64_t duration) {
    until(from, 0);
    background_ += duration;
    return free_ + background_;
  }

 private:
  std::int64_t free_ = 0, background_ = 0;
};

struct multiprocessor {
  std::array<clock_unit, 4> schedulers = {}, multipliers = {}, tensor_cores = {};
  clock_unit shared = {}, link = {};
  clock_unit* memory = nullptr;  // of all multiprocessors that are modelled
  int sharing = 1;               // their number
  int warps = 1;                 // resident on it
};

class thread_clock {
 public:
  thread_clock() = default;
  // shared: null if every thread has its share for itself
  thread_clock(const clock_costs& costs, multiprocessor* shared, int warp, std::int64_t begin)
      : costs_(&costs),
        on_(shared),
        scheduler_(static_cast<std::size_t>(warp) % 4),
        begin_(begin),
        now_(begin) {}

  std::int64_t now() const { return now_; }
  std::int64_t ticks() const { return now_ / one_tick; }
  std::int64_t ticks_since_begin() const { return (now_ - begin_) / one_tick; }
  const clock_costs& costs() const { return *costs_; }
  void wait_until(std::int64_t moment) { now_ = std::max(now_, moment); }
  // The units' pipelines are empty after a barrier that ends a computation, and take a while to fill again.
  // Whoever has computed owes that, through any number of barriers and whatever lies between them; what pays
  // is the first load, copy or computation after a barrier. So each computation is paid for once, and
  // another barrier shortens nothing.
  bool owes() const { return computed_; }
  // All of a barrier owe if one of them does.
  void owe(std::int64_t until) { paid_at_ = std::max(paid_at_, until); }
  // True if it had to.
  bool pay() {
    if (paid_at_ == 0) return false;
    wait_until(std::exchange(paid_at_, 0));
    computed_ = false;
    return true;
  }
  // Warp instructions in which this lane takes part, that also take shared memory for so many clocks.
  void instructions(double count, double wavefronts = 0) { work(count, 0, wavefronts, 1); }
  void compute(int count) {
    computes();
    instructions(count);
  }
  // Asynchronous copies of a warp, each of which takes shared memory for so many clocks in the background.
  void copy(double count, double wavefronts) {
    pay();
    instructions(count);
    const auto shared = static_cast<std::int64_t>(wavefronts * static_cast<double>(costs_->wavefront));
    copied_ = on_ != nullptr ? on_->shared.later(now_, shared) : now_ + shared;
  }
  std::int64_t copied() const { return copied_; }
  // An instruction of a single lane.
  void instruction_alone() { instructions(on_ != nullptr ? 32 : 1); }
  void multiply(int multiply_adds, int reads, bool ahead) { multiply(multiply_adds, reads, reads, ahead); }
  void multiply(double multiply_adds, double reads, double wavefronts, bool ahead) {
    computes();
    const double of_scheduler = std::max(1., (on_ != nullptr ? on_->warps : 4) / 4.);
    const double stalls = ahead ? costs_->stalls_ahead : costs_->stalls;
    work(multiply_adds + reads, multiply_adds, wavefronts, 1 + stalls / of_scheduler);
  }
  void multiply_on_tensor_cores(int multiply_adds) {
    computes();
    const auto duration = static_cast<std::int64_t>(multiply_adds * costs_->tensor_multiply_add);
    now_ = on_ != nullptr ? on_->tensor_cores[scheduler_].until(now_, duration) : now_ + duration;
  }
  // Transfers bytes from or to global memory in the background: when they have landed.
  std::int64_t landing(double bytes) { return landing_after(bytes * costs_->bytes_of_lane); }
  std::int64_t landing_by_engine(double bytes) { return landing_after(bytes * costs_->bytes); }
  void registers_land_at(std::int64_t moment) { registers_land_ = std::max(registers_land_, moment); }
  void wait_for_registers() { wait_until(registers_land_); }

 private:
  void computes() {
    pay();
    computed_ = true;
  }
  std::int64_t landing_after(double duration) {
    pay();
    if (on_ == nullptr) return memory_.until(now_, static_cast<std::int64_t>(duration)) + costs_->latency;
    const std::int64_t there = on_->memory->until(now_, static_cast<std::int64_t>(duration / on_->sharing)),
                       here = on_->link.until(now_, static_cast<std::int64_t>(duration * costs_->of_link));
    return std::max(there, here) + costs_->latency;
  }
  void work(double instructions, double multiply_adds, double wavefronts, double longer) {
    const auto of = [&](double count, std::int64_t each) {
      return static_cast<std::int64_t>(count * longer * static_cast<double>(each));
    };
    const std::int64_t issue = of(instructions, costs_->instruction),
                       multiplying = of(multiply_adds, costs_->multiply_add),
                       shared = of(wavefronts, costs_->wavefront);
    if (on_ == nullptr) {
      now_ += std::max({issue, multiplying, shared});
      return;
    }
    const std::int64_t from = now_;
    now_ = on_->schedulers[scheduler_].until(from, issue);
    if (multiplying > 0) now_ = std::max(now_, on_->multipliers[scheduler_].until(from, multiplying));
    if (shared > 0) now_ = std::max(now_, on_->shared.until(from, shared));
  }

  const clock_costs* costs_ = nullptr;
  multiprocessor* on_ = nullptr;
  std::size_t scheduler_ = 0;
  std::int64_t begin_ = 0, now_ = 0, registers_land_ = 0, copied_ = 0;
  std::int64_t paid_at_ = 0;  // when what a barrier costs is over; 0: it costs nothing
  bool computed_ = false;
  clock_unit memory_;  // if it has no other
};

// An mbarrier's times: the latest arrival or landing of the current phase, and the end of the previous one.
// And what it means.
struct mbarrier_clock {
  const std::uint64_t* word;
  std::int64_t latest = 0, ended = 0;
  std::uint64_t phases = 0;        // that have ended
  machine::ring_event event = {};  // in a ring
};

}  // namespace antiphase::cpu_detail
