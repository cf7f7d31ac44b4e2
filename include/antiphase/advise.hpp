// SPDX-License-Identifier: Apache-2.0
// Advice whether double buffering pays, and with which policy and how many stages: for a product, a scan or a
// kernel of one's own, by the model of docs/learn/model.md. No GPU is needed, and nothing runs.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <antiphase/executor/pipeline_cost.hpp>
#include <antiphase/gemm/cost.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// A policy and its predicted time.
struct advised_policy {
  std::string name;
  prediction takes;
};
// The kernel with this many stages.
struct advised_stages {
  int stages = 1;
  bool fits = false;
  std::size_t shared_bytes = 0;  // of a block
  int resident = 0;              // blocks per multiprocessor
  double occupancy = 0;          // resident threads / threads_per_multiprocessor
  double bytes_in_flight = 0;    // per multiprocessor, while its blocks wait for loads
  // share of the bandwidth of memory, or of the L2 cache, that what has to be moved takes; 0: not known
  double bandwidth = 0;
  // of a product: the whole; otherwise one step of all blocks of a multiprocessor, divided by their number
  double seconds = 0;
  double gain = 0;  // over one stage, signed: 0.1 is 10 % faster
  // of a kernel of one's own: the gain, should it be overestimated as far as it was for measured kernels
  double least_gain = 0;
  limit largest = limit::latency;
};

// The textbooks' formulas for square tiles of FP32, one of A and one of B, on one multiprocessor of all.
struct textbook_tile {
  int extent = 0;  // of a tile
  // Load: 2 x extent^2 x 4 bytes / its share of memory's bandwidth. Computation: 2 x extent^3 / its FLOP/s,
  // as a multiply-add is two operations; the texts leave out the 2.
  textbook_times times{};
};
// A block that computes from so many slots in all: its first load and its last computation are never hidden,
// so buffers save (tiles - 1) / tiles of what they save of a long one.
struct advised_tiles {
  int tiles = 1;
  double textbook_gain = 0;  // of two buffers by the textbooks' formula
  double gain = 0;           // of the buffers that are advised
};

// The answer of advise_gemm(), advise_scan() and advise_kernel():
//
//   const advice a = advise_gemm(shipped_profile("H200"), {.m = 4096, .n = 4096, .k = 4096});
//   std::printf("%s: %g ms\n", a.pick.name.c_str(), 1e3 * a.pick.takes.seconds);
//
struct advice {
  machine_profile machine;
  std::string about;  // "product of 4096 x 4096 x 4096"
  advised_policy pick;
  // Policies outside the ladder, then the ladder's steps, each from the fastest on. Of a kernel of one's own:
  // by stages.
  std::vector<advised_policy> others;
  std::size_t compared = 0;             // how many of them are outside the ladder: what auto chooses from
  std::string pipelined;                // the kernel that `stages` is about
  std::vector<advised_stages> stages;   // 1, 2, 3 ... stages
  double textbook_gain = 1;             // (Tl + Tc) / max(Tl, Tc) of that kernel
  std::vector<textbook_tile> textbook;  // of a product
  std::vector<advised_tiles> by_tiles;  // of a kernel of one's own
  // Of a kernel of one's own: how many slots fit into shared memory, which is what CUTLASS's StageCountAuto
  // takes.
  int stages_that_fit = 0;
  double bytes_needed_in_flight = 0;    // per multiprocessor: bandwidth x latency under load
  bool in_cache = false;                // of the L2 cache, not of memory
  std::vector<std::string> limits;      // sentences: what limits the pick
  std::vector<std::string> changes;     // sentences: what would change the answer
  std::vector<std::string> recommends;  // sentences
};

// The limit's name, in words that suit what the advice is about: what a user's kernel does is unknown
// while it computes.
inline std::string_view name_of(const advice& a, limit l) {
  return l == limit::arithmetic && a.pipelined == "this kernel" ? "computation" : name(l);
}

// C = A B of FP32, row-major. Throws bad_request for extents that make no sense.
advice advise_gemm(const machine_profile& on, const gemms::product_size& p);
// Inclusive sums of one line of `count` elements of `size` bytes: 1, 2, 4 or 8. Throws bad_request.
advice advise_scan(const machine_profile& on, std::int64_t count, std::size_t size = 4);

// A kernel of one's own, for advise_kernel(): blocks that repeatedly load `smem` bytes into a slot, wait, and
// compute from it.
struct own_kernel {
  std::size_t smem = 0;              // bytes of a slot
  std::size_t fixed = 0;             // bytes of shared memory next to the slots
  int registers = 32;                // per thread
  int threads = 256;                 // per block
  std::optional<double> load_bytes;  // a block reads from memory for a slot; with neither, smem
  // measured, from issuing a slot's loads to their landing (mean_wait of `antiphase trace` with one stage)
  std::optional<double> load_seconds;
  double compute = 0;        // seconds that a block alone computes from a slot, its barriers with them
  double issue = 0;          // of it, to issue the loads of the next: a single buffer does that as they come
  bool asynchronous = true;  // cp.async or bulk copies, not registers
  int blocks = 0;            // on a multiprocessor, at most, as in a small launch; 0: as many as fit
  // true: producer warps fill a channel, with S loads in flight. false: all warps load and compute in a
  // `pipeline`, with S - 1.
  bool by_roles = false;
  pipeline_step::next_loads next = pipeline_step::next_loads::after;
  bool in_cache = false;  // the L2 cache has what is loaded
  // Seconds that a step of all resident blocks takes with `slots` buffers, known from a run and not
  // predicted. 0: it is predicted.
  int slots = 0;
  double step = 0;
};
// Parses "smem=16KiB,regs=64,load=16KiB,compute=900clk,issue=9,threads=256,fixed=0,blocks=2,copy=async,
// form=pipeline,next=after,from=memory,slots=2,step=1100clk". Sizes: B (default) or KiB. Times: clk (the
// default), ns or us. load: a size or a time, or both. copy: async, bulk or registers. form: pipeline or
// roles; roles is the default with copy=bulk. next: after, before or blocking, see pipeline_step. from:
// memory or cache, where the data lie. Throws bad_request that names the member.
//
//   const advice a = advise_kernel(h200, parse_kernel(h200, "smem=16KiB,regs=64,compute=900clk"));
//
own_kernel parse_kernel(const machine_profile& on, std::string_view text);
advice advise_kernel(const machine_profile& on, const own_kernel& k);

// The advice as a JSON object in one line.
std::string to_json_text(const advice& a);
// Answers a question in JSON by to_json_text(). Questions: {"about": "gemm", "m": 4096, "n": 4096, "k":
// 4096}, {"about": "scan", "count": 65536, "size": 4} or {"about": "kernel", "kernel": "smem=..."}, each with
// "device", a shipped profile's name (default "H200"), or "profile", a profile file's text. Throws
// bad_request.
std::string advise_json(std::string_view question);

}  // namespace antiphase
