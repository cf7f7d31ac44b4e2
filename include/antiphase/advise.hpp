// SPDX-License-Identifier: Apache-2.0
// When double buffering pays, and with what: advice for a product, a scan or a kernel of one's own, by the
// model of docs/model.md. No GPU is needed, and nothing runs.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <antiphase/executor/pipeline_law.hpp>
#include <antiphase/gemm/law.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// A policy and what it is predicted to take.
struct advised_policy {
  std::string name;
  prediction takes;
};
// A kernel with so many buffers.
struct advised_stages {
  int stages = 1;
  bool fits = false;
  std::size_t shared_bytes = 0;  // of a block
  int resident = 0;              // blocks of a multiprocessor
  double occupancy = 0;          // resident threads / threads_per_multiprocessor
  double bytes_in_flight = 0;    // of a multiprocessor, while its blocks wait for loads
  // of a step of a multiprocessor's blocks for each block; of a product: of all of it
  double seconds = 0;
  double gain = 0;  // over one stage, signed: 0.1 is a tenth faster
  limit largest = limit::latency;
};

struct advice {
  machine_profile on;
  std::string about;  // "product of 4096 x 4096 x 4096"
  advised_policy pick;
  // from the fastest on; those beside the ladder, then the ladder's steps
  std::vector<advised_policy> others;
  std::size_t compared = 0;             // of them, those beside the ladder, which a product's choice compares
  std::string pipelined;                // whose stages these are
  std::vector<advised_stages> stages;   // from 1 on
  double textbook_gain = 1;             // what (Tl + Tc) / max(Tl, Tc) promises that kernel
  double bytes_needed_in_flight = 0;    // of a multiprocessor: bandwidth x latency under load
  std::vector<std::string> limits;      // sentences: what limits the pick
  std::vector<std::string> changes;     // sentences: what would change the answer
  std::vector<std::string> recommends;  // sentences
};

// C = A B of FP32, row-major. Throws bad_request for extents that make no sense.
advice advise_gemm(const machine_profile& on, const gemms::product_size& p);
// Inclusive sums of one line of `count` elements of `size` bytes: 1, 2, 4 or 8.
advice advise_scan(const machine_profile& on, std::int64_t count, std::size_t size = 4);

// A kernel of one's own: blocks that load `smem` bytes into a slot, wait, and compute from it, again and
// again.
struct own_kernel {
  std::size_t smem = 0;              // bytes of a slot
  std::size_t fixed = 0;             // bytes of shared memory beside the slots
  int registers = 32;                // of a thread
  int threads = 256;                 // of a block
  std::optional<double> load_bytes;  // that a block reads from memory for a slot; neither: smem
  // from asking for a slot to having it, measured (mean_wait of `antiphase trace` with one stage)
  std::optional<double> load_seconds;
  double compute = 0;        // seconds that a block alone computes from a slot
  bool asynchronous = true;  // cp.async or bulk copies, not registers
  // Warps that only load fill a channel, with S loads in flight; if not, all warps load and compute in a
  // `pipeline`, with S - 1.
  bool by_roles = false;
};
// Its members from
// "smem=16KiB,regs=64,load=16KiB,compute=900clk,threads=256,fixed=0,copy=async,form=pipeline". Sizes: B
// (default), KiB. Times: clk, ns, us; of compute clk is the default. load: a size or a time. copy: async,
// bulk or registers. form: pipeline or roles, which bulk copies have if nothing is said. Throws bad_request
// that names the member.
own_kernel parse_kernel(const machine_profile& on, std::string_view text);
advice advise_kernel(const machine_profile& on, const own_kernel& k);

// What was advised as a JSON object, in a line.
std::string to_json_text(const advice& a);
// The same by a question in JSON: {"about": "gemm", "m": 4096, "n": 4096, "k": 4096}, {"about": "scan",
// "count": 65536, "size": 4} or {"about": "kernel", "kernel": "smem=..."}, each with "device", a shipped
// profile's name ("H200" if absent), or "profile", the text of a file. Throws bad_request.
std::string advise_json(std::string_view question);

}  // namespace antiphase
