// SPDX-License-Identifier: Apache-2.0
// Timelines: when a block of a running kernel loads, waits and computes, and how much of the loading its
// computation hides.
#pragma once
#include <antiphase/attention/problem.hpp>
#include <antiphase/channel/record.hpp>
#include <antiphase/context.hpp>
#include <antiphase/executor/machine.hpp>
#include <antiphase/gemm/problem.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// A role: neighbouring warps with the same task.
struct timeline_role {
  std::string name{};  // what they do: "load", "compute", "scan", ...
  int first = 0, count = 1;
  bool loads = false;     // producers: they fill slots
  bool computes = false;  // consumers: overlap measures their waiting
};

// Overhead of recording: median times of the kernel and of its recording twin, in milliseconds.
struct recording_cost {
  int runs = 0;  // of each, alternating; 0: not measured
  double plain_ms = 0, recorded_ms = 0;
};

// The recorded spans of one block, sorted by warp and then by time. Time starts at 0 with the first span.
struct timeline {
  std::string policy{};  // as given to record_gemm() or record_scan()
  std::string device{};
  target runs_on = target::cpu;
  // Unit of time: "cycles" of the multiprocessor's clock, or "ticks" of the CPU executor's simulated clock.
  std::string unit = "ticks";
  int stages = 1;  // slots of the ring
  int steps = 0;   // all steps of the block; the first `recorded` have all their spans
  int recorded = 0;
  int warps = 0;
  unsigned block = 0;
  std::vector<span_record> spans{};
  std::uint64_t dropped = 0;  // spans for which the log had no room

  std::string kernel = "gemm";           // the family
  std::string step_is = "step along K";  // what passes through the ring in one step
  // phases of a slot: each ends with an event of the ring, the last one releases the slot
  std::vector<std::string> phases = load_and_compute();
  // The first is the one whose slots are shown. "registers": a kernel without buffers, whose slot is what a
  // warp has loaded. "results": its buffers are filled with what was computed. A wait in one
  // named tensor_cores is for products that the warp has begun, and counts as computation where that hides
  // loads.
  std::vector<std::string> rings = tiles();
  static constexpr std::string_view tensor_cores = "Tensor Cores";
  std::vector<timeline_role> roles{};  // empty: every warp loads and computes
  std::int64_t step_bytes = 0;         // loaded by a step
  recording_cost cost{};               // if trace_options::cost_runs asked for it
  // True if loads block the warps that issue them, as they end in registers or plain stores at once. Not set:
  // the times tell.
  std::optional<bool> loads_block{};
  std::vector<std::string> places{};     // lines of the source, "my.cu:12"
  std::vector<std::string> texts{};      // of each place; empty where the source was not there to read
  std::vector<std::int32_t> place_of{};  // by span: which of them, or -1; empty: not known
  std::vector<std::string> notes{};      // sentences on what the recording shows
  // Work of a step, to compare kernels with different tiles: multiply-adds of a product,
  // elements of a scan. 0: not known.
  std::int64_t step_work = 0;
  std::string work_is = "multiply-adds";

  // Functions: at a list of strings g++ 12 fails where a template names members of a timeline.
  static std::vector<std::string> load_and_compute() { return {"load", "compute"}; }
  static std::vector<std::string> tiles() { return {"tiles"}; }
};
// The roles; for a kernel without any, the one of all warps.
std::vector<timeline_role> roles_of(const timeline& t);

// Options of record_gemm() and record_scan().
struct trace_options {
  unsigned block = 0;  // which block of the grid
  int steps = 32;      // log room, in steps; later steps are counted as dropped
  // Runs on a GPU, of which the fastest is kept: the first has cold caches, other work may disturb any. Only
  // one where beta is not 0 (it changes C) and on the CPU executor.
  int runs = 3;
  // Not 0: measure timeline::cost by this many launches each of kernel and twin, alternating. Only where beta
  // is 0, and not for scans in place. Where the twin is of another variant than gemm() would launch, the two
  // cannot be compared: cost.runs stays 0.
  int cost_runs = 0;
  antiphase::stream stream = nullptr;
  // On the CPU executor, the machine whose times are modelled (docs/learn/timelines.md); null: an H200. The
  // context's limits decide which kernel runs, and its grid: give it those of that machine.
  std::shared_ptr<const machine_profile> profile = nullptr;
  // Blocks that share a multiprocessor of it; 0: as many as the launch puts on each.
  int blocks = 0;
  int registers = 0;  // of a thread, where plain CUDA is timed; 0: not known
  // Whether what is loaded comes from its memory or its L2 cache; not set: by the size of the operands.
  std::optional<bool> from_memory = {};
};

// Computes the product with a recording twin of its kernel and returns the timeline of one block:
//
//   const timeline t = record_gemm(where, "async-2", p);
//   const overlap o = measure(t);
//   std::printf("%.0f %% of the loading hidden, limited by %s\n", 100 * o.hidden, o.limited_by.c_str());
//
// `policy` names a step of the ladder; "async-1", the asynchronous kernel with a single buffer, as the
// baseline of the other stages; "fp16", "fp16-mma", "tf32"; or "fp64", where TMA or threads fill a ring
// for it. Where a step of the ladder has variants for the layouts of A and B, there are two twins: one for
// row-major operands with wide copies, one for all others.
//
// On the CPU executor the times are those of a model of a multiprocessor, in ticks (docs/learn/timelines.md):
// nothing is measured, and the same problem gives the same timeline everywhere. timeline::device is then the
// machine that is modelled.
//
// Throws bad_request for an unknown policy, for "naive", which has no pipeline, for a problem without steps
// and for a block that does not exist; not_supported, naming the kernels and why, where the problem is
// computed by kernels without a twin.
timeline record_gemm(const context& where, std::string_view policy, const gemms::problem& p,
                     const trace_options& options = {});
// The policies that it knows, those with f16 operands included; and those of record_scan().
std::vector<std::string> recorded_gemm_policies();
std::vector<std::string> recorded_scan_policies();
// The same for a step with f16 operands: "tensor-core-2" to "tensor-core-tma".
timeline record_gemm(const context& where, std::string_view policy, const gemms::tensor_core_problem& p,
                     const trace_options& options = {});

// Scans with a recording twin and returns the timeline of one block. `policy` is "single-pass"; its rings of
// fewer slots, "single-pass-1" to "-3"; "single-pass-async", whose tiles are copied by threads; or
// "one-wave", where a block has one tile and no ring: its phases are recorded. A step is a tile. Blocks draw
// their tiles from a counter, so on a GPU a block's tiles differ from run to run. There are twins for
// inclusive and exclusive sums of f32, in one line, several (scan_problem::outer) or segments by key. Throws
// as record_gemm(), and bad_request for other problems.
timeline record_scan(const context& where, std::string_view policy, const scan_problem& p,
                     const trace_options& options = {});
timeline record_scan(const context& where, std::string_view policy, const scan_problem& p,
                     const scan_keys& keys, const trace_options& options = {});

// Computes attention with a recording twin of a step of its ladder, "tiled" to "antiphase", and returns the
// timeline of one block. A step is a tile of K or of V, alternately. On Tensor Cores warps wait for products
// that they have started: that is a wait in a second of timeline::rings, "Tensor Cores", and what they do
// between is the softmax. There are twins for rows of 33 to 128 numbers, without mask, window and bias.
// Throws as record_gemm(); not_supported for other problems.
timeline record_attention(const context& where, std::string_view policy, const attention_problem& p,
                          const trace_options& options = {});

// The timeline of a kernel of one's own, whose ring is a recorded<...> (channel/recorded.cuh):
//
//   const timeline t = read_spans({.stages = 3, .warps = warps, .kernel = "my kernel",
//                                  .roles = {{.name = "load", .loads = true},
//                                            {.name = "compute", .first = 1, .count = 4, .computes = true}},
//                                  .step_bytes = 4096},
//                                 spans.to_host(), counts.to_host());
//
// `like` describes the kernel (names, roles, phases, stages, warps, unit). `log` and `counts` are what it has
// written: log.size() / counts.size() spans for each warp. Steps are numbered by the order of the channel's
// operations, and the time between these is added as spans of its own. Throws bad_request where the arguments
// do not fit together.
timeline read_spans(timeline like, std::span<const span_record> log, std::span<const std::int32_t> counts);

// A timeline as JSON, for `antiphase trace --read`, and back. timeline_of() throws bad_request for other
// text.
std::string to_json(const timeline& t);
timeline timeline_of(std::string_view json);

// The times of one step, over all warps of the block.
struct step_times {
  int step = 0, slot = 0;
  std::int64_t issued = 0;  // the first warp begins to load
  // the first warp's wait returns: the data of all warps have landed. Where loads block, the last load's end
  std::int64_t landed = 0;
  std::int64_t compute_begin = 0;  // of the first warp
  // of the last warp; in a ring with roles, the release of the slot
  std::int64_t compute_end = 0;
  // Estimate of when the data landed. `landed` if a warp was waiting then. Otherwise `issued` plus the time
  // of those loads that warps did wait for, but no later than the first wait.
  std::int64_t arrived = 0;
  bool seen_landing = false;           // a warp was waiting when the data landed
  std::vector<std::int64_t> events{};  // in a ring with roles: the time of each event
};
// The recorded steps, in order. Empty if one of them lacks the begin or the end of its load.
std::vector<step_times> by_step(const timeline& t);

// A cause of waiting of the computing warps, and its share of their time.
struct waiting_share {
  std::string cause{};
  double share = 0;
};

// How well a pipeline overlaps loading and computing, from measure(). All zero where nothing was recorded.
// Times are in timeline::unit.
struct overlap {
  int steps = 0;  // recorded
  // steps whose load overlapped the computation of another step, at least in part; never the first
  int steps_hidden = 0;
  // share of the loads' time in flight that computation covers, 0 ... 1
  double hidden = 0;
  // per step and warp: time in wait, commit and release (a commit of staged registers waits for their loads)
  double mean_wait = 0;
  double mean_compute = 0;    // per step and warp
  std::int64_t duration = 0;  // from the first load to the end of the last computation
  double work_rate = 0;       // timeline::step_work of a block per unit of time; 0: not known

  double waiting = 0;                   // share of the computing warps' time spent waiting
  std::vector<waiting_share> causes{};  // of that, the largest first
  // bytes in flight to the block (by step_times::arrived); 0 if a step's bytes are not known
  double mean_bytes = 0;
  std::int64_t most_bytes = 0;
  // The limiting side: "loads"; "computation"; "turns" (loading and computing alternate, in a ring of one
  // slot that the same warps fill and use); or the name of a later phase, which computing warps wait for or
  // which holds the slots that loads wait for.
  std::string limited_by{};
  double load_time = 0;  // typical, of a load that a warp waited for
  double step_time = 0;  // mean
  double busy_time = 0;  // the part of step_time not spent waiting for data
  double next_time = 0;  // step_time with one more stage, estimated: see one_more_stage()
  // Loads block the warps that issue them, since they end in registers or plain stores. That time counts as
  // waiting, the same warp cannot hide it by computing, and more stages change nothing.
  bool loads_block = false;
  // several consecutive loads were seen landing, so the estimate includes the rate at which memory delivers
  bool knows_rate = false;
};

// Estimates the step time that a ring of `stages` slots would have with one more, from recorded times. It is
// the maximum of
//   - `busy`, what a step takes without waiting;
//   - what the slots allow: load / stages; (load + use) / (stages + 1) where the loader is a role of its own;
//   - `rate`, the time from landing to landing as memory was seen to deliver; 0: unknown.
// A lower bound, since other limits are not known.
double one_more_stage(int stages, bool roles, double load, double use, double busy, double rate);
overlap measure(const timeline& t);

}  // namespace antiphase
