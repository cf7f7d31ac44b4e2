// SPDX-License-Identifier: Apache-2.0
// The law of a pipelined kernel: how long a step of its blocks takes, from what a step needs, how many
// buffers there are, and the machine. docs/model.md derives it.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace antiphase {

// What a prediction is made of. `waiting`: what a law fitted to measurements has beside launch, memory and
// arithmetic.
enum class limit { launch, memory, arithmetic, issue, shared_memory, latency, barriers, stores, waiting };
constexpr std::size_t limit_count = 9;
std::string_view name(limit l);

// Seconds, and what share of them each limit has; the shares add up to the seconds.
struct prediction {
  double seconds = 0;
  std::array<double, limit_count> parts = {};

  double& of(limit l) { return parts[static_cast<std::size_t>(l)]; }
  double of(limit l) const { return parts[static_cast<std::size_t>(l)]; }
  limit largest() const;
  void add(limit l, double more) { of(l) += more, seconds += more; }
  void raise_to(double least, limit l) {
    if (least > seconds) add(l, least - seconds);
  }
};

// The least seconds in which a kernel moves so many bytes: all of them through the L2 cache, and from or to
// memory what that cannot hold.
double least_to_move(const machine_profile& on, double bytes);

// One block, step by step: load a slot, wait for it, compute from it.
struct pipeline_step {
  int threads = 256;
  int stages = 1;
  // whether copies go on while their thread does other things. If not, and stages > 1, they are staged in
  bool asynchronous = true;
  // registers: one step ahead, however many slots there are
  // at a barrier of the block in each step. Where some warps load and others compute, they do not, and what
  bool meets = true;
  // these wait for each other is in their rate
  // whether a role of its own loads, in a channel: S loads are in flight and not S - 1, a slot is taken again
  // as
  bool by_roles = false;
  // soon as it is free, and no barrier of the block ends a step
  bool registers_ahead = true;  // whether a thread reads from shared memory ahead of what it multiplies
  double arithmetic = 0;        // clocks in which the multiplying units are busy
  double issue = 0;             // instructions of warps
  double shared = 0;            // clocks in which shared memory is busy
  double bytes = 0;             // that the step loads
  // seconds from asking for them to having them, as far as nothing else is waited for
  double latency = 0;
};

// Loads that are under way at a time while a block computes: what the form of the ring lets them be.
int loads_ahead(const pipeline_step& s);

// Clocks that one step takes on a multiprocessor that runs `blocks` of them side by side: of all of them,
// that is. Its parts are clocks.
prediction step_clocks(const machine_profile& on, const pipeline_step& s, int blocks);

// The textbooks': loads of Tl and computation of Tc, one after the other, or the longer of both. Where blocks
// do not help each other, there are no barriers, and latency is all there is to a load, step_clocks() is
// this.
struct textbook_times {
  double load, compute;
  double one_buffer() const { return load + compute; }
  double two_buffers() const { return load > compute ? load : compute; }
  double gain() const { return one_buffer() / two_buffers(); }
};

// Blocks of `steps` steps each, `tiles` of them, as many at a time as fit: in waves, whose last may leave
// multiprocessors idle. Seconds.
prediction blocks_seconds(const machine_profile& on, const pipeline_step& s, std::int64_t tiles,
                          std::int64_t steps, int resident);

}  // namespace antiphase
