// SPDX-License-Identifier: Apache-2.0
// Timelines: when the block of a running GEMM kernel loads, waits and computes, and how much of the loading its computation hides.
#pragma once
#include <antiphase/channel/record.hpp>
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// The spans of one block, warp by warp and within a warp in the order of time, which starts at 0 with the first of them.
struct timeline {
  std::string policy{};  // the step of the ladder
  std::string device{};
  target runs_on = target::cpu;
  std::string unit = "ticks";  // of time: "cycles" of the multiprocessor's clock on a GPU, "ticks" of the simulation's on the CPU executor
  int stages = 1;              // slots of the ring
  int steps = 0;               // along K, of which the first `recorded` have all their spans
  int recorded = 0;
  int warps = 0;
  unsigned block = 0;
  std::vector<span_record> spans{};
  std::uint64_t dropped = 0;  // spans that found no room in the log
};

struct trace_options {
  unsigned block = 0;  // which block of the grid
  int steps = 32;      // room for so many steps; later ones are counted as dropped
  // On a GPU, of which the quickest is kept: caches are cold in the first, other work may disturb any. One where beta is not 0 (C would
  // change) and on the CPU executor.
  int runs = 3;
  stream on = nullptr;
};

// Computes the product with a recording twin of a ladder step and returns the timeline of one block. `policy` is the name of a step, or
// "async-1": the asynchronous kernel with a single buffer, to compare the other stages with. Where a step has variants for the layouts of A
// and B, there are two twins: one for row-major operands with wide copies, one for all others.
//
// On the CPU executor the times are those of a model of a multiprocessor, in ticks (docs/measuring.md): nothing is measured, and the same
// problem gives the same timeline everywhere.
//
// Throws bad_request for an unknown policy, for "naive", which has no pipeline, for a problem without steps and for a block that does not
// exist.
timeline record_gemm(const context& where, std::string_view policy, const gemms::problem& p, const trace_options& options = {});

// One step as the whole block sees it: the warps' spans taken together.
struct step_times {
  int step = 0, slot = 0;
  std::int64_t issued = 0;         // the first warp begins to load
  std::int64_t landed = 0;         // the first warp's wait returns: the data of all warps have landed
  std::int64_t compute_begin = 0;  // of the first warp
  std::int64_t compute_end = 0;    // of the last warp
};
std::vector<step_times> by_step(const timeline& t);  // the recorded steps, in order

// How well the pipeline works.
struct overlap {
  int steps = 0;
  int steps_hidden = 0;       // steps loaded while another step was computed, at least for a part of the time; never the first
  double hidden = 0;          // share of the time with a load in flight that computation covers, summed over the steps' loads: 0 ... 1
  double mean_wait = 0;       // per step and warp: time in wait, commit and release; a commit of staged registers waits for them to arrive
  double mean_compute = 0;    // per step and warp
  std::int64_t duration = 0;  // from the first load to the end of the last computation
};
overlap measure(const timeline& t);

}  // namespace antiphase
