// SPDX-License-Identifier: Apache-2.0
// All constants of the cost models that are fitted to a card; library/costs has a file for each card. Unless
// said otherwise, a number is a time in microseconds. "Rate": bytes per microsecond. "Factor": multiplies a
// time. "Surcharge": a share of a time that is added to it.
//
// Constants that hold for every machine: antiphase/executor/pipeline_cost.hpp.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "library/costs/constant_visitor.hpp"
#include "library/costs/products.hpp"

namespace antiphase::costs {

// The GEMM ladder, fitted to its steps at 1024^3 and 4096^3 on an H200.
struct ladder_cost {
  // naive: clocks of both loads of a warp, from the L2 cache or from memory
  double naive_clocks, naive_clocks_of_memory;
  double unaligned_stores;  // rate at which C is stored whose rows begin anywhere
  double stores_exposed;    // share of a wave's stores, where other blocks compute meanwhile
  double
      warp_multiplies;  // share of the rate that mma.sync reaches where it is the only instruction: assumed
  void each(constant_visitor& v) {
    v.number("naive clocks", naive_clocks, 1, 20);
    v.number("naive clocks of memory", naive_clocks_of_memory, 1, 40);
    v.number("unaligned stores", unaligned_stores, 1e5, 5e6);
    v.number("stores exposed", stores_exposed, 0, 1);
    v.number("warp multiplies", warp_multiplies, .2, 1);
  }
};

// Linear layers. In a microsecond: bytes that come to a multiprocessor (intake), to two neighbors together
// (couple), and from memory; bytes that Tensor Cores and copies move in shared memory; multiply-adds of a
// multiprocessor. What a block waits for 64 k at least; what it takes to store 64 x 128 outputs. Fitted to
// times of tiles on an H200.
struct linear_cost {
  double start, intake, couple, memory, shared, multiply, step, store;
  void each(constant_visitor& v) {
    v.number("start", start, .5, 10);
    v.number("intake", intake, 2e4, 4e5);
    v.number("couple", couple, 2e4, 8e5);
    v.number("memory", memory, 1e5, 2e7);
    v.number("shared", shared, 5e4, 2e6);
    v.number("multiply", multiply, 5e5, 2e7);
    v.number("step", step, .005, .5);
    v.number("store", store, .005, 2);
  }
};

// A roofline, for what has no cost model: clock in Hz; bytes of a multiprocessor per clock; launch in
// seconds.
struct roofline_cost {
  double clock, bytes_per_clock, launch;
  void each(constant_visitor& v) {
    v.number("clock", clock, 5e8, 4e9);
    v.number("bytes per clock", bytes_per_clock, 1, 200);
    v.number("launch", launch, 5e-7, 1e-5);
  }
};

// Scans by several passes, which read the array twice and write it once. Times in seconds.
struct passes_cost {
  double start;   // all launches together
  double clocks;  // of a multiprocessor per access of a thread: an element, or 16 bytes in the step items
  void each(constant_visitor& v) {
    v.number("start", start, 1e-6, 5e-5);
    v.number("clocks", clocks, .5, 50);
  }
};
// The scan ladder, fitted to f32 sums of 2^16 and 2^28 elements on an H200, rings also to 2^24. Times in
// seconds.
//   ring_start, threads_start   startup latency of a ring that the copy engine fills, that threads fill
//   exposed, left_by_a_stage    a tile with nothing overlapped; the share of that which each stage leaves
//   exposed_by_threads          a tile of a ring with four stages that threads fill
//   wave_start, one_tile        one wave: startup latency with the exchange of totals; of a single tile
//   wave_reached                one wave: share of the L2 cache's bandwidth
struct scan_cost {
  passes_cost two_barriers, double_buffer, warp_shuffle, items;
  double ring_start, threads_start, exposed, left_by_a_stage, exposed_by_threads;
  double wave_start, one_tile, wave_reached;
  void each(constant_visitor& v) {
    v.inside("two-barriers", two_barriers);
    v.inside("double-buffer", double_buffer);
    v.inside("warp-shuffle", warp_shuffle);
    v.inside("items", items);
    v.enter("ring");
    v.number("start", ring_start, 1e-6, 2e-5);
    v.number("threads start", threads_start, 1e-6, 2e-5);
    v.number("exposed", exposed, 1e-7, 2e-5);
    v.number("left by a stage", left_by_a_stage, .1, 1);
    v.number("exposed by threads", exposed_by_threads, 1e-7, 2e-5);
    v.leave();
    v.enter("one-wave");
    v.number("start", wave_start, 2e-7, 1e-5);
    v.number("one tile", one_tile, 2e-7, 1e-5);
    v.number("reached", wave_reached, .1, 1);
    v.leave();
  }
};

// A kernel whose blocks own rows of one side and walk over tiles of the other (library/attention/walk.hpp).
//   start              once: launches
//   tile, of_depth     a tile: fixed; for each element of the depth
//   biased             more for a tile to which a bias is added, or pairs hidden in
//   block              what a block takes besides its tiles
//   together           so many blocks of a multiprocessor advance as if each were alone
struct tile_walk_cost {
  double start, tile, of_depth, biased, block, together;
  void each(constant_visitor& v) {
    v.number("start", start, 0, 60);
    v.number("tile", tile, .1, 60);
    v.number("of depth", of_depth, 0, 2);
    v.number("biased", biased, 0, 30);
    v.number("block", block, 0, 80);
    v.number("together", together, .1, 8);
  }
};
// The forward's kernel, and those of the gradients, that own keys and queries.
struct attention_kernels_cost {
  tile_walk_cost forward, keys, queries;
  void each(constant_visitor& v) {
    v.inside("forward", forward);
    v.inside("keys", keys);
    v.inside("queries", queries);
  }
};
// Attention, by the depth that kernels are compiled for. The H200's are fitted to 430 calls, drawn at random;
// of 129 others they are 3 to 9 % off in the median. What a column of the forward takes at 128 is assumed to
// be what it takes at 64: those calls multiplied 128 throughout. An H100 has the same multiprocessors: it
// takes the H200's numbers with lower rates.
struct fp16_attention_cost {
  static constexpr int depths[] = {64, 128};
  struct per_depth {
    attention_kernels_cost kernels;
    double split, split_gradients;  // rates at which operands are read and their parts written
    double hidden;                  // a tile of the forward whose pairs are hidden one by one: more
    void each(constant_visitor& v) {
      kernels.each(v);
      v.number("split", split, 5e5, 9e6);
      v.number("split gradients", split_gradients, 5e5, 9e6);
      v.number("hidden", hidden, 0, 30);
    }
  };
  std::array<per_depth, std::size(depths)> of_depth;
  // The forward in one kernel, fitted to 135 calls on an H200: of these it is 6 % off in the median.
  static constexpr int depths_of_short[] = {64, 128, 256};
  std::array<tile_walk_cost, std::size(depths_of_short)> short_sequences;
  // The gradients in one kernel, by blocks of keys and of queries. Blocks of keys that compute dQ as well
  // take for a tile what both do. Fitted to 195 calls on an H200: of these it is 6 % off in the median.
  struct one_kernel_gradients {
    tile_walk_cost keys, queries;
    void each(constant_visitor& v) {
      v.inside("keys", keys);
      v.inside("queries", queries);
    }
  };
  one_kernel_gradients short_gradients;
  double few_keys_row;  // queries that see few keys, which a warp computes one by one
  void each(constant_visitor& v) {
    for (std::size_t i = 0; i < std::size(depths); ++i) v.inside(std::to_string(depths[i]), of_depth[i]);
    v.enter("short sequences");
    for (std::size_t i = 0; i < std::size(depths_of_short); ++i)
      v.inside(std::to_string(depths_of_short[i]), short_sequences[i]);
    v.leave();
    v.inside("short gradients", short_gradients);
    v.number("few keys row", few_keys_row, 0, 20);
  }
};
struct fp32_attention_cost {
  static constexpr int depths[] = {32, 64, 128, 256};
  std::array<attention_kernels_cost, std::size(depths)> of_depth;
  void each(constant_visitor& v) {
    for (std::size_t i = 0; i < std::size(depths); ++i) v.inside(std::to_string(depths[i]), of_depth[i]);
  }
};
// The first of ascending depths that holds rows of `depth` elements, or the last.
template <std::size_t N> constexpr std::size_t place_of_depth(const int (&depths)[N], std::int64_t depth) {
  std::size_t i = 0;
  while (i + 1 < N && depth > depths[i]) ++i;
  return i;
}
struct attention_cost {
  fp16_attention_cost fp16;
  fp32_attention_cost fp32;
  void each(constant_visitor& v) {
    v.inside("fp16", fp16);
    v.inside("fp32", fp32);
  }
};

// cuBLAS's FP32 products: startup latency, plus the longer of memory traffic and multiply-adds, the latter
// for the best of a few tiles and split-K factors. The H200's are fitted to 558 products of cuBLAS 13.1
// (driver 580.159.04) with (mnk)^(1/3) of 200 or more: bench/results, those in graphs, and
// series 20261122-shapes of its experiments. They fit 335 products of cuBLAS 13.1 on an H100 SXM as
// well, 6.6 % off in the median (series 20261125-h100-lists); only memory bandwidth
// differs. How well they fit: docs/notebook/gemm.md.
struct cublas_cost {
  struct tile {
    std::string_view name;
    int longer, shorter;
  };
  static constexpr tile tiles[] = {
      {"128x128", 128, 128}, {"64x64", 64, 64}, {"128x32", 128, 32}, {"32x32", 32, 32}};
  double start;  // startup latency
  // rates: where C has so few lines that a product is read like a matrix times a vector; the highest seen
  // where C has two to four rows and the long operand lies along k; elsewhere
  double vector_rate, few_rows_rate, rate;
  // a matrix times a vector: rate as long as the L2 cache holds it; the most that the sum of a line waits,
  // and from which K on
  double kept_vector_rate, deep_line, deep_k;
  double unaligned;  // surcharge on reading if lines do not begin at multiples of 16 bytes
  double worse;      // factor: cuBLAS's own heuristic against the best tile and split-K factor
  // least number of waves: nothing hides the latency of a multiprocessor's only block
  double alone;
  double fill;                 // prologue and epilogue of a block, in k
  double add_up, add_up_rate;  // split-K: once; of writing and reading partial sums
  double clock;                // cycles: multiply-adds of each of a multiprocessor's 128 FP32 lanes
  std::array<double, std::size(tiles)> reached;  // share of the peak by a tile
  // Safety factors on a predicted gain over cuBLAS where predictions were seen to err: batches of small
  // members, larger ones if both operands lie along k; few k with C read, and so few that C is nearly all
  // that moves.
  double doubt_of_small, doubt_of_few_k;
  // The least for which cuBLAS is replaced: time saved, or a share of cuBLAS's, if that is less.
  double least_saved, least_share;
  void each(constant_visitor& v) {
    v.number("start", start, .5, 6);
    v.number("vector rate", vector_rate, 1e6, 1e7);
    v.number("few rows rate", few_rows_rate, 5e5, 1e7);
    v.number("rate", rate, 1e6, 6e6);
    v.number("kept vector rate", kept_vector_rate, 1e6, 2e7);
    v.number("deep line", deep_line, 0, 4);
    v.number("deep k", deep_k, 100, 4000);
    v.number("unaligned", unaligned, 0, 2);
    v.number("worse", worse, .9, 1.4);
    v.number("alone", alone, 1, 3);
    v.number("fill", fill, 0, 200);
    v.number("add up", add_up, .3, 6);
    v.number("add up rate", add_up_rate, 5e5, 4e7);
    v.number("clock", clock, 500, 4000);
    v.enter("reached");
    for (std::size_t i = 0; i < std::size(tiles); ++i) v.number(tiles[i].name, reached[i], .1, 1);
    v.leave();
    v.number("doubt of small", doubt_of_small, 1, 3);
    v.number("doubt of few k", doubt_of_few_k, 1, 3);
    v.number("least saved", least_saved, 0, 20);
    v.number("least share", least_share, 0, 1);
  }
};

// Microseconds of the host until a call's work is queued: cuBLAS, less than most of its calls; ours, and more
// of ours where it has a workspace and thus several launches. host_us of bench/results, 20261129T050115, on
// the host of an H200: cuBLAS 6.4 to 15.4, 10.6 in the median; ours 3.3 to 5.7 and 6.4 to 12.
struct host_cost {
  double cublas, call, more_with_workspace;
  void each(constant_visitor& v) {
    v.number("cublas", cublas, 1, 50);
    v.number("call", call, 1, 50);
    v.number("more with workspace", more_with_workspace, 0, 50);
  }
};

// torch's own attention, forward or backward, and when ours replaces it. A row of kernels for each range of
// depths: the rows of Q and of K in a tile.
struct torch_kernel {
  int depth, queries, keys;
};
template <std::size_t N> struct torch_attention_cost {
  double most;  // share of torch's time that ours may take
  // Times of an H200's host, by operators in C++: for a call of ours of several launches, for one of one
  // launch, and for one of torch's that is passed on.
  double our_host, our_host_of_one, torch_host;
  std::array<tile_walk_cost, N> of_depth;
  void each(constant_visitor& v, const torch_kernel (&kernels)[N]) {
    v.number("most", most, .1, 1);
    v.number("our host", our_host, 5, 2000);
    v.number("our host of one", our_host_of_one, 5, 2000);
    v.number("torch host", torch_host, 5, 2000);
    for (std::size_t i = 0; i < N; ++i) v.inside(std::to_string(kernels[i].depth), of_depth[i]);
  }
};
// One kind of torch's own scans compared with ours, which include what the host takes, measured on an H100.
//   our_start, our_rate, our_bytes  ours: what every call takes; rate; bytes moved per element besides those
//                                   that are read and written
//   start, rate                     torch's: the same
//   step, step_of_column            one step along an axis that is not the last: fixed; for each column
//   element, row                    along the last axis: each element of a row; each row
struct torch_scan_cost {
  double our_start, our_rate, our_bytes, start, rate, step, step_of_column, element, row;
  void each(constant_visitor& v) {
    v.number("our start", our_start, 1, 500);
    v.number("our rate", our_rate, 1e5, 1e7);
    v.number("our bytes", our_bytes, 0, 200);
    v.number("start", start, 1, 500);
    v.number("rate", rate, 1e5, 1e7);
    v.number("step", step, 0, 1);
    v.number("step of column", step_of_column, 0, 1);
    v.number("element", element, 0, 1);
    v.number("row", row, 0, 1);
  }
};
struct torch_cost {
  static constexpr torch_kernel forward_kernels[] = {{64, 64, 64}, {128, 64, 128}, {256, 32, 128}},
                                backward_kernels[] = {
                                    {32, 64, 64}, {64, 64, 64}, {96, 128, 64}, {128, 64, 64}, {256, 64, 64}};
  double most;  // share of torch's time that our scans may take
  torch_attention_cost<std::size(forward_kernels)> forward;
  torch_attention_cost<std::size(backward_kernels)> backward;
  torch_scan_cost arithmetic, extremes, log_sum_exp;
  void each(constant_visitor& v) {
    v.number("most", most, .1, 1);
    v.enter("attention");
    v.enter("forward");
    forward.each(v, forward_kernels);
    v.leave();
    v.enter("backward");
    backward.each(v, backward_kernels);
    v.leave();
    v.leave();
    v.enter("scans");
    v.inside("arithmetic", arithmetic);
    v.inside("extremes", extremes);
    v.inside("log-sum-exp", log_sum_exp);
    v.leave();
  }
};

struct models : product_costs {
  std::string device;  // name of the card
  int multiprocessors;

  ladder_cost ladder;
  roofline_cost roofline;
  scan_cost scans;
  attention_cost attention;
  linear_cost linear;
  cublas_cost cublas;
  host_cost host;
  torch_cost torch;
  void each(constant_visitor& v) {
    v.inside("products", static_cast<product_costs&>(*this));
    v.inside("ladder", ladder);
    v.inside("roofline", roofline);
    v.inside("scans", scans);
    v.inside("attention", attention);
    v.inside("linear", linear);
    v.inside("cublas", cublas);
    v.inside("host", host);
    v.inside("torch", torch);
  }
};

// The cost models that were fitted to this very card, by its name and number of multiprocessors. Null: the
// card is unknown.
const models* fitted_models_of(const device_limits& device);

// What an unknown card takes, here and nowhere else: an H200's models, which its users scale by
// multiprocessors. That compares our policies with each other. It says little about other libraries, so
// predictions of these do without: cuBLAS is assumed to reach a bound that no BLAS exceeds, and neither
// cuBLAS, unless a tuning was made there, nor torch is overridden (is_measured() in antiphase/gemm/gain.hpp).
const models& models_of(const device_limits& device);

// From a file's text. Throws bad_request, which names the number, its value and what was expected.
models parse_models(std::string_view text, const std::string& from);

}  // namespace antiphase::costs
