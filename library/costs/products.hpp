// SPDX-License-Identifier: Apache-2.0
// Constants of the cost models of the policies with Tensor Cores or sums in FP64, fitted to one card each by
// scripts/cost_models/fit.py. Units: models.hpp.
#pragma once
#include <array>
#include <iterator>
#include <string_view>

#include "library/costs/constant_visitor.hpp"

namespace antiphase::costs {

// Memory traffic of kernels whose threads load into registers and store from there, as long as the L2 cache
// holds it.
struct moving_cost {
  double rate, read_rate;  // of operands and stores of C; of reads of C, if beta is not 0
  // factors on C's bytes, both directions: rows begin anywhere; at multiples of 16 bytes, not 32
  double odd_rows, half_rows;
  // latency of reading C, once; the most that stores wait for full store buffers (filled() in cost.hpp)
  double adding, filling;
  void each(constant_visitor& v) {
    v.number("rate", rate, 8e5, 2e7);
    v.number("read rate", read_rate, 5e5, 6e7);
    v.number("odd rows", odd_rows, .8, 6);
    v.number("half rows", half_rows, .8, 4);
    v.number("adding", adding, 0, 2);
    v.number("filling", filling, 0, 6);
  }
};

struct short_cost {
  double start;  // startup latency
  moving_cost moving;
  void each(constant_visitor& v) {
    v.number("start", start, .3, 5);
    v.inside("moving", moving);
  }
};

// A block's time for one tile by a ring: `round`, what the tile takes besides its steps, plus `step` for each
// stage of k.
struct ring_times {
  double round, step;
  void each(constant_visitor& v) {
    v.number("round", round, .05, 8);
    v.number("step", step, .1, 5);
  }
};
// Contention among resident blocks, where the time of a block alone is 1.
//   load       surcharge if all places of the device are taken, in proportion if fewer
//   two, four  factor of a full multiprocessor, for kernels with an occupancy of two or four blocks
//   further    time of each tile after a block's first one, relative to the first
struct crowd_cost {
  double load, two, four, further;
  void each(constant_visitor& v) {
    v.number("load", load, 0, 2);
    v.number("two", two, .7, 5);
    v.number("four", four, .7, 8);
    v.number("further", further, .1, 3);
  }
};
struct ring_cost {
  static constexpr std::string_view forms[] = {"32x8-8", "32x32-8", "32x16-4", "32x32-4",
                                               "128x16", "64x64",   "32x32"};
  std::array<ring_times, std::size(forms)> tma, cp_async;
  double start, cp_async_start;  // startup latency of a kernel fed by TMA, by copying warps
  // surcharges on a step whose long or short operand is copied 4 bytes at a time
  double long_by_four, short_by_four;
  crowd_cost walking, starting;  // of persistent blocks: on `step`, on `round`
  double single;                 // factor on `round` where a tile has one step, so nothing overlaps it
  // factor on `step` and `round`: two blocks of a split-K kernel on a multiprocessor
  double paired;
  // split-K over a cluster of two: the sum through distributed shared memory; surcharge for a cluster of
  // four, twice that for eight
  double cluster, doubled;
  double part, each_part;      // split-K through the workspace: once; for each part
  double rate;                 // of everything, as long as the L2 cache holds it
  double odd_rows, half_rows;  // factors on work and traffic of tiles, by how C's rows begin
  double read_rate;            // of C, whose reads nothing hides
  double part_of_row;          // where TMA boxes reach beyond rows of the short operand: per tile
  void each(constant_visitor& v) {
    for (std::size_t i = 0; i < std::size(forms); ++i) {
      v.enter(forms[i]);
      v.inside("tma", tma[i]);
      v.inside("cp_async", cp_async[i]);
      v.leave();
    }
    v.number("start", start, .01, 3);
    v.number("cp_async start", cp_async_start, .01, 3);
    v.number("long by four", long_by_four, 0, 2);
    v.number("short by four", short_by_four, 0, 2);
    v.inside("walking", walking);
    v.inside("starting", starting);
    v.number("single", single, .7, 2);
    v.number("paired", paired, 1, 2);
    v.number("cluster", cluster, .2, 6);
    v.number("doubled", doubled, 0, 1);
    v.number("part", part, .5, 8);
    v.number("each part", each_part, .01, 1);
    v.number("rate", rate, 3e6, 8e6);
    v.number("odd rows", odd_rows, .9, 2);
    v.number("half rows", half_rows, .9, 2);
    v.number("read rate", read_rate, 5e5, 9e6);
    v.number("part of row", part_of_row, 0, 3);
  }
};

// Kernels of kind kept_lines: a warp walks over tiles, each of which waits for the one before.
//   start, deep        startup latency; more of it where K is above 16
//   wave               between the walks of a place, which come one after the other
//   round, round_deep  a tile of the walk; more of it where K is above 16
struct kept_walk {
  double start, deep, wave, round, round_deep;
  void each(constant_visitor& v) {
    v.number("start", start, .5, 3);
    v.number("deep", deep, .01, 3);
    v.number("wave", wave, .01, 3);
    v.number("round", round, .1, 4);
    v.number("round deep", round_deep, .01, 2);
  }
};
struct kept_cost {
  kept_walk any, whole;         // whole: tiles without edges, K of 16 or 32
  double odd_start, odd_round;  // added where C's rows begin anywhere
  double adding_round;          // added where C is read
  double crowd, crowd_deep;     // added to a round if all places are taken; more where K is above 16
  moving_cost moving;
  void each(constant_visitor& v) {
    v.inside("any", any);
    v.inside("whole", whole);
    v.number("odd start", odd_start, 0, 2);
    v.number("odd round", odd_round, 0, 3);
    v.number("adding round", adding_round, 0, 2);
    v.number("crowd", crowd, 0, 2);
    v.number("crowd deep", crowd_deep, 0, 2);
    v.inside("moving", moving);
  }
};
// Kernels of kind block_tile: latency of a block alone on its multiprocessor with one round over k, and of
// each further round.
struct block_times {
  double block, round;
  void each(constant_visitor& v) {
    v.number("block", block, .3, 4);
    v.number("round", round, .05, 2);
  }
};
struct block_cost {
  static constexpr std::string_view forms[] = {"block-16x8", "block-32x8", "block-16x16"};
  std::array<block_times, std::size(forms)> times;
  double shared, beside_round;  // factors on `block`, on rounds, with another block on the multiprocessor
  double uneven;                // surcharge on a round if rows of operands begin anywhere
  // time of each wave after the first, relative to it; tail: the partial last wave takes as long as a full
  // one (1), its share of one (0), or something between
  double further, whole_waves;
  double adding, filling;  // as in moving_cost
  void each(constant_visitor& v) {
    for (std::size_t i = 0; i < std::size(forms); ++i) v.inside(forms[i], times[i]);
    v.number("beside", shared, 1, 3);
    v.number("beside round", beside_round, 1, 3);
    v.number("uneven", uneven, 0, 2);
    v.number("further", further, .2, 2);
    v.number("whole waves", whole_waves, 0, 1);
    v.number("adding", adding, 0, 2);
    v.number("filling", filling, 0, 4);
  }
};
// Kernels of kind warp_tile.
//   block, round  latency of a block alone with 16 k; of each further 16 k
//   tile, step    issue time that a block adds to its multiprocessor: fixed; for each 8 k
struct warp_times {
  double block, round, tile, step;
  void each(constant_visitor& v) {
    v.number("block", block, .3, 4);
    v.number("round", round, .05, 2);
    v.number("tile", tile, .01, 2);
    v.number("step", step, .005, 1);
  }
};
struct warp_cost {
  static constexpr std::string_view forms[] = {"warp-32x32", "warp-32x64"};
  std::array<warp_times, std::size(forms)> times;
  // surcharges: on `round` and `step` if rows of operands begin anywhere; on `tile` if rows of C do
  double uneven, tile_odd;
  // time of each wave after the first, relative to it; share of issue time that counts among blocks that are
  // resident at the same time
  double further, at_once;
  moving_cost moving;
  void each(constant_visitor& v) {
    for (std::size_t i = 0; i < std::size(forms); ++i) v.inside(forms[i], times[i]);
    v.number("uneven", uneven, 0, 2);
    v.number("tile odd", tile_odd, 0, 4);
    v.number("further", further, .01, 2);
    v.number("at once", at_once, .01, 2);
    v.inside("moving", moving);
  }
};
struct fp64_cost {
  ring_cost ring;
  kept_cost kept;
  block_cost block;
  warp_cost warp;
  double epilogue;  // a thousand outputs that call an epilogue, on one multiprocessor
  void each(constant_visitor& v) {
    v.inside("ring", ring);
    v.inside("kept", kept);
    v.inside("block", block);
    v.inside("warp", warp);
    v.number("epilogue", epilogue, .1, 20);
  }
};

// fp64-dots by lanes, for outputs of one square. `round`: latency of one round of a lane's loads. `block` and
// `round_of_block`: throughput, what each block of a multiprocessor adds, and each of its rounds. "across":
// the same of the kernel for operands that lie across k.
struct dots_square {
  double round, round_of_block, block, across_start, across_round, across_round_of_block;
  void each(constant_visitor& v) {
    v.number("round", round, .05, 3);
    v.number("round of block", round_of_block, .001, 2);
    v.number("block", block, .001, 2);
    v.number("across start", across_start, .3, 5);
    v.number("across round", across_round, .05, 3);
    v.number("across round of block", across_round_of_block, .001, 2);
  }
};
// fp64-dots for a vector.
//   block, group  latency of a block alone; of each group of its k
//   crowd         surcharge at full occupancy, in proportion below
//   further       surcharge for each wave after the first
struct vector_times {
  double block, group, crowd, further;
  void each(constant_visitor& v) {
    v.number("block", block, .001, 3);
    v.number("group", group, .001, 1);
    v.number("crowd", crowd, .1, 40);
    v.number("further", further, .05, 4);
  }
};
struct dots_cost {
  static constexpr std::string_view squares[] = {"1", "2"}, vectors[] = {"one line", "two lines", "across"};
  // startup latency; each step of the reduction among an output's lanes; the one among its warps, if several
  double start, doubling, warps;
  // 1000 sectors of 32 bytes that a block's loads touch: latency; what each block of a multiprocessor adds;
  // latency across k
  double sector, sector_of_block, across_sector;
  std::array<dots_square, 2> square;
  double vector_start;                   // startup latency of the kernels for a vector
  double cache_rate, memory_rate, ramp;  // ramp: until memory is saturated, if all bytes come from there
  double uneven;                         // surcharge on a group if rows of the matrix begin anywhere
  // across k: surcharges on a group, on all bytes, for blocks of eight lines; half of them for 16, and so on
  double scattered, pieces;
  std::array<vector_times, 3> vector;
  void each(constant_visitor& v) {
    v.number("start", start, .3, 3);
    v.number("doubling", doubling, 0, .5);
    v.number("warps", warps, 0, 1);
    v.number("sector", sector, .001, 1);
    v.number("sector of block", sector_of_block, .001, 1);
    v.number("across sector", across_sector, .001, 1);
    for (std::size_t i = 0; i < square.size(); ++i) v.inside(squares[i], square[i]);
    v.enter("vector");
    v.number("start", vector_start, .3, 3);
    v.number("cache rate", cache_rate, 2e6, 3e7);
    v.number("memory rate", memory_rate, 2e6, 4.8e6);
    v.number("ramp", ramp, 0, 12);
    v.number("uneven", uneven, 0, 3);
    v.number("scattered", scattered, 0, 4);
    v.number("pieces", pieces, 0, 3);
    for (std::size_t i = 0; i < vector.size(); ++i) v.inside(vectors[i], vector[i]);
    v.leave();
  }
};

// tf32: rounds of tiles, each of chunks of 64 k.
//   start, later         startup latency with a block's first epilogue; what each further round adds
//   chunk, among_all     a chunk of a block; added to it if all multiprocessors work
//   cluster              split-K over a cluster
//   part, each_part      split-K through the workspace: once; for each part
//   read_of_c            reading C, each round
//   rate, stored         of everything, as long as the L2 cache holds it; of C, on top of that
//   odd_rows, half_rows  factors on C's bytes, by how its rows begin
//   brief_row            TMA of a row of 16 bytes of the short operand: per tile and k
// Kernels that keep the short operand, for K up to 64:
//   kept_start, kept_deep  startup latency; more of it for each 16 k after the first
//   kept_tile, kept_half   a tile: fixed; for every 16 k
//   kept_first             a block's first tile, if all multiprocessors work
//   kept_half_rows         factor on a tile if C's rows begin at multiples of 16 bytes, not 32
//   odd_tile, odd_half     the same as kept_tile, kept_half where C's rows begin anywhere
//   kept_read, odd_read    reading C of a tile: by TMA; by threads, where its rows begin anywhere
//   kept_rate              of everything, as long as the L2 cache holds it
struct tf32_cost {
  double start, later, chunk, among_all;
  double threads, threads_start;  // where threads copy the operands: factor on a chunk; once
  double cluster, part, each_part, read_of_c;
  double rate, stored, odd_rows, half_rows, brief_row;
  double kept_start, kept_deep, kept_tile, kept_half, kept_first, kept_half_rows;
  double odd_tile, odd_half;
  double kept_read, odd_read, kept_rate;
  void each(constant_visitor& v) {
    v.number("start", start, 2, 12);
    v.number("later", later, .1, 6);
    v.number("chunk", chunk, .3, 3);
    v.number("among all", among_all, 0, 1.5);
    v.number("threads", threads, 1, 3);
    v.number("threads start", threads_start, 0, 5);
    v.number("cluster", cluster, .2, 8);
    v.number("part", part, .5, 8);
    v.number("each part", each_part, .02, 2);
    v.number("read of c", read_of_c, .05, 5);
    v.number("rate", rate, 2e6, 1.2e7);
    v.number("stored", stored, 5e5, 1.2e7);
    v.number("odd rows", odd_rows, .9, 6);
    v.number("half rows", half_rows, .9, 5);
    v.number("brief row", brief_row, 0, 4e-4);
    v.enter("kept");
    v.number("start", kept_start, 2, 9);
    v.number("deep", kept_deep, 0, 3);
    v.number("tile", kept_tile, .1, 5);
    v.number("half", kept_half, .01, 2);
    v.number("first", kept_first, 0, 3);
    v.number("half rows", kept_half_rows, .9, 2);
    v.number("odd tile", odd_tile, .1, 10);
    v.number("odd half", odd_half, .01, 3);
    v.number("read of c", kept_read, 0, 5);
    v.number("odd read of c", odd_read, 0, 9);
    v.number("rate", kept_rate, 2e6, 1.2e7);
    v.leave();
  }
};

// fp16, fp16-mma: the split pass, then rounds of tiles, each of chunks of 64 k.
//   start      startup latency of both launches
//   pass_rate  of the split pass, reads and writes
//   chunk      a chunk of a block if all multiprocessors work
//   tail       what a round takes besides its chunks
//   alone      factor on a chunk where few blocks work
//   left       time of a partial last round with next to no tiles, relative to a full one
//   stored     of C, both directions
//   adds       factor on C's bytes if C is read
struct fp16_multiply {
  double start, pass_rate, chunk, tail, alone, left, stored, adds;
  void each(constant_visitor& v) {
    v.number("start", start, 2, 20);
    v.number("pass rate", pass_rate, 1e6, 1.2e7);
    v.number("chunk", chunk, .3, 6);
    v.number("tail", tail, 0, 8);
    v.number("alone", alone, .6, 1.6);
    v.number("left", left, .05, .95);
    v.number("stored", stored, 1e6, 1.5e7);
    v.number("adds", adds, .5, 3);
  }
};
struct fp16_cost {
  fp16_multiply wgmma, mma;
  double line, brief_line;  // split pass: instructions of a line; of one with K up to split_brief_k
  double across, odd_pass;  // factors on the pass: operands across k; lines that begin anywhere
  double cluster;           // split-K over a cluster
  // factors on C's bytes: by how its rows begin; of edge tiles, if rows begin anywhere
  double odd_rows, half_rows, edges;
  double adds_odd;   // odd_rows if C is read
  double read_of_c;  // reading C, each round
  void each(constant_visitor& v) {
    v.inside("wgmma", wgmma);
    v.inside("mma", mma);
    v.number("line", line, 1e-5, 1e-2);
    v.number("brief line", brief_line, 1e-5, 1e-2);
    v.number("across", across, .7, 4);
    v.number("odd pass", odd_pass, .9, 4);
    v.number("cluster", cluster, 0, 8);
    v.number("odd rows", odd_rows, .9, 6);
    v.number("half rows", half_rows, .8, 4);
    v.number("edges", edges, .5, 8);
    v.number("adds odd", adds_odd, .5, 6);
    v.number("read of c", read_of_c, 0, 12);
  }
};

// A member for each policy, and what they share.
struct product_costs {
  double memory_rate, stored_rate;     // of operands from memory; of C to memory
  double read_of_memory;               // of C from memory, if beta is not 0
  double far_odd_rows, far_half_rows;  // factors on both of C, by how its rows begin
  // bytes of a product up to which the L2 cache holds all of it, from which on nothing
  double kept, not_kept;
  double to_fill;  // bytes of stores that fill their buffers to 1 - 1/e
  short_cost few_k;
  fp64_cost fp64;
  dots_cost dots;
  tf32_cost tf32;
  fp16_cost fp16;
  void each(constant_visitor& v) {
    v.number("memory rate", memory_rate, 2.4e6, 5e6);
    v.number("stored rate", stored_rate, 1e6, 8e6);
    v.number("read of memory", read_of_memory, 2.4e6, 5e6);
    v.number("far odd rows", far_odd_rows, .8, 5);
    v.number("far half rows", far_half_rows, .8, 4);
    v.number("kept", kept, 1e7, 5e7);
    v.number("not kept", not_kept, 6e7, 3e8);
    v.number("to fill", to_fill, 1e5, 4e7);
    v.inside("fp64-short", few_k);
    v.inside("fp64", fp64);
    v.inside("fp64-dots", dots);
    v.inside("tf32", tf32);
    v.inside("fp16", fp16);
  }
};

}  // namespace antiphase::costs
