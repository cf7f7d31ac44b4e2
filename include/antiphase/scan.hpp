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

struct scan_options {
  // The name of a step of the scan ladder or of one beside it (both in scan/ladder.hpp); auto: the fastest
  // that takes the problem.
  std::string_view policy = "auto";
  stream on = nullptr;
  // The caller's, of scan_workspace() bytes or more, aligned to 16 and initialised once; empty: the
  // library's.
  std::span<std::byte> workspace = {};
};

// Scans every (outer, inner) line of a problem. What each policy takes, and where; `auto` is the fastest of
// those that take the problem:
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
// Inputs. The memory is reachable from `where` (device_array), addresses are multiples of the elements'
// sizes. The arrays hold outer x length x inner elements; a problem without any launches nothing.
//
// Results. Integers wrap around. min and max keep NaN from the first one on, as numpy's minimum.accumulate
// and maximum.accumulate do. An exclusive scan starts from scan_problem::initial, or else from the operator's
// identity (scans::identity_of). What runs in f16 and bf16 is computed in FP32 and rounded where it is
// written. The order of operations is fixed by the problem's shape and the policy: results depend neither on
// the run nor on where the arrays lie.
//
// Bounds. Sums and products of floats are not taken in sequential order. A sum is within its bound
// (scan_choice::units) if the positive elements up to it, of its line or segment and with the initial value,
// add up to less than 3.4e38 (FP64: 1.79e308), and the negative ones likewise; else it may be infinite or NaN
// although its elements are finite, and if it is finite it is right all the same. Likewise a product, if the
// factors above 1 in magnitude multiply to at most 1e38 (FP64: 1e308), and those below 1, zeros aside, to at
// least 1e-37 (FP64: 1e-307); else it may also be 0. An output never depends on elements behind it, nor on
// other lines (docs/accuracy.md).
//
// Memory and stream. The call returns when all is queued on scan_options::on. The single passes, one-wave and
// columns keep a few bytes per tile from call to call. These belong to the executor and the stream: the first
// call with a stream, or with a larger array, cannot be captured in a graph. Or they are the caller's
// (scan_workspace): calls with one workspace may not overlap. The other policies borrow memory in the order
// of the stream where a line is longer than a tile, and may always be captured.
//
// Errors. bad_request names the first argument that makes no sense; not_supported says why the policy, or
// every policy, does not take the problem. Nothing is written then.
launch_counts scan(const context& where, const scan_problem& p, const scan_options& options = {});

// The same for the segments of one line (outer = inner = 1) that keys or flags tell apart: each is scanned on
// its own, an exclusive scan begins at `initial` in each. A reverse scan runs through each segment from its
// end. Policies auto, single-pass and single-pass-async, on sm_80 and newer and the CPU executor; keys of any
// type but f16 and bf16.
launch_counts scan_by_key(const context& where, const scan_problem& p, const scan_keys& keys,
                          const scan_options& options = {});

// What the call would run, and why. Of the arrays only the addresses are looked at. Throws what the call
// would throw.
struct scan_choice {
  std::string kernel = {};    // a step's name
  int threads = 0;            // of a block
  std::int64_t tile = 0;      // elements
  std::int64_t tiles = 0;     // of all lines
  int stages = 1;             // tiles of a block's ring
  std::uint64_t blocks = 0;   // of the largest launch
  int launches = 0;           // 0: there is nothing to scan
  std::size_t workspace = 0;  // bytes that the call works in; scan_workspace() may ask for more
  // A sum is at most so many half units in the last place of the sum of its terms' magnitudes away, in the
  // type that it is computed in; f16 and bf16 are rounded from that. 0: results are exact. Infinity: a
  // product, whose error is relative (docs/accuracy.md).
  double units = 0;
  std::vector<std::string> why = {}, refused = {};  // sentences
};
scan_choice explain(const context& where, const scan_problem& p, const scan_options& options = {});
scan_choice explain(const context& where, const scan_problem& p, const scan_keys& keys,
                    const scan_options& options = {});

// A workspace of the caller's, for calls that may be captured in a graph and replayed: its size in bytes,
// enough for this problem and all that are shorter and otherwise the same, by policies auto, one-wave,
// single-pass, single-pass-async, columns and items, on any device. initialise_scan_workspace() is called
// once before the first use, and again after work with it was broken off (a launch that failed, a kernel that
// was stopped), since a scan waits for what a broken one has left half done, for ever; it waits for the
// stream. Then the workspace serves scans of all types, sizes and policies, one after the other, always
// passed whole.
std::size_t scan_workspace(const scan_problem& p);
std::size_t scan_workspace(const scan_problem& p, const scan_keys& keys);
void initialise_scan_workspace(const context& where, std::span<std::byte> workspace, stream on = nullptr);

}  // namespace antiphase
