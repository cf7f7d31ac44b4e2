// SPDX-License-Identifier: Apache-2.0
// Cost model of a pipelined kernel: how long a step of its blocks takes, from what a step needs, the number
// of stages, and the machine. docs/learn/model.md derives it.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace antiphase {

// The parts of a prediction. `waiting`: what a fitted cost model has besides launch, memory and
// arithmetic.
enum class limit { launch, memory, arithmetic, issue, shared_memory, latency, barriers, stores, waiting };
constexpr std::size_t limit_count = 9;
std::string_view name(limit l);

// Seconds, and how many of them each limit accounts for; the parts add up to the seconds.
struct prediction {
  double seconds = 0;
  std::array<double, limit_count> parts = {};
  // By how many seconds it would be shorter if a limit vanished: its part, unless something else that now
  // overlaps it would take as long, or longer than its part shows.
  std::array<double, limit_count> savings = {};

  double of(limit l) const { return parts[static_cast<std::size_t>(l)]; }
  double saved_without(limit l) const { return savings[static_cast<std::size_t>(l)]; }
  // The limit without which it would be shortest.
  limit largest() const;
  void add(limit l, double more) {
    const auto at = static_cast<std::size_t>(l);
    parts[at] += more, savings[at] += more, seconds += more;
  }
  void scale(double times);
  void raise_to(double least, limit l) {
    if (least > seconds) add(l, least - seconds);
  }
};

// Lower bound in seconds for moving this many bytes: all through the L2 cache, and from or to memory what the
// cache cannot hold.
double least_to_move(const machine_profile& on, double bytes);

// What no machine's figures tell, fitted to the ladders at 1024^3 and 4096^3 on an H200
// (scripts/cost_models/model_error.py reports the error elsewhere). This model, the ladder's and the CPU
// executor's clock share these constants.
namespace fitted {
// Stalls, in warps: w warps of a scheduler keep a unit busy for w / (w + this) of the time.
constexpr double waits_reading_ahead = 0.305, waits_reading = 0.413;
// clocks of a step's barriers and its loop, per warp
constexpr double barrier_of_warp = 14.2;
// warp instructions of a copy: addresses, bounds, the copy; the same where it goes through registers
constexpr double copy_instructions = 11.1, staged_instructions = 17.1;
// of a 16-byte copy that is transposed in registers, next to those of a copy
constexpr double transposing_instructions = 12;
// clocks of shared memory for the asynchronous copies of a warp: of 4 bytes, which go one by one; of 16
constexpr double narrow_copy_clocks = 8.57, wide_copy_clocks = 4;
constexpr double staged_copy_clocks = 2;  // read from memory, and written
// multiply-adds per clock that mma.sync of FP16 reaches on Hopper, fed by ldmatrix
constexpr double warp_multiplies = 640;
// The clock alone: clocks from the last arrival at a barrier until all go on, as a second one costs a scan of
// 256 threads that waits for nothing else (83.0 against 58.2 clocks a step, bench/costs/pairs.cu).
constexpr double barrier_latency = 25;
// The clock alone, fitted to rings of a scan of 2^28 floats: what loads of the copy engine take longer on
// average, in latencies, when as many bytes are in flight as keep memory busy.
constexpr double latency_varies = 2.2;
}  // namespace fitted

// One block, step by step: load a slot, wait for it, compute from it.
struct pipeline_step {
  int threads = 256;
  int stages = 1;
  // Copies proceed while their thread does other work. If false and stages > 1, they are staged in registers:
  // one step ahead, however many slots there are.
  bool asynchronous = true;
  // All warps meet at a block barrier in each step. false where some warps load and others compute; how long
  // these wait for each other is part of their rate then.
  bool meets = true;
  // Producer warps load, in a channel: S loads are in flight instead of S - 1, a slot is refilled as soon as
  // it is free, and no block barrier ends a step.
  bool by_roles = false;
  // When the next slot's loads begin. after: after the wait for the slot in use, and they land while it is
  // computed from. before: before that wait, so that a ring without roles has S copies in flight, too; to
  // registers, where the next tile waits meanwhile, that needs one slot. blocking: they are waited for before
  // the computation, however many slots there are.
  enum class next_loads : std::uint8_t { after, before, blocking } next = next_loads::after;
  bool registers_ahead = true;  // a thread reads shared memory ahead of its multiply-adds
  double arithmetic = 0;        // clocks in which the multiplying units are busy
  double issue = 0;             // warp instructions
  double shared = 0;            // clocks in which shared memory is busy
  double bytes = 0;             // loaded by the step
  bool in_cache = false;        // the L2 cache has them
  // seconds from issuing the loads to their landing, nothing else waited for
  double latency = 0;
};

// Bytes in flight on a multiprocessor that keep memory, or the L2 cache, busy: bandwidth x latency.
double in_flight_wanted(const machine_profile& on, bool in_cache);

// Loads in flight while a block computes, as the form of the ring allows.
int loads_ahead(const pipeline_step& s);

// True if a load and a computation of a block never overlap, of all warps that do both.
bool takes_turns(const pipeline_step& s);

// Clocks in which a multiprocessor with `blocks` resident blocks runs one step of each. The prediction's
// seconds and parts are clocks here.
prediction step_clocks(const machine_profile& on, const pipeline_step& s, int blocks);

// The textbook model: Tl to load and Tc to compute, added up with one buffer, the longer of both with two.
// step_clocks() reduces to it for a single resident block, no barriers, and loads that are latency only.
struct textbook_times {
  double load, compute;
  double one_buffer() const { return load + compute; }
  double two_buffers() const { return load > compute ? load : compute; }
  double gain() const { return one_buffer() / two_buffers(); }
};

// Seconds of `tiles` blocks of `steps` steps each, `resident` per multiprocessor at a time: in waves, the
// last of which may leave multiprocessors idle.
prediction blocks_seconds(const machine_profile& on, const pipeline_step& s, std::int64_t tiles,
                          std::int64_t steps, int resident);

}  // namespace antiphase
