// SPDX-License-Identifier: Apache-2.0
// Scans (prefix sums, products, minima, maxima) of whole arrays, along one axis.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// Options of scan(), scan_by_key() and explain().
struct scan_options {
  // auto: the fastest policy that takes the problem. Or a policy by its name, from the table below.
  std::string_view policy = "auto";
  antiphase::stream stream = nullptr;
  // Device memory of scan_workspace() bytes or more, aligned to 16 bytes and initialised once by
  // initialise_scan_workspace(). Empty: the library's own.
  std::span<std::byte> workspace = {};
};

// Scans every (outer, inner) line of a problem: prefix sums, products, minima or maxima. The default is an
// inclusive, forward sum of one line of FP32:
//
//   scan(where, {.in = in, .out = out, .length = n}, {.stream = stream});
//
//   scan(where, {.type = element::i64,                   // exclusive maxima of each row, from the right
//                .operation = scan_operation::max,
//                .kind = scan_kind::exclusive,
//                .direction = scan_direction::reverse,
//                .in = in, .out = out, .outer = rows, .length = columns, .initial = 0});
//
// What each policy takes, and where it runs; `auto` is the fastest of those that take the problem:
//
//   policy                           operations   elements             lines, segments           runs on
//   single-pass                      all          all; wider sums [1]  one; rows, segments [2]   sm_90, CPU
//                                    executor
//   single-pass-async                all          as single-pass       as single-pass            sm_80 and
//                                    newer, CPU executor [3]
//   one-wave                         sum          all but f16, bf16    one, of up to 16 MiB      sm_80 and
//                                    newer, CPU executor
//   columns                          all          all; wider sums      any axis but the last     sm_80 and
//                                    newer, CPU executor
//   items                            all          all but f16, bf16    any axis, no segments     everywhere
//   items-thread, items-warp         all          all but f16, bf16    any axis, no segments     CPU executor
//   two-barriers, double-buffer,     sum          f32, f64, i32, u32   any axis, no segments     everywhere
//     warp-shuffle
//   single-pass-1, -2, -3            sum          f32                  one                       sm_90, CPU
//                                    executor
//
//   [1] scan_problem::accumulate, of one line.  [2] contiguous (inner = 1).  [3] There only f32 and elements
//                                               of 8 bits.
//
// Arrays. They hold outer x length x inner elements in memory that is reachable from `where` (device_array),
// at multiples of the element's size. A problem without elements launches nothing.
//
// Results. Integers wrap around. min and max keep NaN from the first one on, as numpy's minimum.accumulate
// and maximum.accumulate do. An exclusive scan starts from scan_problem::initial, or else from the operator's
// identity (scans::identity_of). f16 and bf16 are computed in FP32 and rounded when stored; products of f32,
// f16 and bf16 in FP64. Shape and policy fix the order of operations: results have the same bits in every
// run, wherever the arrays lie.
//
// Bounds. Sums and products of floats are not taken in sequential order. A sum is within its bound
// (scan_choice::units) if the positive elements up to it, of its line or segment and with the initial
// value, add up to less than 3.4e38 (FP64: 1.79e308), and the negative ones likewise; else it may be
// infinite or NaN although its elements are finite, and if it is finite it is right all the same. Likewise
// a product, if the factors above 1 in magnitude multiply to at most 1e308, and those below 1, zeros
// aside, to at least 1e-307; else it may also be 0. An output never depends on elements after it, nor on
// other lines (docs/use/accuracy.md).
//
// Memory and stream. The call returns when all is queued on scan_options::stream. The single passes, one-
// wave and columns keep a few bytes per tile from call to call, in the caller's workspace or in memory
// that belongs to the executor and the stream. With the latter, the first call on a stream, or with a
// larger array, cannot be captured in a graph. Calls with one workspace may not run at the same time. The
// other policies allocate memory in stream order where a line is longer than a tile, and can always be
// captured.
//
// Throws
//   bad_request     an argument makes no sense (sizes, types, null or misaligned pointers, overlap other than
//                   out == in, an unknown policy, a bad workspace); names the first one
//   not_supported   the policy, or every policy, does not take the problem or the device; says why
//   out_of_memory   the device has no room for the library's working memory; a device_error
//   device_error    a CUDA call or a launch failed; names it
// Nothing has been written after the first three.
launch_counts scan(const context& where, const scan_problem& p, const scan_options& options = {});

// Segmented scan of one line (outer = inner = 1), whose segments are given by keys or head flags. Each
// segment is scanned on its own; an exclusive scan begins at `initial` in each, a reverse scan at the
// segment's end. Policies auto, single-pass and single-pass-async, on sm_80 and newer and the CPU executor;
// keys of any type but f16 and bf16. Otherwise as scan().
//
//   scan_by_key(where, {.in = x, .out = sums, .length = n}, {.data = keys});  // keys: i32 by default
//
launch_counts scan_by_key(const context& where, const scan_problem& p, const scan_keys& keys,
                          const scan_options& options = {});

// Running log(exp(in[0]) + ... + exp(in[i])) of f32 or f64, without overflow where the result is finite. The
// problem's operation, kind, initial and accumulate are the defaults. NaN spreads to all that follow. One
// line is read once, other lines twice (scan.cuh, whose notes on captured graphs hold). Otherwise as scan().
launch_counts scan_log_sum_exp(const context& where, const scan_problem& p, stream on = nullptr);

// What scan() would run with these arguments, and why. Nothing is launched, and of the arrays only the
// addresses are used. Throws what the call would throw.
struct scan_choice {
  std::string kernel = {};    // a step's name
  int threads = 0;            // of a block
  std::int64_t tile = 0;      // elements
  std::int64_t tiles = 0;     // of all lines
  int stages = 1;             // tiles of a block's ring
  std::uint64_t blocks = 0;   // of the largest launch
  int launches = 0;           // 0: there is nothing to scan
  std::size_t workspace = 0;  // bytes that the call works in; scan_workspace() may ask for more
  // Error bound of a sum: this many half units in the last place of the sum of its terms' magnitudes, in the
  // type that it is computed in; f16 and bf16 are rounded from that. 0: results are exact. Infinity: a
  // product, whose error is relative (docs/use/accuracy.md).
  double units = 0;
  std::vector<std::string> why = {}, refused = {};  // sentences
};
scan_choice explain(const context& where, const scan_problem& p, const scan_options& options = {});
scan_choice explain(const context& where, const scan_problem& p, const scan_keys& keys,
                    const scan_options& options = {});

// A workspace of the caller's, for calls that are captured in a graph and replayed:
//
//   const scan_problem sums{.in = in, .out = out, .length = n};
//   device_array<std::byte> memory(where, scan_workspace(sums));
//   const std::span<std::byte> workspace(memory.data(), memory.size());
//   initialise_scan_workspace(where, workspace, stream);
//   scan(where, sums, {.stream = stream, .workspace = workspace});
//
// scan_workspace() returns bytes: enough on any device for this problem and all shorter ones that are
// otherwise the same, by policies auto, one-wave, single-pass, single-pass-async, columns and items.
//
// initialise_scan_workspace() is called once before the first use, and waits for the stream. Call it again
// after work with the workspace was broken off (a launch that failed, a kernel that was stopped): otherwise
// the next scan waits forever for totals that the broken one never published. The workspace serves scans of
// all types, sizes and policies, one after the other; always pass all of it.
std::size_t scan_workspace(const scan_problem& p);
std::size_t scan_workspace(const scan_problem& p, const scan_keys& keys);
void initialise_scan_workspace(const context& where, std::span<std::byte> workspace, stream on = nullptr);

}  // namespace antiphase
