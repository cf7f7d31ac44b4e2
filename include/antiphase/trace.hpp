// SPDX-License-Identifier: Apache-2.0
// Timelines: when a block of a running kernel loads, waits and computes, and how much of the loading its
// computation hides.
#pragma once
#include <antiphase/channel/record.hpp>
#include <antiphase/context.hpp>
#include <antiphase/gemm/problem.hpp>
#include <antiphase/gemm/tensor_core.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// Warps that do the same.
struct timeline_role {
  std::string name{};  // what they do: "load", "compute", "scan", ...
  int first = 0, count = 1;
  bool loads = false;     // they fill slots
  bool computes = false;  // they are those whose waiting counts
};

// What recording costs: how long the kernel takes as it is, and as its recording twin, in milliseconds,
// medians of as many runs.
struct recording_cost {
  int runs = 0;  // of each, one after the other by turns; 0: not measured
  double plain_ms = 0, recorded_ms = 0;
};

// The spans of one block, warp by warp and within a warp in the order of time, which starts at 0 with the
// first of them.
struct timeline {
  std::string policy{};  // the step of the ladder
  std::string device{};
  target runs_on = target::cpu;
  // Of time: "cycles" of the multiprocessor's clock on a GPU, "ticks" of the CPU executor's simulated clock.
  std::string unit = "ticks";
  int stages = 1;  // slots of the ring
  int steps = 0;   // along K, of which the first `recorded` have all their spans
  int recorded = 0;
  int warps = 0;
  unsigned block = 0;
  std::vector<span_record> spans{};
  std::uint64_t dropped = 0;  // spans that found no room in the log

  std::string kernel = "gemm";           // the family
  std::string step_is = "step along K";  // what goes through the ring in one step
  // of a slot: each ends with an event of the ring, the last gives the slot back
  std::vector<std::string> phases{"load", "compute"};
  std::vector<std::string> rings{"tiles"};  // of which the first is the one whose slots are shown
  std::vector<timeline_role> roles{};       // none: every warp loads and computes
  std::int64_t step_bytes = 0;              // that a step loads
  recording_cost cost{};                    // if trace_options::cost_runs asked for it
};
// The roles, or the one of a kernel without.
std::vector<timeline_role> roles_of(const timeline& t);

struct trace_options {
  unsigned block = 0;  // which block of the grid
  int steps = 32;      // room for so many steps; later ones are counted as dropped
  // On a GPU, of which the quickest is kept: caches are cold in the first, other work may disturb any. One
  // where beta is not 0 (C would change) and on the CPU executor.
  int runs = 3;
  // Not 0: measure timeline::cost by so many launches of kernel and twin, by turns. Only where beta is 0, and
  // not of scans in place. Where the twin stands for a variant other than the one that the call launches,
  // there is nothing to compare: cost.runs stays 0.
  int cost_runs = 0;
  stream on = nullptr;
};

// Computes the product with a recording twin of its kernel and returns the timeline of one block. `policy` is
// the name of a step of the ladder; "async-1", the asynchronous kernel with a single buffer, to compare the
// other stages with; "fp16", "fp16-mma", "tf32"; or "fp64", where the copy engine or threads fill a
// ring for it. Where a step of the ladder has variants for the layouts of A and B, there are two twins: one
// for row-major operands with wide copies, one for all others.
//
// On the CPU executor the times are those of a model of a multiprocessor, in ticks (docs/timelines.md):
// nothing is measured, and the same problem gives the same timeline everywhere.
//
// Throws bad_request for an unknown policy, for "naive", which has no pipeline, for a problem without steps
// and for a block that does not exist; not_supported, naming the kernels and why, where the problem is
// computed by kernels without a twin.
timeline record_gemm(const context& where, std::string_view policy, const gemms::problem& p,
                     const trace_options& options = {});
// The same of a step with f16 operands: "tensor-core-2" to "tensor-core-tma".
timeline record_gemm(const context& where, std::string_view policy, const gemms::tensor_core_problem& p,
                     const trace_options& options = {});

// Scans with a recording twin: "single-pass", or its rings of fewer slots, "single-pass-1" to "-3";
// "single-pass-async", whose tiles threads move; and "one-wave", of which each block has one tile and no
// ring, and its phases are recorded. A step is a tile; a block of a ring draws its tiles, so on a GPU which
// they are differs from run to run. Twins are of inclusive and exclusive sums of f32, in one line, several
// (scan_problem::outer) or segments by key. Throws as record_gemm(), bad_request for other problems.
timeline record_scan(const context& where, std::string_view policy, const scan_problem& p,
                     const trace_options& options = {});
timeline record_scan(const context& where, std::string_view policy, const scan_problem& p,
                     const scan_keys& keys, const trace_options& options = {});

// The timeline of a kernel of one's own, whose ring is a recorded<...> (channel/recorded.cuh): `like` says
// what is known of it (names, roles, phases, stages, warps, unit), `counts` and `log` are what the kernel has
// written, with room for log.size() / counts.size() spans of each warp. Steps are numbered by the order of
// the verbs, and what warps did between them is added. Throws bad_request where they do not fit.
timeline read_spans(timeline like, std::span<const span_record> log, std::span<const std::int32_t> counts);

// A timeline as text, for `antiphase trace --read`, and back. Throws bad_request for text that is none.
std::string to_json(const timeline& t);
timeline timeline_of(std::string_view json);

// One step as the whole block sees it: the warps' spans taken together.
struct step_times {
  int step = 0, slot = 0;
  std::int64_t issued = 0;  // the first warp begins to load
  // the first warp's wait returns: the data of all warps have landed. Where loads block, the last load's end
  std::int64_t landed = 0;
  std::int64_t compute_begin = 0;  // of the first warp
  // of the last warp; of a ring with roles, when the slot has been given back
  std::int64_t compute_end = 0;
  // When the data landed, as far as one can tell: `landed` if a warp was waiting then; else after as long as
  // the loads took that warps did wait for, but before the first wait.
  std::int64_t arrived = 0;
  bool seen_landing = false;           // a warp was waiting
  std::vector<std::int64_t> events{};  // of a ring with roles: when each has happened
};
// the recorded steps, in order; none where one of them has no load, or no end of it
std::vector<step_times> by_step(const timeline& t);

// What computing warps wait for, and how much of their time.
struct waiting_share {
  std::string cause{};
  double share = 0;
};

// How well the pipeline works. All is 0 where nothing was recorded.
struct overlap {
  int steps = 0;  // recorded
  // steps loaded while another step was computed, at least for a part of the time; never the first
  int steps_hidden = 0;
  // share of the time with a load in flight that computation covers, summed over the steps' loads: 0 ... 1
  double hidden = 0;
  // per step and warp: time in wait, commit and release; a commit of staged registers waits for them to
  // arrive
  double mean_wait = 0;
  double mean_compute = 0;    // per step and warp
  std::int64_t duration = 0;  // from the first load to the end of the last computation

  double waiting = 0;                   // share of the computing warps' time in which they wait
  std::vector<waiting_share> causes{};  // of that, the largest first
  // on their way to the block at a time (by step_times::arrived); 0 if a step's bytes are not known
  double mean_bytes = 0;
  std::int64_t most_bytes = 0;
  // Which side limits: "loads", "computation", "turns" (of loading and computing, in a ring of one slot that
  // the same warps fill and use), or the name of a later phase that computing warps wait for, or that holds
  // the slots which loads wait for.
  std::string limited_by{};
  double load_time = 0;  // typical, of a load that a warp waited for
  double step_time = 0;  // mean
  double busy_time = 0;  // of step_time, what is not waiting for data
  double next_time = 0;  // step_time with one more stage, estimated: see one_more_stage()
  // The warps that load and compute are blocked by their loads, which end in registers or plain stores: that
  // time is waiting, no computation of the same warp hides it, and more stages change nothing.
  bool loads_block = false;
  // several loads were seen landing one after the other, so the estimate knows how fast they can
  bool knows_rate = false;
};

// The estimate of a step's time in a ring of `stages` slots, from recorded times: as long as the longest of
// what a step needs anyhow (`busy`), what the ring's slots let through (a slot is filled for `load`, and used
// for `use` where the loader is a role of its own; each stage more lets one more load be on its way), and
// what the memory has been seen to deliver (`rate`: time from landing to landing, 0: not known). Other limits
// are not known, so it is a lower bound of the time.
double one_more_stage(int stages, bool roles, double load, double use, double busy, double rate);
overlap measure(const timeline& t);

}  // namespace antiphase
