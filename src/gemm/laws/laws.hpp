// SPDX-License-Identifier: Apache-2.0
// The numbers of the laws by which `auto` chooses: named, within bounds, fitted to one card by
// scripts/fit.py. src/gemm/laws has a file for each card. Times are microseconds, rates are bytes per
// microsecond, "longer" is a factor.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

namespace antiphase::gemms {

// Sees every number of a law: its name, its value, and the least and the most that it may be.
class law_visitor {
 public:
  virtual ~law_visitor() = default;
  virtual void number(std::string_view name, double& value, double least, double most) = 0;
  virtual void enter(std::string_view group) = 0;
  virtual void leave() = 0;
  template <class Law> void inside(std::string_view group, Law& law) {
    enter(group);
    law.each(*this);
    leave();
  }
};

// What is moved by threads that load straight into registers, and store from there.
struct moving_law {
  double rate, read_rate;      // of all that the L2 cache holds; of C, where it is added to
  double odd_rows, half_rows;  // longer, C whose rows begin anywhere, or at multiples of 16 bytes
  double adding, filling;      // once, where C is added to; where stores have filled what takes them in
  void each(law_visitor& v) {
    v.number("rate", rate, 8e5, 2e7);
    v.number("read rate", read_rate, 5e5, 6e7);
    v.number("odd rows", odd_rows, .8, 6);
    v.number("half rows", half_rows, .8, 4);
    v.number("adding", adding, 0, 2);
    v.number("filling", filling, 0, 6);
  }
};

struct short_law {
  double start;
  moving_law moving;
  void each(law_visitor& v) {
    v.number("start", start, .3, 5);
    v.inside("moving", moving);
  }
};

// Kernels that a ring feeds. A block takes `round` and, for each stage of k, `step`.
struct ring_times {
  double round, step;
  void each(law_visitor& v) {
    v.number("round", round, .05, 8);
    v.number("step", step, .1, 5);
  }
};
// Blocks beside each other: `load` by how many of all places are taken, `two` and `four` where so many share
// a multiprocessor, and `further` of all that for each tile behind a block's first.
struct crowd_law {
  double load, two, four, further;
  void each(law_visitor& v) {
    v.number("load", load, 0, 2);
    v.number("two", two, .7, 5);
    v.number("four", four, .7, 8);
    v.number("further", further, .1, 3);
  }
};
struct ring_law {
  static constexpr std::string_view forms[] = {"32x8-8", "32x32-8", "32x16-4", "32x32-4",
                                               "128x16", "64x64",   "32x32"};
  std::array<ring_times, std::size(forms)> tma, cp_async;
  double start, cp_async_start;
  // how much longer a step takes of an operand that is copied by four bytes
  double long_by_four, short_by_four;
  crowd_law walking, starting;  // of blocks that walk over tiles
  double single;                // longer, where a tile has one step, which nothing hides
  // longer, where two blocks that share their tile are on a multiprocessor
  double paired;
  // where two blocks share a tile; how much more for four, and again for eight
  double cluster, doubled;
  double part, each_part;      // where K is divided through the workspace
  double rate;                 // of all that the L2 cache holds
  double odd_rows, half_rows;  // longer, by how C's rows begin
  double read_rate;            // of C
  double part_of_row;          // where boxes of TMA reach beyond rows of a short operand
  void each(law_visitor& v) {
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

// Lanes: so many warps that what they wait for is hidden. A tile takes `tile` and, for every 16 k,
// `half`, of all multiprocessors.
struct lanes_law {
  double start, wait;  // wait: for every 16 k behind the first
  double tile, half;
  moving_law moving;
  void each(law_visitor& v) {
    v.number("start", start, .3, 3);
    v.number("wait", wait, .01, 2);
    v.number("tile", tile, 1e-4, 2e-2);
    v.number("half", half, 1e-4, 1e-2);
    v.inside("moving", moving);
  }
};
// Kept lines: walks over tiles, of which each waits for the one before. `deep`: where K is above 16.
struct kept_walk {
  double start, deep, wave, round, round_deep;
  void each(law_visitor& v) {
    v.number("start", start, .5, 3);
    v.number("deep", deep, .01, 3);
    v.number("wave", wave, .01, 3);
    v.number("round", round, .1, 4);
    v.number("round deep", round_deep, .01, 2);
  }
};
struct kept_law {
  kept_walk any, whole;         // whole: tiles without edges, K of 16 or 32
  double odd_start, odd_round;  // where C's rows begin anywhere
  double adding_round;          // where C is added to
  double crowd, crowd_deep;     // of a round, among other walks
  moving_law moving;
  void each(law_visitor& v) {
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
// Block tiles: a block alone on its multiprocessor, and each further round over k.
struct block_times {
  double block, round;
  void each(law_visitor& v) {
    v.number("block", block, .3, 4);
    v.number("round", round, .05, 2);
  }
};
struct block_law {
  static constexpr std::string_view forms[] = {"block-16x8", "block-32x8", "block-16x16"};
  std::array<block_times, std::size(forms)> of;
  double beside, beside_round;  // longer, with another block on the multiprocessor
  double uneven;                // how much longer a round takes of operands whose rows begin anywhere
  // of each wave behind the first; how much of a begun wave counts as a whole one
  double further, whole_waves;
  double adding, filling;
  void each(law_visitor& v) {
    for (std::size_t i = 0; i < std::size(forms); ++i) v.inside(forms[i], of[i]);
    v.number("beside", beside, 1, 3);
    v.number("beside round", beside_round, 1, 3);
    v.number("uneven", uneven, 0, 2);
    v.number("further", further, .2, 2);
    v.number("whole waves", whole_waves, 0, 1);
    v.number("adding", adding, 0, 2);
    v.number("filling", filling, 0, 4);
  }
};
// Warp tiles: a block alone and each further 16 k of it; what a block among others adds, and each 8 k of
// it.
struct warp_times {
  double block, round, tile, step;
  void each(law_visitor& v) {
    v.number("block", block, .3, 4);
    v.number("round", round, .05, 2);
    v.number("tile", tile, .01, 2);
    v.number("step", step, .005, 1);
  }
};
struct warp_law {
  static constexpr std::string_view forms[] = {"warp-32x32", "warp-32x64"};
  std::array<warp_times, std::size(forms)> of;
  // how much longer operands take whose rows begin anywhere, and a tile where C's do
  double uneven, tile_odd;
  double further, at_once;  // of each wave behind the first; of blocks that a multiprocessor has at once
  moving_law moving;
  void each(law_visitor& v) {
    for (std::size_t i = 0; i < std::size(forms); ++i) v.inside(forms[i], of[i]);
    v.number("uneven", uneven, 0, 2);
    v.number("tile odd", tile_odd, 0, 4);
    v.number("further", further, .01, 2);
    v.number("at once", at_once, .01, 2);
    v.inside("moving", moving);
  }
};
struct fp64_law {
  ring_law ring;
  lanes_law lanes;
  kept_law kept;
  block_law block;
  warp_law warp;
  void each(law_visitor& v) {
    v.inside("ring", ring);
    v.inside("lanes", lanes);
    v.inside("kept", kept);
    v.inside("block", block);
    v.inside("warp", warp);
  }
};

// dots by lanes: a start, rounds of a lane's loads, and thousands of sectors of 32 bytes that a block's loads
// touch, on a thread's way and again where multiprocessors have several blocks.
struct dots_square {
  double round, round_of_block, block, across_start, across_round, across_round_of_block;
  void each(law_visitor& v) {
    v.number("round", round, .05, 3);
    v.number("round of block", round_of_block, .001, 2);
    v.number("block", block, .001, 2);
    v.number("across start", across_start, .3, 5);
    v.number("across round", across_round, .05, 3);
    v.number("across round of block", across_round_of_block, .001, 2);
  }
};
// dots for a vector: a block and each group of its k, alone; `crowd` longer among as many as there are places
// for, `further` with each wave.
struct vector_times {
  double block, group, crowd, further;
  void each(law_visitor& v) {
    v.number("block", block, .001, 3);
    v.number("group", group, .001, 1);
    v.number("crowd", crowd, .1, 40);
    v.number("further", further, .05, 4);
  }
};
struct dots_law {
  static constexpr std::string_view squares[] = {"1", "2"}, vectors[] = {"one line", "two lines", "across"};
  double start, doubling, warps;  // doubling: of the lanes that add up; warps: where several share an output
  double sector, sector_of_block, across_sector;
  std::array<dots_square, 2> square;
  double vector_start;
  double cache_rate, memory_rate, ramp;  // ramp: what memory takes to get going
  double uneven;                         // longer, a group of a matrix whose rows begin anywhere
  // longer, a group and all bytes, across k with eight lines to a block
  double scattered, pieces;
  std::array<vector_times, 3> vector;
  void each(law_visitor& v) {
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

// tf32: rounds of chunks of 64 k. `kept`: where the short operand is kept, a tile and every 16 k of it.
struct tf32_law {
  // later: each round behind the first; among_all: of a chunk, where all multiprocessors work
  double start, later, chunk, among_all;
  double threads, threads_start;  // where threads copy the operands: longer, and once
  double cluster, part, each_part, read_of_c;
  double rate, stored, odd_rows, half_rows, brief_row;
  double kept_start, kept_deep, kept_tile, kept_half, kept_first, kept_half_rows;
  double odd_tile, odd_half;  // kept, where C's rows begin anywhere
  double kept_read, odd_read, kept_rate;
  void each(law_visitor& v) {
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

// fp16, fp16-mma: the pass that splits, then rounds of chunks of 64 k.
struct fp16_multiply {
  double start, pass_rate, chunk, tail, alone, left, stored, adds;
  void each(law_visitor& v) {
    v.number("start", start, 2, 20);
    v.number("pass rate", pass_rate, 1e6, 1.2e7);
    v.number("chunk", chunk, .3, 6);
    v.number("tail", tail, 0, 8);
    v.number("alone", alone, .6, 1.6);  // a chunk, of few blocks
    v.number("left", left, .05, .95);   // of a round, if it is the last and not full
    v.number("stored", stored, 1e6, 1.5e7);
    v.number("adds", adds, .5, 3);  // longer, storing where C is read
  }
};
struct fp16_law {
  fp16_multiply wgmma, mma;
  double line, brief_line;            // of the pass; brief: K is at most split_brief_k
  double across, odd_pass;            // longer, the pass of lines across k, and of lines that begin anywhere
  double cluster;                     // where blocks share a tile
  double odd_rows, half_rows, edges;  // longer, storing by how C's rows begin, and where tiles have edges
  double adds_odd;                    // longer, storing odd rows where C is read
  double read_of_c;
  void each(law_visitor& v) {
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

struct laws {
  std::string device;  // whose card it is
  int multiprocessors;
  double memory_rate, stored_rate;     // of operands that the L2 cache does not hold, and of C
  double read_of_memory;               // of C where it is added to
  double far_odd_rows, far_half_rows;  // longer, C there, by how its rows begin
  // bytes that the L2 cache still has all of when they are read again, and of which it has nothing
  double kept, not_kept;
  double to_fill;  // bytes that fill the buffers of stores
  short_law few_k;
  fp64_law fp64;
  dots_law dots;
  tf32_law tf32;
  fp16_law fp16;
  void each(law_visitor& v) {
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

// Those of the card, by its name; of one that has none, those of an H200, whose times stand for
// multiprocessors like its own.
const laws& laws_of(const device_limits& device);
// From a file's text. Throws bad_input, which names the number, what it is and what was expected.
laws parse_laws(std::string_view text, const std::string& from);

}  // namespace antiphase::gemms
